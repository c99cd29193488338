"""The router agent between an API server and an Envoy that come and go."""

import asyncio
import contextlib
import pathlib
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable

import pytest
from tests.shell import agent_world as world

from fairlane.core.objects import routes as route_objects
from fairlane.router import agent as agents
from fairlane.router import drain, kube


class World:
    """Everything around one agent."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.api = world.ApiServer()
        self.envoy = world.Envoy(root)

    def make_agent(self) -> tuple[agents.Agent, kube.Api]:
        settings = world.settings(self.root, self.api.port)
        api = kube.Api(settings.api_url, settings.account_dir)
        return agents.Agent(settings, api), api

    @property
    def version(self) -> str:
        """Of the stored route document."""
        return route_objects.parse(next(iter(self.api.objects["configmaps"].values()))).version


@pytest.fixture
async def around() -> AsyncIterator[World]:
    root = pathlib.Path(tempfile.mkdtemp(prefix="fl-"))   # short: a socket's path has 108 bytes
    made = World(root)
    await made.api.start()
    await made.envoy.start()
    made.api.put("configmaps", world.config_map())
    made.api.put("endpointslices", world.engines("r-1", "10.0.0.1", "10.0.0.2"))
    made.api.put("endpointslices", world.engines("r-2", "10.0.0.3"))
    yield made
    await made.envoy.stop()
    await made.api.stop()
    shutil.rmtree(root)


@contextlib.asynccontextmanager
async def running(around: World) -> AsyncIterator[agents.Agent]:
    agent, api = around.make_agent()
    task = asyncio.create_task(agent.run())
    try:
        yield agent
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await agent.admin.close()
        await api.close()


async def until(what: Callable[[], object], seconds: float = 5.0) -> None:
    async with asyncio.timeout(seconds):
        while not what():  # noqa: ASYNC110  (several events may end it)
            await asyncio.sleep(0.01)


async def test_it_acknowledges_what_envoy_took(around: World) -> None:
    async with running(around):
        await until(lambda: around.api.said)
        said = around.api.said
        assert said is not None
        assert (said.version, said.endpoints, said.envoy_rejected) == (around.version, {"chat/r-1": 2, "chat/r-2": 1}, "")
        lease = around.api.leases[-1]
        assert lease["metadata"]["ownerReferences"] == [{"apiVersion": "v1", "kind": "Pod", "name": world.POD, "uid": "uid-1"}]
        assert lease["metadata"]["labels"]["fairlane.dev/component"] == "router"


async def test_a_new_weight_reaches_envoy_and_is_acknowledged(around: World) -> None:
    async with running(around):
        await until(lambda: around.api.said)
        assert around.envoy.weights() == {"stable": 100}
        around.api.put("configmaps", world.config_map(10))
        await until(lambda: around.api.said and around.api.said.version == around.version)
        assert around.envoy.weights() == {"stable": 90, "canary": 10}


async def test_a_canary_that_loses_its_last_engine_loses_its_weight(around: World) -> None:
    around.api.put("configmaps", world.config_map(10))
    async with running(around):
        await until(lambda: around.api.said and around.envoy.weights() == {"stable": 90, "canary": 10})
        around.api.put("endpointslices", world.engines("r-2", "10.0.0.3", ready=False))
        await until(lambda: around.envoy.weights() == {"stable": 100})
        await until(lambda: around.api.said and around.api.said.endpoints == {"chat/r-1": 2, "chat/r-2": 0})
        assert around.envoy.addresses() == [("10.0.0.1", "stable"), ("10.0.0.2", "stable")]


async def test_refused_files_are_said_and_the_last_good_ones_put_back(around: World) -> None:
    async with running(around):
        await until(lambda: around.api.said)
        good = around.version
        around.envoy.refuses = "rds.json"
        around.api.put("configmaps", world.config_map(10))
        await until(lambda: around.api.said and around.api.said.envoy_rejected)
        said = around.api.said
        assert said is not None
        assert (said.version, "rds.json" in said.envoy_rejected) == (good, True)
        assert around.envoy.weights() == {"stable": 100}
        around.envoy.refuses = ""
        around.api.put("configmaps", world.config_map(20))
        await until(lambda: around.api.said and around.api.said.version == around.version and not around.api.said.envoy_rejected)


async def test_an_unreadable_document_changes_nothing_and_is_said(around: World) -> None:
    async with running(around):
        await until(lambda: around.api.said)
        good = around.version
        broken = world.config_map(10)
        broken["data"]["routes.json"] = "{"
        around.api.put("configmaps", broken)
        await until(lambda: around.api.said and around.api.said.envoy_rejected)
        said = around.api.said
        assert said is not None
        assert (said.version, "no route document" in said.envoy_rejected) == (good, True)
        around.api.delete("configmaps", broken["metadata"]["name"])
        around.api.put("endpointslices", world.engines("r-1", "10.0.0.7"))
        await until(lambda: around.envoy.addresses()[0] == ("10.0.0.7", "stable"))


async def test_it_goes_on_where_it_was_when_the_api_server_comes_back(around: World) -> None:
    async with running(around):
        await until(lambda: around.api.said)
        await around.api.stop()
        around.api.objects["configmaps"].clear()
        around.api.put("configmaps", world.config_map(50))
        await asyncio.sleep(0.3)
        assert around.envoy.weights() == {"stable": 100}
        await around.api.start()
        await until(lambda: around.envoy.weights() == {"stable": 50, "canary": 50}, 15)
        await until(lambda: around.api.said and around.api.said.version == around.version)


async def test_a_watch_whose_place_is_gone_lists_again(around: World) -> None:
    async with running(around):
        await until(lambda: around.api.said and len(around.api._watches) == 3)
        lists = around.api.lists
        around.api.gone_once = True
        around.api.cut()
        around.api.put("configmaps", world.config_map(30))
        await until(lambda: around.envoy.weights() == {"stable": 70, "canary": 30})
        await until(lambda: around.api.lists > lists)


async def test_without_a_heartbeat_the_stable_gets_everything(around: World) -> None:
    around.api.put("leases", world.heartbeat("t1"))
    around.api.put("configmaps", world.config_map(10, fail_safe_after_seconds=0.6))
    async with running(around):
        await until(lambda: around.api.said and around.envoy.weights() == {"stable": 90, "canary": 10})
        for beat in range(4):
            await asyncio.sleep(0.3)
            around.api.put("leases", world.heartbeat(f"t2-{beat}"))
        assert around.envoy.weights() == {"stable": 90, "canary": 10}
        await until(lambda: around.api.said and around.api.said.fail_safe)
        said = around.api.said
        assert said is not None
        assert (around.envoy.weights(), said.fail_safe_count, said.version) == ({"stable": 100}, 1, around.version)
        around.api.put("leases", world.heartbeat("t3"))
        await until(lambda: around.envoy.weights() == {"stable": 90, "canary": 10})
        await until(lambda: around.api.said and not around.api.said.fail_safe and around.api.said.fail_safe_count == 1)


async def test_the_fail_safe_needs_no_api_server(around: World) -> None:
    around.api.put("configmaps", world.config_map(10, fail_safe_after_seconds=0.6))
    async with running(around):
        await until(lambda: around.api.said and around.envoy.weights() == {"stable": 90, "canary": 10})
        await around.api.stop()
        await until(lambda: around.envoy.weights() == {"stable": 100})


async def test_the_fail_safe_waits_for_no_api_server_that_hangs(around: World) -> None:
    around.api.put("configmaps", world.config_map(10, fail_safe_after_seconds=0.6))
    async with running(around):
        await until(lambda: around.api.said and around.envoy.weights() == {"stable": 90, "canary": 10})
        around.api.hangs = True
        await until(lambda: around.envoy.weights() == {"stable": 100}, 2)


async def test_a_lane_that_is_being_promoted_keeps_its_split(around: World) -> None:
    around.api.put("configmaps", world.config_map(60, fail_safe_after_seconds=0.3, fail_safe="Keep"))
    async with running(around):
        await until(lambda: around.api.said and around.api.said.fail_safe)
        assert around.envoy.weights() == {"stable": 40, "canary": 60}


async def test_an_envoy_that_was_away_gets_its_acknowledgement_later(around: World) -> None:
    async with running(around):
        await until(lambda: around.api.said)
        await around.envoy.stop()
        good = around.version
        around.api.put("configmaps", world.config_map(10))
        await until(lambda: around.envoy.weights() == {"stable": 90, "canary": 10})
        said = around.api.said
        assert said is not None
        assert said.version == good
        await around.envoy.start()
        await until(lambda: around.api.said and around.api.said.version == around.version)


async def test_the_lease_is_renewed_slowly_without_news(around: World) -> None:
    async with running(around):
        await until(lambda: len(around.api.leases) >= 3)
        await asyncio.sleep(0.6)
        assert len(around.api.leases) <= 6


async def test_the_first_files_are_written_before_envoy_starts(around: World) -> None:
    await around.envoy.stop()
    agent, api = around.make_agent()
    await asyncio.wait_for(agent.first_files(), 5)
    assert around.envoy.weights() == {"stable": 100}
    assert around.envoy.file("bootstrap.json")["admin"]["address"]["pipe"]["path"] == str(around.root / "admin.sock")
    await agent.admin.close()
    await api.close()


async def test_it_leaves_when_it_is_out_of_rotation_and_nothing_runs(around: World) -> None:
    around.api.put("endpointslices", world.router_slice(ready=True))
    async with running(around) as agent:
        await until(lambda: agent.view.in_rotation())
        around.envoy.active = 2
        leaving = asyncio.create_task(drain.drain(agent, world.settings(around.root, around.api.port)))
        await until(lambda: around.envoy.drained)
        await asyncio.sleep(0.4)
        assert not leaving.done(), "the Service still sends requests"
        around.api.put("endpointslices", world.router_slice(ready=False))
        await asyncio.sleep(0.4)
        assert not leaving.done(), "two requests still run"
        around.api.put("configmaps", world.config_map(10))
        await until(lambda: around.envoy.weights() == {"stable": 90, "canary": 10})   # routes are followed to the end
        around.envoy.active = 0
        await asyncio.wait_for(leaving, 3)


async def test_it_leaves_at_the_deadline_with_requests_that_never_end(around: World) -> None:
    around.api.put("configmaps", world.config_map())
    async with running(around) as agent:
        await until(lambda: around.api.said)
        around.envoy.active = 1
        settings = world.settings(around.root, around.api.port).model_copy(update={"longest_drain_seconds": 0.5})
        await asyncio.wait_for(drain.drain(agent, settings), 3)


async def test_it_leaves_when_envoy_is_gone(around: World) -> None:
    async with running(around) as agent:
        await until(lambda: around.api.said)
        await around.envoy.stop()
        await asyncio.wait_for(drain.drain(agent, world.settings(around.root, around.api.port)), 3)
