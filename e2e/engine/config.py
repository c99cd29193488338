"""What the stand-in runs with: vLLM's flags, and the environment for what a test wants of it."""
from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from . import flags


class RefusedError(Exception):
    """vLLM would end at start with exit code 1 and this text."""


@dataclasses.dataclass(frozen=True)
class Config:
    """Flags first, then the environment's STANDIN_ variables. Times in seconds."""

    model: str
    host: str = "0.0.0.0"
    port: int = 8000
    max_model_len: int = 8192
    max_num_seqs: int = 256
    max_num_batched_tokens: int = 2048
    max_num_queued_reqs: int | None = None
    kv_cache_memory_bytes: int = 0      # really taken, so that a memory limit kills the container
    shutdown_timeout: int = 0
    load_seconds: float = 1.0
    step_seconds: float = 0.02          # of one scheduler step, whatever is in it
    token_seconds: float = 0.00002      # of each token in a step
    error_every: int = 0                # each n-th request is answered with 500
    error_at: int = 0                   # the n-th request alone is
    hang_every: int = 0                 # each n-th request is never answered
    die_after: int = 0                  # the engine dies with this request


def read(arguments: list[str], environment: Mapping[str, str]) -> Config:
    """The configuration; SystemExit(2) for what argparse refuses, RefusedError for what vLLM's own checks do."""
    options = flags.parse(arguments)
    longest = int(environment.get("STANDIN_MODEL_MAX_LEN", "8192"))
    config = Config(
        model=(options.served_model_name or [options.model_tag or "default"])[0],
        host=options.host,
        port=options.port,
        max_model_len=longest if options.max_model_len is None else options.max_model_len,
        max_num_seqs=256 if options.max_num_seqs is None else options.max_num_seqs,
        max_num_batched_tokens=2048 if options.max_num_batched_tokens is None else options.max_num_batched_tokens,
        max_num_queued_reqs=options.max_num_queued_reqs,
        kv_cache_memory_bytes=options.kv_cache_memory_bytes or 0,
        shutdown_timeout=options.shutdown_timeout,
        load_seconds=float(environment.get("STANDIN_LOAD_SECONDS", "1")),
        step_seconds=float(environment.get("STANDIN_STEP_SECONDS", "0.02")),
        error_every=int(environment.get("STANDIN_ERROR_EVERY", "0")),
        error_at=int(environment.get("STANDIN_ERROR_AT", "0")),
        hang_every=int(environment.get("STANDIN_HANG_EVERY", "0")),
        die_after=int(environment.get("STANDIN_DIE_AFTER", "0")),
    )
    if options.max_num_seqs is None:
        config = dataclasses.replace(config, max_num_seqs=min(config.max_num_seqs, config.max_num_batched_tokens))
    _check(config, longest, options.enable_chunked_prefill)
    _check_memory(config, environment.get("STANDIN_KV_TOKENS"))
    return config


def _check(config: Config, longest: int, chunked: bool | None) -> None:
    """vLLM's own texts, facts of 0.32."""
    if config.max_model_len > longest:
        raise RefusedError(
            f"User-specified max_model_len ({config.max_model_len}) is greater than the derived max_model_len (max_position_embeddings={longest}.0 or "
            "model_max_length=None in model's config.json). To allow overriding this maximum, set the env var VLLM_ALLOW_LONG_MAX_MODEL_LEN=1."
        )
    if config.max_num_batched_tokens < config.max_num_seqs:
        raise RefusedError(f"max_num_batched_tokens ({config.max_num_batched_tokens}) must be greater than or equal to max_num_seqs ({config.max_num_seqs}).")
    if chunked is False and config.max_num_batched_tokens < config.max_model_len:
        raise RefusedError(
            f"max_num_batched_tokens ({config.max_num_batched_tokens}) is smaller than max_model_len ({config.max_model_len}). This effectively limits "
            "the maximum sequence length to max_num_batched_tokens and makes vLLM reject longer sequences."
        )


def _check_memory(config: Config, kv_tokens: str | None) -> None:
    if kv_tokens is not None and config.max_model_len > int(kv_tokens):
        raise RefusedError(
            f"To serve at least one request with the model's max seq len ({config.max_model_len}), ({config.max_model_len / 2**20:.2f} GiB KV cache is needed, "
            f"which is larger than the available KV cache memory ({int(kv_tokens) / 2**20:.2f} GiB). Based on the available memory, the estimated maximum "
            f"model length is {kv_tokens}. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine."
        )
