"""The agent as a process: `python -m fairlane agent`, its exit codes and its signals."""

import asyncio
import os
import pathlib
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator

import pytest
from tests.shell import agent_world as world

ROOT = pathlib.Path(__file__).parents[2]


class Place:
    """A folder, an API server and an Envoy."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root, self.api, self.envoy = root, world.ApiServer(), world.Envoy(root)

    async def start(self, *arguments: str, **environment: str) -> asyncio.subprocess.Process:
        """Start the agent."""
        variables = {
            "FAIRLANE_SERVICE": world.SERVICE, "FAIRLANE_NAMESPACE": world.SPACE, "POD_NAME": world.POD, "POD_UID": "uid-1",
            "FAIRLANE_RUN_DIR": str(self.root), "FAIRLANE_API_SCHEME": "http", "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(self.api.port), "FAIRLANE_ACCOUNT_DIR": str(self.root / "account"), "FAIRLANE_LINGER_SECONDS": "0",
            "PYTHONPATH": str(ROOT / "operator"),
        }  # fmt: skip
        command = [sys.executable, "-c", f"import sys; from fairlane.router import main; sys.exit(main.run({list(arguments)!r}))"]
        return await asyncio.create_subprocess_exec(*command, env=os.environ | variables | environment, stderr=asyncio.subprocess.PIPE)


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    made = Place(pathlib.Path(tempfile.mkdtemp(prefix="fl-")))
    await made.api.start()
    await made.envoy.start()
    yield made
    await made.envoy.stop()
    await made.api.stop()
    shutil.rmtree(made.root)


async def ended(process: asyncio.subprocess.Process) -> tuple[int, str]:
    """Return exit code and log."""
    _, log = await asyncio.wait_for(process.communicate(), 20)
    assert process.returncode is not None
    return process.returncode, log.decode()


async def test_init_writes_the_files_and_ends(place: Place) -> None:
    place.api.put("configmaps", world.config_map())
    assert await ended(await place.start("--init")) == (0, "")
    assert place.envoy.weights() == {"stable": 100}


async def test_init_gives_up_without_a_document_so_that_a_pod_that_must_go_can(place: Place) -> None:
    code, log = await ended(await place.start("--init", FAIRLANE_FIRST_FILES_SECONDS="0.3"))
    assert (code, "no first files" in log) == (1, True)


async def test_it_drains_on_sigterm_and_ends_well(place: Place) -> None:
    place.api.put("configmaps", world.config_map())
    process = await place.start()
    async with asyncio.timeout(15):
        while not place.api.said:  # noqa: ASYNC110  (another process's)
            await asyncio.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    code, log = await ended(process)
    assert (code, place.envoy.drained, "drained in" in log) == (0, True, True)


async def test_a_stop_before_it_could_listen_for_signals_is_not_lost(place: Place) -> None:
    place.api.put("configmaps", world.config_map())
    (place.root / "leaving").touch()
    code, _ = await ended(await place.start())
    assert (code, place.envoy.drained) == (0, True)
