"""Models, GPUs and demands for the memory tests."""

import functools
import json
import pathlib
from typing import Any

from fairlane.api import spec as specs
from fairlane.core.engine.memory import architecture, gpus, need, preflight
from fairlane.core.engine.memory.answer import Preflight

GIB = 2**30
MODELS = pathlib.Path(__file__).parent / "models"
# The steps of vLLM's defaults: below 70 GiB and on an A100, and on an H100.
SMALL_STEPS: dict[str, Any] = {"max_num_seqs": 256, "max_num_batched_tokens": 2048}
LARGE_STEPS: dict[str, Any] = {"max_num_seqs": 1024, "max_num_batched_tokens": 8192}
L4, A100, H100 = "NVIDIA-L4", "NVIDIA-A100-SXM4-80GB", "NVIDIA-H100-80GB-HBM3"


@functools.cache
def _text(name: str) -> str:
    return (MODELS / f"{name}.json").read_text()


def config(name: str, **changes: Any) -> dict[str, Any]:
    """A model's config.json, with some fields changed."""
    found: dict[str, Any] = json.loads(_text(name))
    return found | changes


def model(name: str, weight_bytes: int | None = None, **changes: Any) -> architecture.Architecture:
    """The model that config.json describes."""
    found = architecture.read(config(name, **changes), weight_bytes)
    assert isinstance(found, architecture.Architecture), found
    return found


def usable(product: str) -> gpus.Usable:
    """The memory of a known product."""
    found = gpus.usable(specs.Gpu(product=product))
    assert isinstance(found, gpus.Usable), found
    return found


def with_memory(gib: float) -> gpus.Usable:
    """A GPU of exactly so much memory, with NVLink."""
    return gpus.Usable(int(gib * GIB), int(gib * GIB), has_links=True, source="a test")


def asked(
    name: str, product: str, *, weight_bytes: int | None = None, typical_tokens: int | None = None, correction: int | None = None, **flags: Any,
) -> Preflight:
    """The answer for a model on a GPU, with the steps of an L4 unless told otherwise."""
    demand = need.Demand(**SMALL_STEPS | flags)
    return preflight.preflight(model(name, weight_bytes), usable(product), demand, typical_tokens=typical_tokens, correction=correction)
