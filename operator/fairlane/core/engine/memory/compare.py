"""What an engine measured after it loaded, against what was computed for it before."""

import dataclasses
from collections.abc import Mapping

from .estimate import Pool
from .unknown import Unknown


@dataclasses.dataclass(frozen=True)
class Difference:
    """Measured less computed, of one GPU's KV cache.

    `correction` is for the next estimate of the same model on the same GPUs; None where the flags set the KV cache, which says nothing about the memory.
    """

    kv_tokens: int
    kv_bytes: int
    measured_tokens: int
    correction: int | None

    @property
    def share(self) -> float:
        """The difference as a share of what was measured."""
        return self.kv_tokens / self.measured_tokens


def compare(computed: Pool, labels: Mapping[str, str]) -> Difference | Unknown:
    """Return the difference to the labels of `vllm:cache_config_info`, Unknown where they do not say the size of the KV cache.

    Counted in blocks: kv_cache_size_tokens depends on max-model-len, and says more for a sliding window (vllm/v1/core/kv_cache_utils.py).
    """
    blocks, size = _number(labels, "num_gpu_blocks"), _number(labels, "block_size")
    if blocks is None or size is None:
        return Unknown("the engine's cache_config_info has no num_gpu_blocks or no block_size")
    if _number(labels, "num_gpu_blocks_override") is not None:
        return Unknown("num-gpu-blocks-override sets the engine's KV cache, so that it says nothing about memory")
    if labels.get("cache_dtype", "auto").startswith("fp8") != (computed.cache.element_bytes == 1):
        return Unknown(f"the engine stores its KV cache as {labels.get('cache_dtype')}, computed was {computed.cache.element_bytes} bytes a number")
    tokens = blocks * size
    measured, before = tokens * computed.cache.token_bytes, computed.bytes if computed.bytes < 0 else computed.blocks * computed.cache.block_bytes
    return Difference(
        kv_tokens=tokens - computed.tokens,
        kv_bytes=measured - before,
        measured_tokens=tokens,
        correction=None if computed.is_set else measured - before + computed.correction,
    )


def _number(labels: Mapping[str, str], name: str) -> int | None:
    """A label's whole number above 0; labels hold Python's words, `None` among them."""
    text = labels.get(name, "")
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 20 and int(text) > 0 else None
