"""One question, whether a model with these flags loads on this GPU, at any length."""

import dataclasses

from . import estimate as estimates
from . import overheads
from .architecture import Architecture
from .gpus import Usable
from .need import Demand


@dataclasses.dataclass(frozen=True)
class Case:
    """A model whose weights are known, a GPU and a lane's demand. `correction`: as `compare.Difference` has it, None before the first load."""

    architecture: Architecture
    usable: Usable
    demand: Demand
    correction: int | None = None

    def estimate(self, length: int) -> estimates.Estimate:
        """The parts of memory for sequences of up to `length` tokens."""
        return estimates.estimate(self.architecture, self.usable.bytes, self.demand, length, correction=self.correction or 0)

    def need(self, length: int) -> int:
        """Bytes that the KV cache must have for one sequence; vLLM keeps one block for itself (vllm/v1/core/kv_cache_utils.py get_kv_cache_configs)."""
        return (self.blocks(length) + 1) * self._cache.block_bytes

    def blocks(self, length: int) -> int:
        """Blocks that one sequence holds at most."""
        return estimates.request_blocks(self.architecture, self.demand, length)

    def margin(self, length: int) -> int:
        """Bytes of the KV cache beyond one sequence's need."""
        return self.estimate(length).pool.bytes - self.need(length)

    def holds(self, length: int) -> bool:
        """Whether it loads if every number is right."""
        parts = self.estimate(length)
        return self.margin(length) >= 0 and (not parts.pool.is_set or parts.left >= parts.pool.bytes)

    def fits(self, length: int) -> bool:
        """Whether it loads for sure, as far as the numbers go."""
        parts, margin = self.estimate(length), self.margin(length)
        if parts.pool.is_set:
            return margin >= 0 and parts.left - parts.pool.bytes >= self.room
        return margin >= self.room

    def fails(self, length: int) -> bool:
        """Whether it does not load for sure, as far as the numbers go: not even with all the memory that there may be."""
        parts = self.estimate(length)
        extra = int((self.usable.most - self.usable.bytes) * (1 if parts.pool.is_set else self.demand.gpu_memory_utilization))
        if parts.weights > parts.budget + extra:
            return True
        if parts.pool.is_set:
            return self.margin(length) < 0 or parts.left - parts.pool.bytes + extra <= -self.slack
        return self.margin(length) + extra <= -self.slack

    @property
    def room(self) -> int:
        """Bytes that must be free beyond what was computed for a yes."""
        return max(self._room.amount, int(self._room.share * self.estimate(1).budget))

    @property
    def slack(self) -> int:
        """Bytes that may be free beyond what was computed. What tensor parallelism takes was measured with NVLink; without, it may take next to nothing."""
        known = overheads.load()
        is_guess = self.correction is None and self.demand.tensor_parallel_size > 1 and not self.usable.has_links
        return self._room.amount + (known.non_torch_parallel - known.non_torch if is_guess else 0)

    @property
    def _room(self) -> overheads.Room:
        return overheads.load().doubt if self.correction is None else overheads.load().doubt_corrected

    @property
    def _cache(self) -> estimates.Cache:
        return estimates.cache(self.architecture, self.demand)
