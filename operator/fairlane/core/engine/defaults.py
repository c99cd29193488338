"""What vLLM takes where nobody sets a flag: data/defaults.yaml."""

import functools
import re
import sys
from collections.abc import Mapping
from importlib import resources
from typing import Any

import yaml

from ...api import spec as specs
from . import catalog, versions

_GIB = 2**30
_AMOUNT = re.compile(r"([0-9.]+)([A-Za-z]*)")
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


@functools.cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(resources.files(__package__).joinpath("data/defaults.yaml").read_text())
    return data


def flags(version: versions.Version, gpu: specs.Gpu) -> Mapping[str, Any]:
    """Return the defaults that are known for this version on this device, by flag."""
    known: dict[str, Any] = {"enable-chunked-prefill": True, "tensor-parallel-size": 1, "long-prefill-token-threshold": 0, "stream-interval": 1}
    known["gpu-memory-utilization"] = next(row["value"] for row in _data()["gpu-memory-utilization"] if _since(row) <= version)
    return {name: value for name, value in (known | _capacity(version, gpu)).items() if catalog.find(name, version)}


def _capacity(version: versions.Version, gpu: specs.Gpu) -> dict[str, int]:
    if gpu.memory is None:
        return {}
    memory = bytes_of(gpu.memory) / _GIB
    product = (gpu.product or "").lower()
    rows = (row for row in _data()["capacity"] if _since(row) <= version < _until(row) and memory >= row["gib"])
    row = next((row for row in rows if not any(part in product for part in row.get("except", ()))), None)
    return {name: row[name] for name in ("max-num-batched-tokens", "max-num-seqs")} if row is not None else {}


def bytes_of(quantity: str) -> float:
    """Return the bytes of a `base.Quantity`; ValueError where it is none."""
    found = _AMOUNT.fullmatch(quantity)
    if found is None or found[2] not in _UNITS:
        raise ValueError(f"{quantity!r} is no quantity; write it as 24Gi")
    return float(found[1]) * _UNITS[found[2]]


def _until(row: dict[str, Any]) -> versions.Version:
    return versions.parse(row.get("until", "")) or versions.Version(sys.maxsize, 0, 0)


def _since(row: dict[str, Any]) -> versions.Version:
    return versions.parse(row["since"]) or versions.FIRST
