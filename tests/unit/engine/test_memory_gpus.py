"""How much memory a GPU really has."""

from typing import Any

import pytest
from tests.unit.engine import memory_models as models

from fairlane.api import spec as specs
from fairlane.core.engine.memory import gpus
from fairlane.core.engine.memory.unknown import Unknown


@pytest.mark.parametrize(("product", "gib"), [
    ("NVIDIA-L4", 22.03), ("NVIDIA-H100-80GB-HBM3", 79.10), ("NVIDIA-A100-SXM4-80GB", 79.14), ("NVIDIA-A100-80GB-PCIe", 79.14),
    ("NVIDIA-A100-PCIE-40GB", 39.39), ("NVIDIA-H200", 139.72), ("NVIDIA-B200", 178.35), ("NVIDIA-L40S", 44.39), ("NVIDIA-A10", 22.05), ("NVIDIA-A10G", 22.06),
    ("Tesla-T4", 14.56), ("Tesla-V100-SXM2-16GB", 15.77), ("NVIDIA-GeForce-RTX-3090", 23.55), ("NVIDIA-GeForce-RTX-4090", 23.52), ("NVIDIA-RTX-A6000", 47.40),
])
def test_known_products(product: str, gib: float) -> None:
    found = models.usable(product)
    assert (int(gib * models.GIB), int(gib * models.GIB), ()) == (found.bytes, found.most, found.doubts)


@pytest.mark.parametrize("product", ["nvidia-l4", "L4", "NVIDIA_L4"])
def test_spelling_of_a_product_does_not_matter(product: str) -> None:
    assert models.usable("NVIDIA-L4").bytes == models.usable(product).bytes


@pytest.mark.parametrize(("gpu", "low", "high"), [
    pytest.param({"memory": "24Gi"}, 21.84, 24, id="only a nominal memory"),
    pytest.param({"product": "NVIDIA-NEW", "memory": "80Gi"}, 72.8, 80, id="an unknown product"),
    pytest.param({"product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "memory": "5Gi"}, 4.55, 5, id="a slice of a GPU"),
    pytest.param({"product": "NVIDIA-L4", "memory": "99Gi"}, 22.03, 22.03, id="a known product wins over what is written"),
])
def test_a_nominal_memory_is_a_range(gpu: dict[str, Any], low: float, high: float) -> None:
    found = gpus.usable(specs.Gpu.model_validate(gpu))
    assert isinstance(found, gpus.Usable)
    assert (pytest.approx(low, rel=1e-6), pytest.approx(high, rel=1e-6)) == (found.bytes / models.GIB, found.most / models.GIB)


def test_the_rule_for_nominal_memory_overestimates_no_known_gpu() -> None:
    for row in gpus._rows():
        assert row["nominal"] * gpus.least_share() <= row["gib"] <= row["nominal"]


@pytest.mark.parametrize(("gpu", "reason"), [
    pytest.param({}, "neither product nor memory of the GPU is given; set spec.engine.gpu.memory", id="nothing"),
    pytest.param({"product": "NVIDIA-NEW"}, "the memory of NVIDIA-NEW is not known; set spec.engine.gpu.memory", id="an unknown product"),
    pytest.param({"product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"}, "the memory of NVIDIA-A100-SXM4-40GB-MIG-1g.5gb is not known; set spec.engine.gpu.memory",
                 id="a slice is not the whole"),
])
def test_a_gpu_not_known_is_said_so(gpu: dict[str, Any], reason: str) -> None:
    assert Unknown(reason) == gpus.usable(specs.Gpu.model_validate(gpu))


def test_a_shared_gpu_is_in_doubt() -> None:
    found = models.usable("NVIDIA-L4-SHARED")
    assert [doubt.reason for doubt in found.doubts] == ["NVIDIA-L4-SHARED is shared with other pods: what of it is free is not known"]


@pytest.mark.parametrize(("products", "expected", "doubts"), [
    pytest.param(["NVIDIA-L4"], "NVIDIA-L4", 0, id="one kind"),
    pytest.param(["NVIDIA-A100-SXM4-80GB", "NVIDIA-L4"], "NVIDIA-L4", 1, id="the smallest of several, with a doubt"),
    pytest.param(["NVIDIA-L4", "NVIDIA-X1"], "NVIDIA-X1", 1, id="one that is not known goes first: nothing is computed then"),
    pytest.param([], None, 0, id="none"),
])
def test_the_gpu_of_the_nodes(products: list[str], expected: str | None, doubts: int) -> None:
    gpu, found = gpus.of_nodes(products)
    assert (gpu.product, len(found)) == (expected, doubts)
