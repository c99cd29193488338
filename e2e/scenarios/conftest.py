"""One cluster with Fairlane installed for all scenarios, one namespace each."""
from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from e2e.cluster import Cluster
from e2e.scenarios import install, manifests
from e2e.scenarios.space import Space

Service = Callable[..., dict[str, Any]]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "disruptive: takes away what other scenarios need (the API server, both cores); runs after them")
    config.addinivalue_line("markers", "long: takes minutes; begins first")
    config.addinivalue_line("markers", "own_cluster: stops parts of the cluster itself, which is done to none of the user's")
    config.addinivalue_line("markers", "vllm: real vLLM, which takes both cores while it loads")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long ones first, one to each process, so that none is left alone at the end. Each gets an equal run of the list, the last ones one more."""
    ordered = sorted(items, key=lambda item: item.get_closest_marker("long") is None)
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    items[:] = [item for first in reversed(range(processes)) for item in ordered[first::processes]]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Add to a failure what one wants to read after it, while the namespace is still there."""
    report = yield
    space = getattr(item, "funcargs", {}).get("space")
    if report.failed and report.when == "call" and isinstance(space, Space):  # type: ignore[attr-defined]
        report.sections.append((f"namespace {space.namespace}", space.dump()))  # type: ignore[attr-defined]
        operator = item.funcargs.get("operator") or install.Operator(space.cluster)  # type: ignore[attr-defined]
        report.sections.append(("operator", operator.logs()))  # type: ignore[attr-defined]
    return report


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A cluster with Fairlane's chart in it."""
    with Cluster.running() as running:
        if not os.environ.get("FAIRLANE_E2E_INSTALLED"):
            install.shared(running)
        yield running
        if not os.environ.get("FAIRLANE_E2E_INSTALLED") and not running.pod_reachable:
            install.remove(running)


@pytest.fixture
def space(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Space]:
    """A namespace of the scenario's own, deleted after it."""
    begins = install.OWN if "operator" in request.fixturenames else "fairlane-"
    name = begins + re.sub(r"[^a-z0-9]+", "-", request.node.name.lower().removeprefix("test_"))[:40].strip("-") + f"-{os.urandom(2).hex()}"
    cluster.kubectl("create", "namespace", name)
    made = Space(cluster, name)
    yield made
    made.leave()


@pytest.fixture
def operator(space: Space) -> install.Operator:
    """An operator of the scenario's own, in its namespace: it may die, while other scenarios go on."""
    return install.own(space.cluster, space.namespace)


@pytest.fixture
def service(cluster: Cluster) -> Service:
    """Builds an LLMService on the stand-in engine."""
    def build(*lanes: dict[str, Any], **spec: Any) -> dict[str, Any]:
        return manifests.service(cluster.images["standin"], *lanes, **spec)

    return build
