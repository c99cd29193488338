"""The agent's process: `python -m fairlane agent [--init]`."""

import asyncio
import contextlib
import json
import logging
import signal
import sys
import time
from collections.abc import Sequence

from . import agent as agents
from . import drain, kube
from . import settings as configuration


def run(argv: Sequence[str] = ()) -> int:
    """Run the agent until SIGTERM and its drain, or with `--init` until the first files are written; return the exit code."""
    _log()
    settings = configuration.Settings()
    asyncio.run(_init(settings) if "--init" in argv else _main(settings))
    return 0


async def _init(settings: configuration.Settings) -> None:
    async with contextlib.aclosing(_Closing(settings)) as parts:
        await parts.agent.first_files()


async def _main(settings: configuration.Settings) -> None:
    async with contextlib.aclosing(_Closing(settings)) as parts:
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stopped.set)
        serving = asyncio.create_task(parts.agent.run())
        stopping = asyncio.create_task(stopped.wait())
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()   # it never ends but by an error: the kubelet starts the agent anew, Envoy goes on
        await drain.drain(parts.agent, settings)   # routes are followed until the last stream has ended
        serving.cancel()
        stopping.cancel()
        await asyncio.gather(serving, stopping, return_exceptions=True)


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
