"""The agent with a real Envoy: what it acknowledges is what Envoy does, and it leaves after the last stream."""

import asyncio
import contextlib
import pathlib
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable

import httpx
import pytest
from tests.contract import envoy_engines, envoy_load, envoy_rig
from tests.shell import agent_world as world

from fairlane.core.objects import routes as route_objects
from fairlane.core.routing import place as places
from fairlane.router import agent as agents
from fairlane.router import drain, kube
from fairlane.router import settings as configuration


async def until(what: Callable[[], object], seconds: float = 10.0) -> None:
    """Poll until the answer is true."""
    async with asyncio.timeout(seconds):
        while not what():  # noqa: ASYNC110  (several events may end it)
            await asyncio.sleep(0.02)


class Router:
    """A router pod in one process and a half: the agent here, Envoy beside it."""

    def __init__(self, engines: envoy_engines.Engines) -> None:
        self.engines = engines
        self.api = world.ApiServer()
        self.rig = envoy_rig.Rig(pathlib.Path(tempfile.mkdtemp(prefix="fl-")))
        self.agent: agents.Agent

    def settings(self) -> configuration.Settings:
        rig = self.rig

        class Here(configuration.Settings):
            """Settings of a router on loopback."""

            @property
            def place(self) -> places.Place:
                return rig.place

        return Here.model_validate(world.settings(pathlib.Path(rig.place.root), self.api.port).model_dump())

    def serve(self, revision: str, *engines: str, ready: bool = True) -> None:
        """Put an EndpointSlice of a revision: engines that differ by their port."""
        for name in engines:
            one = world.engines(revision, "127.0.0.1", ready=ready)
            one["metadata"]["name"], one["ports"] = f"{revision}-{name}", [{"port": self.engines[name].port}]
            self.api.put("endpointslices", one)

    @property
    def version(self) -> str:
        return route_objects.parse(next(iter(self.api.objects["configmaps"].values()))).version

    async def settled(self) -> None:
        """Wait until the agent acknowledged the stored routes."""
        await until(lambda: self.api.said is not None and self.api.said.version == self.version and not self.api.said.envoy_rejected)


@pytest.fixture
async def router() -> AsyncIterator[Router]:
    with envoy_engines.Engines("s1", "s2", "c1") as engines:
        made = Router(engines)
        await made.api.start()
        made.api.put("configmaps", world.config_map())
        made.serve("r-1", "s1")
        made.serve("r-2", "c1")
        settings = made.settings()
        api = kube.Api(settings.api_url, settings.account_dir)
        made.agent = agents.Agent(settings, api)
        await made.agent.first_files()
        await asyncio.to_thread(made.rig.start)
        serving = asyncio.create_task(made.agent.run())
        yield made
        serving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await serving
        await made.agent.admin.close()
        await api.close()
        await made.api.stop()
        made.rig.stop()
        shutil.rmtree(made.rig.place.root)


async def revisions(router: Router, count: int = 40) -> set[str]:
    answers = await envoy_load.load(router.rig.url, count, 4)
    assert {answer.status_code for answer in answers} == {200}
    return {answer.headers["x-fairlane-revision"] for answer in answers}


async def test_what_is_acknowledged_is_served(router: Router) -> None:
    await router.settled()
    assert await revisions(router) == {"r-1"}
    router.api.put("configmaps", world.config_map(50))
    await router.settled()
    assert await revisions(router) == {"r-1", "r-2"}
    router.serve("r-2", "c1", ready=False)
    await until(lambda: router.api.said and router.api.said.endpoints == {"chat/r-1": 1, "chat/r-2": 0})
    assert await revisions(router) == {"r-1"}
    router.api.put("configmaps", world.config_map(100))
    router.serve("r-2", "c1")
    await router.settled()
    await until(lambda: router.api.said and router.api.said.endpoints["chat/r-2"] == 1)
    assert await revisions(router) == {"r-2"}


async def test_an_engine_that_stands_by_is_counted_and_takes_over_when_the_one_in_use_goes(router: Router) -> None:
    router.serve("r-1", "s1", "s2")
    router.api.put("configmaps", world.config_map(50, in_use=1))
    await router.settled()
    await until(lambda: router.api.said and router.api.said.endpoints == {"chat/r-1": 2, "chat/r-2": 1})
    assert await revisions(router) == {"r-1", "r-2"}
    stables = {name: router.engines[name] for name in ("s1", "s2")}
    in_use = max(stables, key=lambda name: stables[name].served)
    other = next(name for name in stables if name != in_use)
    assert stables[other].served == 0
    async with envoy_load.steady(router.rig.url, 4, envoy_load.BODY) as answers:
        router.serve("r-1", in_use, ready=False)
        await until(lambda: router.api.said and router.api.said.endpoints["chat/r-1"] == 1)
        await envoy_load.grown(answers, 40)
        before = stables[in_use].served
        await envoy_load.grown(answers, 40)
    assert {code for code, _, _ in answers} == {200}
    assert (stables[in_use].served, stables[other].served > 0) == (before, True)


async def test_in_the_fail_safe_every_engine_of_the_stable_serves(router: Router) -> None:
    router.serve("r-1", "s1", "s2")
    router.api.put("configmaps", world.config_map(50, in_use=1, fail_safe_after_seconds=1.0))
    await until(lambda: router.api.said and router.api.said.fail_safe and router.api.said.endpoints["chat/r-1"] == 2)
    assert await revisions(router) == {"r-1"}
    assert {name: router.engines[name].served > 0 for name in ("s1", "s2")} == {"s1": True, "s2": True}


async def test_what_envoy_refuses_is_said_and_changes_nothing(router: Router) -> None:
    await router.settled()
    wrong = world.engines("r-1", "no address")
    wrong["metadata"]["name"] = "r-1-s1"
    router.api.put("endpointslices", wrong)
    await until(lambda: router.api.said and "eds-chat.json" in router.api.said.envoy_rejected)
    assert await revisions(router) == {"r-1"}
    router.serve("r-1", "s1")
    await router.settled()
    assert await revisions(router) == {"r-1"}


async def test_envoy_can_restart_alone(router: Router) -> None:
    router.api.put("configmaps", world.config_map(100))
    await router.settled()
    router.rig.kill()
    await asyncio.to_thread(router.rig.start)
    assert await revisions(router) == {"r-2"}


async def test_it_leaves_after_the_last_stream_and_cuts_none(router: Router) -> None:
    await router.settled()
    router.engines["s1"].delay = 1.5
    async with httpx.AsyncClient(base_url=router.rig.url, timeout=10) as client:
        stream = asyncio.create_task(client.post(envoy_load.PATH, json=envoy_load.STREAM))
        await until(lambda: router.engines["s1"].in_flight == 1)
        leaving = asyncio.create_task(drain.drain(router.agent, router.settings()))
        await until(lambda: not router.rig.serves())
        late = await client.post(envoy_load.PATH, json=envoy_load.BODY)   # a client that does not know yet
        await leaving
        assert stream.done(), "it left before its last stream"
        assert stream.result().text.endswith("[DONE]\n\n")
        assert (late.status_code, late.headers["connection"]) == (200, "close")
