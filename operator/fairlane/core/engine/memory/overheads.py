"""What an engine takes beside weights and KV cache, as measured: data/overheads.yaml."""

import dataclasses
import functools
from importlib import resources
from typing import Any

import yaml

from .. import versions

_GIB = 2**30


@dataclasses.dataclass(frozen=True)
class Room:
    """How far from the edge an answer must be to be sure: the larger of bytes and a share of the budget; for a no only the bytes."""

    amount: int
    share: float


@dataclasses.dataclass(frozen=True)
class Overheads:
    """Amounts in bytes per GPU; data/overheads.yaml has the source of each."""

    non_torch: int
    non_torch_parallel: int
    logit_bytes: int
    graphs: int
    graph_per_layer: int
    graphs_counted_since: versions.Version
    steps_overlap_since: versions.Version
    doubt: Room
    doubt_corrected: Room


@functools.cache
def load() -> Overheads:
    """Return the shipped values."""
    data: dict[str, Any] = yaml.safe_load(resources.files(__package__).joinpath("data/overheads.yaml").read_text())
    return Overheads(
        non_torch=_bytes(data["non_torch"]),
        non_torch_parallel=_bytes(data["non_torch_parallel"]),
        logit_bytes=data["logit_bytes"],
        graphs=_bytes(data["graphs"]),
        graph_per_layer=_bytes(data["graph_per_layer"]),
        graphs_counted_since=_release(data["graphs_counted_since"]),
        steps_overlap_since=_release(data["steps_overlap_since"]),
        doubt=Room(_bytes(data["doubt"]["amount"]), data["doubt"]["share"]),
        doubt_corrected=Room(_bytes(data["doubt_corrected"]["amount"]), data["doubt_corrected"]["share"]),
    )


def _bytes(gib: float) -> int:
    return int(gib * _GIB)


def _release(text: str) -> versions.Version:
    return versions.parse(text) or versions.FIRST


def captured_graphs(sequences: int, tokens: int) -> int:
    """Return how many CUDA graphs vLLM keeps for steps of so many sequences and tokens.

    One per size up to twice the sequences for mixed steps, one per size up to the sequences for decoding. (vllm/config/vllm.py _set_cudagraph_sizes)
    """
    most = min(2 * sequences, 512, tokens)
    return _sizes(most) + _sizes(min(sequences, most))


def _sizes(most: int) -> int:
    """1, 2, 4, then every eighth up to 256, then every sixteenth."""
    return sum(size <= most for size in (1, 2, 4)) + min(most, 255) // 8 + max(0, most - 240) // 16
