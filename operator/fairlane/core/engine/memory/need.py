"""What a lane's flags say about memory."""

import dataclasses
import enum
import functools
from collections.abc import Sequence
from importlib import resources
from typing import Any

import yaml

from ....api import spec as specs
from .. import defaults, effective, versions
from . import gpus, overheads
from .unknown import Doubt, Unknown

# What vLLM takes on a CPU, per GPU of its parallelism (vllm/engine/arg_utils.py get_batch_defaults)
_CPU_TOKENS, _CPU_SEQUENCES = 2048, 128
# Where neither product nor memory of the GPU is known: what it takes on the largest of the usual ones
_TOKENS, _SEQUENCES = 8192, 1024


class Device(enum.StrEnum):
    """Where the engine runs."""

    GPU = "gpu"
    CPU = "cpu"


@dataclasses.dataclass(frozen=True)
class Demand:
    """The effective settings that matter for memory. Lengths and sizes of steps in tokens."""

    max_model_len: int | None = None            # None: what the model's config says
    picks_length: bool = False                  # `auto`: vLLM takes the longest that fits, up to max_model_len
    max_num_seqs: int = _SEQUENCES
    max_num_batched_tokens: int = _TOKENS
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    gpu_memory_utilization: float = 0.92
    kv_cache_memory_bytes: int | None = None    # per GPU; then the utilization does not count
    kv_cache_dtype: str = "auto"
    dtype: str = "auto"
    quantization: str | None = None
    block_size: int | None = None               # tokens; None: vLLM's choice for device and attention
    chunked_prefill: bool = True
    enforce_eager: bool = False
    graphs_counted: bool = True                 # whether this version takes CUDA graphs off the KV cache
    steps_in_flight: int = 1                    # steps whose tokens are held at once
    device: Device = Device.GPU
    doubts: tuple[Doubt, ...] = ()

    def step_tokens(self, length: int) -> int:
        """Return the tokens that the largest step holds: without chunked prefill that of a whole prompt."""
        return self.max_num_batched_tokens if self.chunked_prefill else max(self.max_num_batched_tokens, length)


def demand(settings: effective.Settings, version: versions.Version, gpu: specs.Gpu, device: Device = Device.GPU) -> Demand:
    """Return what these flags ask of a GPU's memory; flags whose effect is not computed become doubts that name them."""
    longest, pipeline = _value(settings, "max-model-len", None), _value(settings, "pipeline-parallel-size", 1)
    tensor = _value(settings, "tensor-parallel-size", 1)
    sequences, tokens = _capacity(settings, version, gpu, device, tensor * pipeline)
    return Demand(
        max_model_len=longest if isinstance(longest, int) else None,
        picks_length=longest == "auto",
        max_num_seqs=sequences,
        max_num_batched_tokens=tokens,
        tensor_parallel_size=tensor,
        pipeline_parallel_size=pipeline,
        gpu_memory_utilization=_value(settings, "gpu-memory-utilization", 0.9),
        kv_cache_memory_bytes=_positive(settings, "kv-cache-memory-bytes"),
        kv_cache_dtype=str(_value(settings, "kv-cache-dtype", "auto")),
        dtype=str(_value(settings, "dtype", "auto")),
        quantization=_value(settings, "quantization", None),
        block_size=_positive(settings, "block-size"),
        chunked_prefill=_value(settings, "enable-chunked-prefill", True),
        enforce_eager=_value(settings, "enforce-eager", False),
        graphs_counted=version >= overheads.load().graphs_counted_since,
        steps_in_flight=pipeline + _overlaps(settings, version, device),
        device=device,
        doubts=tuple(doubt for name in settings for doubt in _doubts(settings[name])),
    )


def _value(settings: effective.Settings, name: str, default: Any) -> Any:
    return settings[name].value if name in settings else default


def _positive(settings: effective.Settings, name: str) -> int | None:
    value = _value(settings, name, None)
    return value if value is not None and value > 0 else None


def _overlaps(settings: effective.Settings, version: versions.Version, device: Device) -> bool:
    """Whether a step begins before the one before it is settled. (vllm/config/vllm.py max_concurrent_batches)"""
    automatic = device is Device.GPU and version >= overheads.load().steps_overlap_since
    return bool(_value(settings, "async-scheduling", automatic))


def _capacity(settings: effective.Settings, version: versions.Version, gpu: specs.Gpu, device: Device, ranks: int) -> tuple[int, int]:
    """The sequences and tokens of a step: as set, else vLLM's default for the device. `performance-mode throughput` doubles what is a default."""
    known = {"max-num-seqs": _SEQUENCES, "max-num-batched-tokens": _TOKENS}
    memory = gpus.usable(gpu)
    if not isinstance(memory, Unknown):
        known |= {name: value for name, value in defaults.flags(version, gpu.model_copy(update={"memory": str(memory.bytes)})).items() if name in known}
    if device is Device.CPU:
        known = {"max-num-seqs": _CPU_SEQUENCES * ranks, "max-num-batched-tokens": _CPU_TOKENS * ranks}
    factor = 2 if _value(settings, "performance-mode", "balanced") == "throughput" else 1
    chosen = {name: settings[name].value for name in known if name in settings and settings[name].origin is not effective.Origin.DEFAULT}
    taken = {name: value * factor for name, value in known.items()} | chosen
    return taken["max-num-seqs"], taken["max-num-batched-tokens"]


@functools.cache
def _uncomputed() -> dict[str, dict[str, Any]]:
    rows = yaml.safe_load(resources.files(__package__).joinpath("data/flags.yaml").read_text())
    return {name: row for row in rows for name in row["names"]}


def _doubts(setting: effective.Setting) -> list[Doubt]:
    row = _uncomputed().get(setting.flag.name)
    if row is None or setting.value is False or _is_one_of(setting.value, row.get("unless", ())):
        return []
    if "only" in row and not _is_one_of(setting.value, row["only"]):
        return []
    return [Doubt(f"{setting.name} ({setting.field}) {row['why']}, and how much that changes is not computed", of_no=not row.get("only_takes", False))]


def _is_one_of(value: Any, values: Sequence[Any]) -> bool:
    """Whether the value is among these, be it a number or its text."""
    return value in values or str(value) in map(str, values)
