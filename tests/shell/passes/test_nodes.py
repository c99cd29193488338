"""Which GPUs the nodes have, and when they are read."""

import dataclasses
from typing import Any

import pytest
from tests.shell.passes.test_models import SERVES, seen

from fairlane.core import observed
from fairlane.core.engine.memory import gpus
from fairlane.shell import kube, nodes

L4, A10 = "NVIDIA-L4", "NVIDIA-A10"


def node(name: str, product: str | None = L4, resource: str = "nvidia.com/gpu", amount: str = "1") -> dict[str, Any]:
    labels = {gpus.PRODUCT_LABEL: product} if product else {}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": {"allocatable": {resource: amount, "cpu": "8"}}}


@pytest.mark.parametrize(("things", "expected"), [
    pytest.param([node("a"), node("b")], {L4}, id="two of a kind"),
    pytest.param([node("a"), node("b", A10)], {L4, A10}, id="two kinds"),
    pytest.param([node("a", amount="0")], set(), id="a node without any"),
    pytest.param([node("a", resource="amd.com/gpu")], set(), id="another resource"),
    pytest.param([node("a", None)], set(), id="a node without the label"),
    pytest.param([], set(), id="no node"),
])
def test_the_products_are_those_of_the_nodes_that_offer_the_resource(things: list[dict[str, Any]], expected: set[str]) -> None:
    having = [(thing["metadata"]["labels"], thing["status"]["allocatable"]) for thing in things]
    assert gpus.products(having, "nvidia.com/gpu") == expected


def with_gpu(**gpu: str) -> observed.Observed:
    value = seen()
    assert value.spec is not None
    engine = value.spec.engine.model_copy(update={"gpu": value.spec.engine.gpu.model_copy(update=gpu)})
    return dataclasses.replace(value, spec=value.spec.model_copy(update={"engine": engine}))


@pytest.mark.parametrize(("value", "expected"), [
    pytest.param(seen(), {L4}, id="a spec that names no GPU"),
    pytest.param(with_gpu(product=A10), set(), id="a spec that names the product"),
    pytest.param(with_gpu(memory="24Gi"), set(), id="a spec that names the memory"),
    pytest.param(seen(lanes=(SERVES,)), set(), id="a service of which nothing depends on it"),
])
async def test_nodes_are_read_where_the_spec_does_not_say(api: kube.Kube, stub: Any, value: observed.Observed, expected: set[str]) -> None:
    stub.put("nodes", node("a"))
    assert await nodes.Reader(api).read(value) == expected


async def test_who_may_not_read_nodes_knows_nothing(api: kube.Kube, stub: Any) -> None:
    stub.put("nodes", node("a"))
    stub.fail("GET", "nodes", 403)
    assert await nodes.Reader(api).read(seen()) == set()


async def test_nodes_are_kept_for_a_minute(api: kube.Kube, stub: Any) -> None:
    time = [0.0]
    reader = nodes.Reader(api, lambda: time[0])
    found = []
    for time[0], name in ((0.0, ""), (59.0, "a"), (60.0, "a")):
        if name:
            stub.put("nodes", node(name))
        found.append(await reader.read(seen()))
    assert found == [set(), set(), {L4}]
