"""What a run is: where to, how much, of what."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from urllib import parse

from ...core import errors

MAX_REQUESTS = 1_000_000
MAX_SECONDS = 24 * 3600.0


class BadConfig(errors.FairlaneError):
    """A run that cannot be; the message names the option and the remedy."""


@dataclasses.dataclass(frozen=True)
class Config:
    """A bounded run.

    Closed loop: `total` requests by `concurrency` clients. Open loop, where `rate` is set: arrivals for `duration` seconds, whatever the answers.
    Prompts come from `prompts` (a text a line, or JSONL), are sized like the rows of `trace` (columns ContextTokens, GeneratedTokens), or have `prompt_tokens`.
    """

    url: str
    model: str = "default"
    total: int = 100
    concurrency: int = 4
    rate: float | None = None             # requests per second, Poisson
    duration: float | None = None         # seconds; in the closed loop a limit
    max_in_flight: int = 1000             # of the open loop; later arrivals wait, and their wait is measured
    timeout: float = 120.0                # seconds for one request, its retries included
    prompts: Path | None = None
    trace: Path | None = None
    prompt_tokens: int = 128
    output_tokens: int = 64
    max_prompt_tokens: int | None = None  # rows of the trace beyond are left out
    max_output_tokens: int | None = None  # bound of what the source asks for
    stream: bool = True
    ignore_eos: bool = False              # vLLM's own: always write `output_tokens`
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    retry_429: bool = False
    seed: int = 0

    @property
    def endpoint(self) -> str:
        """The chat completions of the address, which may be a base address with or without /v1, or that path itself."""
        base = self.url.rstrip("/")
        if base.endswith("/chat/completions"):
            return base
        return f"{base}/chat/completions" if base.endswith("/v1") else f"{base}/v1/chat/completions"

    @property
    def open_loop(self) -> bool:
        """Whether arrivals are independent of answers."""
        return self.rate is not None

    def check(self) -> None:
        """Raise BadConfig where a bound is missing or wrong."""
        for problem in _problems(self):
            raise BadConfig(problem)


def _address(url: str) -> bool:
    """Whether it can be an HTTP server's."""
    try:
        parts = parse.urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _problems(config: Config) -> list[str]:
    expected = (config.rate or 0) * (config.duration or 0)
    rules = (
        (not _address(config.url), f"url {config.url!r}: write it as http://host:port"),
        (not 1 <= config.total <= MAX_REQUESTS, f"--total {config.total}: from 1 to {MAX_REQUESTS}"),
        (not 1 <= config.concurrency <= 10_000, f"--concurrency {config.concurrency}: from 1 to 10000"),
        (config.open_loop and config.duration is None, "--rate needs --duration: without it the run would have no end"),
        (config.rate is not None and config.rate <= 0, f"--rate {config.rate}: above 0"),
        (config.duration is not None and not 0 < config.duration <= MAX_SECONDS, f"--duration {config.duration}: above 0 and at most a day"),
        (expected > MAX_REQUESTS, f"--rate times --duration is {expected:.0f} requests: at most {MAX_REQUESTS}"),
        (not 1 <= config.max_in_flight <= 10_000, f"--max-in-flight {config.max_in_flight}: from 1 to 10000"),
        (config.timeout <= 0, f"--timeout {config.timeout}: above 0"),
        (config.prompts is not None and config.trace is not None, "--prompts and --trace exclude each other"),
        (config.prompt_tokens < 1, f"--prompt-tokens {config.prompt_tokens}: at least 1"),
        (config.output_tokens < 1, f"--output-tokens {config.output_tokens}: at least 1"),
    )
    return [message for wrong, message in rules if wrong]
