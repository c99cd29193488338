"""The nearest setting that fits, where the one that was asked for does not."""

import dataclasses
from collections.abc import Callable
from typing import Any

from .case import Case

_MOST_UTILIZATION = 95         # percent; above it other users of the GPU, its driver among them, have no room
_GPUS = (2, 4, 8, 16)          # as they come in a node


@dataclasses.dataclass(frozen=True)
class Remedy:
    """A flag and the value with which it fits."""

    flag: str
    value: float

    def __str__(self) -> str:
        return f"{self.flag} {self.value}"


def longest(case: Case, ceiling: int, fits: Callable[[int], bool]) -> int | None:
    """Return the largest max-model-len of whole blocks up to `ceiling` tokens that `fits`; None where not even one block does."""
    size = case.estimate(1).pool.cache.block_size
    low, high = 0, ceiling // size             # low blocks fit, high + 1 are too many
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle * size):
            low = middle
        else:
            high = middle - 1
    return low * size or None


def remedy(case: Case, length: int) -> Remedy | None:
    """Return the nearest size of the KV cache where the flags set one, else of gpu-memory-utilization, with which sequences of this length fit.

    Where there is none, the smallest tensor-parallel-size.
    """
    nearest = _utilization(case, length) if case.demand.kv_cache_memory_bytes is None else _set_cache(case, length)
    return nearest or _tensor_parallel(case, length)


def _set_cache(case: Case, length: int) -> Remedy | None:
    """The largest KV cache that leaves enough room."""
    parts = case.estimate(length)
    size = (parts.left - case.room) // parts.pool.cache.block_bytes * parts.pool.cache.block_bytes
    return Remedy("kv-cache-memory-bytes", size) if size > 0 and _with(case, kv_cache_memory_bytes=size).fits(length) else None


def _utilization(case: Case, length: int) -> Remedy | None:
    for percent in range(int(case.demand.gpu_memory_utilization * 100) + 1, _MOST_UTILIZATION + 1):
        if _with(case, gpu_memory_utilization=percent / 100).fits(length):
            return Remedy("gpu-memory-utilization", percent / 100)
    return None


def _tensor_parallel(case: Case, length: int) -> Remedy | None:
    """A correction was measured with another size and does not count."""
    for size in _GPUS:
        is_possible = size > case.demand.tensor_parallel_size and case.architecture.attention.splits_by(size)
        if is_possible and _with(dataclasses.replace(case, correction=None), tensor_parallel_size=size).fits(length):
            return Remedy("tensor-parallel-size", size)
    return None


def _with(case: Case, **changes: Any) -> Case:
    return dataclasses.replace(case, demand=dataclasses.replace(case.demand, **changes))
