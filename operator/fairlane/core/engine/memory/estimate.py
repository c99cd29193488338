"""The memory of one GPU in parts, in bytes, and what of it is left for the KV cache.

vLLM's own rule: budget = total memory x utilization; the KV cache gets the budget less weights, less the peak of one profiling step, less what is not torch's,
less (since 0.21) its estimate of CUDA graphs (vllm/v1/worker/gpu_worker.py determine_available_memory).
"""

import dataclasses
import math

from . import overheads
from .architecture import Architecture
from .attention import Kind
from .need import Demand, Device

_BLOCK, _BLOCK_CPU, _BLOCK_LATENT = 16, 128, 64     # tokens: CUDA, CPU, and what FlashMLA takes
_CACHE_BYTES = {"float16": 2, "bfloat16": 2, "fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "fp8_inc": 1}
_RUN_BYTES = {"float16": 2, "half": 2, "bfloat16": 2, "float32": 4, "float": 4}


@dataclasses.dataclass(frozen=True)
class Cache:
    """The KV cache's grain on one GPU."""

    block_size: int            # tokens
    block_bytes: int
    element_bytes: int

    @property
    def token_bytes(self) -> int:
        """Bytes that one token takes."""
        return self.block_bytes // self.block_size


@dataclasses.dataclass(frozen=True)
class Pool:
    """The KV cache of one GPU: its bytes, negative where the rest alone is too much."""

    bytes: int
    is_set: bool               # whether the flags set the bytes, whatever is left
    correction: int            # what of the bytes an earlier load added
    cache: Cache

    @property
    def blocks(self) -> int:
        """Whole blocks in it."""
        return max(0, self.bytes // self.cache.block_bytes)

    @property
    def tokens(self) -> int:
        """Tokens in those blocks."""
        return self.blocks * self.cache.block_size


@dataclasses.dataclass(frozen=True)
class Estimate:
    """One GPU's memory in bytes."""

    budget: int
    weights: int
    activation: int
    non_torch: int
    graphs: int
    left: int                  # for the KV cache
    pool: Pool


def estimate(
    architecture: Architecture, usable_bytes: int, demand: Demand, length: int, *, correction: int = 0, known: overheads.Overheads | None = None,
) -> Estimate:
    """Return the parts for sequences of up to `length` tokens. The size of the weights must be known.

    `correction` is what an earlier load of this model on the same GPUs left for the KV cache, less what was computed for it (compare.py).
    """
    known = known or overheads.load()
    given = demand.kv_cache_memory_bytes
    budget = math.ceil(usable_bytes * demand.gpu_memory_utilization) if given is None else usable_bytes
    weights, step = _weights(architecture, demand), activation(architecture, demand, length, known)
    non_torch, graphs = _non_torch(demand, known), _graphs(architecture, demand, known)
    left = budget - weights - step - non_torch - graphs + correction
    pool = Pool(left, False, correction, cache(architecture, demand)) if given is None else set_pool(architecture, demand, given)
    return Estimate(budget, weights, step, non_torch, graphs, left, pool)


def set_pool(architecture: Architecture, demand: Demand, given: int) -> Pool:
    """Return the KV cache of so many bytes as the flags set: exact, whatever the GPU."""
    return Pool(given, True, 0, cache(architecture, demand))


def cache(architecture: Architecture, demand: Demand) -> Cache:
    """Return the KV cache's grain: a block holds its tokens' keys and values in all layers of one GPU. (vllm/v1/kv_cache_interface.py)"""
    size = demand.block_size or (_BLOCK_CPU if demand.device is Device.CPU else _BLOCK_LATENT if architecture.attention.kind is Kind.LATENT else _BLOCK)
    element = _CACHE_BYTES.get(demand.kv_cache_dtype) or run_bytes(demand)
    return Cache(size, size * _layers(architecture, demand) * architecture.attention.elements(demand.tensor_parallel_size) * element, element)


def is_known_type(demand: Demand) -> bool:
    """Whether the bytes of this kv-cache-dtype are known; others (with scales beside them, or of less than a byte) are computed as `auto`."""
    return demand.kv_cache_dtype == "auto" or demand.kv_cache_dtype in _CACHE_BYTES


def request_blocks(architecture: Architecture, demand: Demand, tokens: int) -> int:
    """Return the blocks that one sequence of so many tokens holds at most. (vllm/v1/kv_cache_interface.py max_memory_usage_bytes)

    A sliding window keeps its tokens and those of the steps that are not settled yet, and may begin within a block.
    """
    size, window = cache(architecture, demand).block_size, architecture.attention.window
    if window is None:
        return math.ceil(tokens / size)
    return math.ceil(min(window - 1 + demand.steps_in_flight * demand.step_tokens(tokens), tokens) / size) + 1


def run_bytes(demand: Demand) -> int:
    """Return the bytes of one number as the model runs: those of `dtype`; `auto` is two, for vLLM cuts float32 in half. (vllm/config/model.py)"""
    return _RUN_BYTES.get(demand.dtype, 2)


def activation(architecture: Architecture, demand: Demand, length: int, known: overheads.Overheads) -> int:
    """Return the peak of one step: the larger of a layer's intermediate values and the sampler's, and beside them the buffers of experts.

    A layer holds four hidden states and three widths of its MLP per token; the sampler the logits of each sequence in the model's type and more in float32,
    of the whole vocabulary on every GPU, and two hidden states per token. Experts hold the input and output of those that each token chose.
    """
    tokens, tensor = demand.step_tokens(length), demand.tensor_parallel_size
    size = run_bytes(demand)
    layer = tokens * (4 * architecture.hidden + 3 * architecture.mlp_width // tensor) * size
    rows = min(demand.max_num_seqs, tokens)
    sampler = rows * architecture.vocabulary * (known.logit_bytes + size) + 2 * tokens * architecture.hidden * size
    if architecture.experts is None:
        return max(layer, sampler)
    width = architecture.experts.width // tensor
    return max(layer, sampler) + tokens * architecture.experts.chosen * (max(2 * width, architecture.hidden) + width) * size


def _weights(architecture: Architecture, demand: Demand) -> int:
    """One GPU's share; with pipeline parallelism that of a stage with the most layers and an embedding."""
    if architecture.weight_bytes is None:
        raise ValueError(f"the size of {architecture.name}'s weights is not known")
    stored = architecture.element_bytes or 2
    whole = architecture.weight_bytes if architecture.is_quantised else architecture.weight_bytes * run_bytes(demand) // stored
    if demand.pipeline_parallel_size == 1:
        return whole // demand.tensor_parallel_size
    embedding = architecture.vocabulary * architecture.hidden * run_bytes(demand)
    layers = max(0, whole - embedding * (1 if architecture.is_tied else 2))
    return (layers * _layers(architecture, demand) // architecture.layers + embedding) // demand.tensor_parallel_size


def _layers(architecture: Architecture, demand: Demand) -> int:
    return math.ceil(architecture.layers / demand.pipeline_parallel_size)


def _non_torch(demand: Demand, known: overheads.Overheads) -> int:
    if demand.device is Device.CPU:
        return 0
    return known.non_torch if demand.tensor_parallel_size == 1 else known.non_torch_parallel


def _graphs(architecture: Architecture, demand: Demand, known: overheads.Overheads) -> int:
    """CUDA graphs, where they are taken off the KV cache; where the flags set the KV cache, they must find room beside it."""
    is_counted = demand.graphs_counted or demand.kv_cache_memory_bytes is not None
    if demand.enforce_eager or demand.device is Device.CPU or not is_counted:
        return 0
    return known.graphs + known.graph_per_layer * _layers(architecture, demand) * overheads.captured_graphs(demand.max_num_seqs, demand.max_num_batched_tokens)
