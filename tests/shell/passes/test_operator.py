"""The whole process against the small API server: kopf, queue, election, HTTP."""

import asyncio
import contextlib
import pathlib
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import pytest

from fairlane import settings as own_settings
from fairlane.core import names, observed, plan, planned
from fairlane.shell import election, operator

Object = dict[str, Any]

LEASE = ("leases", "system", "fairlane-operator")


def service(name: str, namespace: str = "llm") -> Object:
    spec = {
        "model": {"uri": "file:///m"},
        "engine": {"image": "vllm/vllm-openai:v0.32.0"},
        "lanes": [{"name": "chat", "profile": "Interactive", "replicas": 1}],
        "router": {"defaultLane": "chat"},
    }
    return {"apiVersion": "fairlane.dev/v1alpha1", "kind": "LLMService", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def simple(value: observed.Observed) -> planned.Plan:
    """One object for each service."""
    metadata = value.ref.metadata(names.routes(value.name), names.labels(value.name, "router"))
    thing = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"routes.json": "{}"}}
    return planned.Plan((thing,), (), value.status.model_copy(update={"observed_generation": value.generation}), (), False, 60.0)


async def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    """Return once the condition holds."""
    async with asyncio.timeout(seconds):
        while not condition():   # noqa: ASYNC110  the code under test sets no event for tests
            await asyncio.sleep(0.01)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Process:
    """An operator in a thread with an event loop of its own: kopf ends by cancelling every other task of its loop."""

    def __init__(self, **values: Any) -> None:
        usual = {"http_port": free_port(), "lease_namespace": "system", "lease_seconds": 1.0, "identity": "a"}
        self.settings = own_settings.OperatorSettings(**(usual | values))
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()

    def run(self) -> None:
        """Run until it is told to stop."""
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(operator.run(self.settings, self._stop))

    def stop(self) -> None:
        """Tell it to stop."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stop.set)


@contextlib.asynccontextmanager
async def running(**values: Any) -> AsyncIterator[int]:
    """An operator for the time of the block; its HTTP port."""
    process = Process(**values)
    task = asyncio.create_task(asyncio.to_thread(process.run))
    try:
        yield process.settings.http_port
    finally:
        process.stop()
        await task


@pytest.fixture(autouse=True)
def simple_plan(kubeconfig: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "plan", simple)


async def get(port: int, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as response:
        return response.status, await response.text()


async def test_services_before_and_after_the_start_are_served_and_the_lease_is_let_go(stub: Any) -> None:
    stub.put("llmservices", service("first"))
    async with running() as port:
        await until(lambda: "first-routes" in stub.named("configmaps"))
        stub.put("llmservices", service("second", "other"))
        await until(lambda: "second-routes" in stub.named("configmaps"))
        assert stub.objects[LEASE]["spec"]["holderIdentity"] == "a"
        assert await get(port, "/healthz") == (200, "ok\n")
        _, metrics = await get(port, "/metrics")
        assert 'fairlane_service_ready{fairlane_namespace="llm",fairlane_service="first"} 0.0' in metrics
        assert "fairlane_leader 1.0" in metrics
    assert stub.objects[LEASE]["spec"]["holderIdentity"] == ""


async def test_services_of_excluded_namespaces_are_left_to_another_operator(stub: Any) -> None:
    stub.put("llmservices", service("first", "team-a"))
    stub.put("llmservices", service("second", "team-b"))
    async with running(excluded_namespaces="team-a"):
        await until(lambda: "second-routes" in stub.named("configmaps"))
        stub.put("llmservices", service("third", "team-b"))
        await until(lambda: "third-routes" in stub.named("configmaps"))
    assert sorted(stub.named("configmaps")) == ["second-routes", "third-routes"]


@pytest.mark.parametrize(
    ("excluded", "served"),
    [
        pytest.param("", ["team-a", "team-b", "x-team-a"], id="none"),
        pytest.param("team-a, team-a", ["team-b", "x-team-a"], id="a name, twice"),
        pytest.param("team-*", ["x-team-a"], id="a pattern"),
        pytest.param("*-a,team-b", [], id="a pattern and a name"),
    ],
)
def test_namespaces_are_excluded_by_name_or_pattern(excluded: str, served: list[str]) -> None:
    settings = own_settings.OperatorSettings(excluded_namespaces=excluded)
    assert [name for name in ("team-a", "team-b", "x-team-a") if settings.serves(name)] == served


async def test_kopf_writes_nothing_of_its_own(stub: Any) -> None:
    stub.put("llmservices", service("first"))
    async with running():
        await until(lambda: "status" in stub.objects["llmservices", "llm", "first"])
        stub.remove("llmservices", "llm", "first")
        await until(lambda: stub.named("configmaps") == [])
    written = {path.removesuffix("/status").rsplit("/", 1)[-1] for _, path in stub.writes}
    assert written == {"leases", "fairlane-operator", "first-routes", "first"}
    assert "finalizers" not in str(stub.objects)


async def test_an_object_that_somebody_deletes_comes_back(stub: Any) -> None:
    stub.put("llmservices", service("first"))
    async with running():
        await until(lambda: "first-routes" in stub.named("configmaps"))
        stub.remove("configmaps", "llm", "first-routes")
        await until(lambda: "first-routes" in stub.named("configmaps"))


async def test_a_namespaced_operator_asks_for_nothing_outside(stub: Any) -> None:
    stub.put("llmservices", service("first"))
    stub.put("llmservices", service("second", "other"))
    async with running(namespaces="llm"):
        await until(lambda: "first-routes" in stub.named("configmaps"))
    kinds = ("llmservices", "pods", "namespaces", "deployments")
    outside = [path for _, path in stub.requests if "/namespaces/" not in path and path.rsplit("/", 1)[-1] in kinds]
    assert outside == []
    assert "second-routes" not in stub.named("configmaps")


async def test_a_crd_that_comes_later_is_waited_for(stub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator, "_CRD_PAUSE", 0.05)
    stub.served = False
    stub.put("llmservices", service("first"))
    async with running():
        await until(lambda: sum(path == "/apis/fairlane.dev/v1alpha1" for _, path in stub.requests) > 3)
        assert stub.named("configmaps") == []
        stub.served = True
        await until(lambda: "first-routes" in stub.named("configmaps"))


async def test_a_second_operator_takes_over_when_the_first_ends(stub: Any) -> None:
    stub.put("llmservices", service("first"))
    async with contextlib.AsyncExitStack() as first:
        await first.enter_async_context(running(identity="a"))
        await until(lambda: LEASE in stub.objects)
        async with running(identity="b"):
            await until(lambda: "first-routes" in stub.named("configmaps"))
            assert stub.objects[LEASE]["spec"]["holderIdentity"] == "a"
            await first.aclose()
            await until(lambda: stub.objects[LEASE]["spec"]["holderIdentity"] == "b")
            stub.put("llmservices", service("second"))
            await until(lambda: "second-routes" in stub.named("configmaps"))


async def test_an_api_server_that_goes_away_and_comes_back_finds_the_same_operator_at_work(stub: Any) -> None:
    stub.put("llmservices", service("first"))
    async with running() as port:
        await until(lambda: "first-routes" in stub.named("configmaps"))
        await stub.down()
        await until_text(port, "/metrics", "fairlane_leader 1.0")
        stub.put("llmservices", service("second"))
        await stub.up()
        await until(lambda: "second-routes" in stub.named("configmaps"), 30)
        assert stub.objects[LEASE]["spec"]["leaseTransitions"] == 1


async def until_text(port: int, path: str, text: str) -> None:
    """Return once the operator's answer has the text."""
    async with asyncio.timeout(10):
        while text not in (await get(port, path))[1]:   # noqa: ASYNC110  the code under test sets no event for tests
            await asyncio.sleep(0.02)


async def test_an_operator_that_lost_its_lease_ends(stub: Any) -> None:
    task = asyncio.create_task(asyncio.to_thread(Process().run))
    await until(lambda: LEASE in stub.objects)
    stub.put("leases", stub.objects[LEASE] | {"spec": stub.objects[LEASE]["spec"] | {"holderIdentity": "b"}})
    with pytest.raises(election.Lost):
        await task


async def test_healthz_fails_when_a_pass_is_overdue(stub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(*_: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(operator.observe.Observer, "observe", hang)
    stub.put("llmservices", service("first"))
    async with running(stalled_seconds=0.1) as port:
        await until(lambda: LEASE in stub.objects)
        await until_text(port, "/healthz", "a pass is overdue by")
        assert (await get(port, "/healthz"))[0] == 503
