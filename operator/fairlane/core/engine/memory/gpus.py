"""How much memory a GPU really has: data/gpus.yaml."""

import dataclasses
import functools
import re
from collections.abc import Collection, Iterable, Mapping
from importlib import resources
from typing import Any

import yaml

from ....api import spec as specs
from .. import defaults
from .unknown import Doubt, Unknown

PRODUCT_LABEL = "nvidia.com/gpu.product"     # of a node, by GPU feature discovery
_GIB = 2**30
_DECORATION = re.compile(r"nvidia|tesla|geforce|[^a-z0-9]")
_SHARED = "-SHARED"            # the suffix of GPU feature discovery where pods share a GPU
_SLICE = "-MIG-"               # and its mark of a part of one


@dataclasses.dataclass(frozen=True)
class Usable:
    """The memory of one GPU as torch's mem_get_info gives it, in bytes: `bytes` is what can be relied on, `most` what it cannot exceed."""

    bytes: int
    most: int
    has_links: bool            # NVLink between the GPUs of a node
    source: str
    doubts: tuple[Doubt, ...] = ()


@functools.cache
def _rows() -> tuple[Mapping[str, Any], ...]:
    return tuple(yaml.safe_load(resources.files(__package__).joinpath("data/gpus.yaml").read_text()))


@functools.cache
def _by_product() -> Mapping[str, Mapping[str, Any]]:
    return {_normal(product): row for row in _rows() for product in row["products"]}


@functools.cache
def least_share() -> float:
    """Return the smallest share of its nominal memory that any known GPU has."""
    return float(min(row["gib"] / row["nominal"] for row in _rows()))


def usable(gpu: specs.Gpu) -> Usable | Unknown:
    """Return the memory of the product, else of `gpu.memory`; Unknown where neither is known.

    A nominal memory counts as `least_share` of it, and may be all of it.
    """
    whole = (gpu.product or "").removesuffix(_SHARED)
    doubts = (Doubt(f"{gpu.product} is shared with other pods: what of it is free is not known", of_no=False),) if whole != (gpu.product or "") else ()
    row = None if _SLICE in whole else _by_product().get(_normal(whole))
    if row is not None:
        size = int(row["gib"] * _GIB)
        return Usable(size, size, row["links"], f"{whole}: {row['source']}", doubts)
    if gpu.memory is None:
        named = f"the memory of {gpu.product} is not known" if gpu.product else "neither product nor memory of the GPU is given"
        return Unknown(f"{named}; set spec.engine.gpu.memory")
    nominal = int(defaults.bytes_of(gpu.memory))
    return Usable(int(nominal * least_share()), nominal, False, f"{least_share():.0%} of {gpu.memory}: the smallest share that any known GPU has", doubts)


def products(nodes: Iterable[tuple[Mapping[str, str], Mapping[str, str]]], resource: str) -> frozenset[str]:
    """Return the products of the nodes that have some of the resource; a node is its labels and what it can give to pods."""
    return frozenset(labels[PRODUCT_LABEL] for labels, allocatable in nodes if str(allocatable.get(resource, "0")) != "0" and labels.get(PRODUCT_LABEL))


def of_nodes(products: Collection[str]) -> tuple[specs.Gpu, tuple[Doubt, ...]]:
    """Return the GPU to compute for where the spec names none: the one with the least memory that the nodes have; any that is not known before all others."""
    sizes = {product: usable(specs.Gpu(product=product)) for product in sorted(products)}
    unknown = [product for product, found in sizes.items() if isinstance(found, Unknown)]
    smallest = unknown[0] if unknown else min(sizes, key=lambda product: _size(sizes[product]), default=None)
    several = f"the nodes have {', '.join(sizes)}, and the pod may come to any of them: set spec.engine.gpu.product"
    return specs.Gpu(product=smallest), (Doubt(several, of_yes=False),) if len(sizes) > 1 else ()


def _size(found: Usable | Unknown) -> int:
    return 0 if isinstance(found, Unknown) else found.bytes


def flops(gpu: specs.Gpu) -> float | None:
    """Return the 16-bit tensor operations per second of one GPU by its data sheet; None where it is not known."""
    row = _by_product().get(_normal((gpu.product or "").removesuffix(_SHARED)))
    return row["tflops"] * 1e12 if row is not None and "tflops" in row else None


def _normal(product: str) -> str:
    return _DECORATION.sub("", product.lower())
