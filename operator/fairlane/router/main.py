"""The agent's process: `python -m fairlane agent [--init]`."""

import asyncio
import contextlib
import json
import logging
import pathlib
import signal
import sys
import time
from collections.abc import Sequence

from . import agent as agents
from . import drain, kube
from . import settings as configuration

_LOG = logging.getLogger(__name__)


def run(argv: Sequence[str] = ()) -> int:
    """Run the agent until SIGTERM and its drain, or with `--init` until the first files are written; return the exit code."""
    _log()
    settings = configuration.Settings()
    return asyncio.run(_init(settings) if "--init" in argv else _main(settings))


async def _init(settings: configuration.Settings) -> int:
    """Write the first files; 1 when told to stop, or when there is nothing to write them from in time: the kubelet tries again, if the pod is to live."""
    stopped = _stopped(settings)
    async with contextlib.aclosing(_Closing(settings)) as parts:
        writing, stopping = asyncio.create_task(parts.agent.first_files()), asyncio.create_task(stopped.wait())
        await asyncio.wait({writing, stopping}, return_when=asyncio.FIRST_COMPLETED, timeout=settings.first_files_seconds)
        if writing.done():
            writing.result()
            return 0
        _LOG.warning("no first files: %s", "told to stop" if stopped.is_set() else "no route document, or no API server, in time")
        writing.cancel()
        stopping.cancel()
        await asyncio.gather(writing, stopping, return_exceptions=True)
        return 1


def _stopped(settings: configuration.Settings) -> asyncio.Event:
    """Return what is set when the pod is to stop, also if that was said before the handlers were there."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    if pathlib.Path(settings.place.leaving).exists():
        stopped.set()
    return stopped


async def _main(settings: configuration.Settings) -> int:
    stopped = _stopped(settings)
    async with contextlib.aclosing(_Closing(settings)) as parts:
        serving = asyncio.create_task(parts.agent.run())
        stopping = asyncio.create_task(stopped.wait())
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()   # it never ends but by an error: the kubelet starts the agent anew, Envoy goes on
        await drain.drain(parts.agent, settings)   # routes are followed until the last stream has ended
        serving.cancel()
        stopping.cancel()
        await asyncio.gather(serving, stopping, return_exceptions=True)
        return 0


class _Closing:
    """The agent and what must be closed after it."""

    def __init__(self, settings: configuration.Settings) -> None:
        self._api = kube.Api(settings.api_url, settings.account_dir)
        self.agent = agents.Agent(settings, self._api)

    async def aclose(self) -> None:
        """Close the connections."""
        await self.agent.admin.close()
        await self._api.close()


class _Json(logging.Formatter):
    """One JSON object for each line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        line = {"time": when, "level": record.levelname.lower(), "logger": record.name, "message": record.getMessage()}
        return json.dumps(line | ({"exception": self.formatException(record.exc_info)} if record.exc_info else {}), ensure_ascii=False)


def _log() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("httpx").setLevel(logging.WARNING)
