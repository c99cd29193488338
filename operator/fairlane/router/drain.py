"""Leaving without a broken stream: out of rotation, out of requests, out."""

import asyncio
import logging
import time
from collections.abc import Callable

import httpx

from ..core.routing import taken
from . import agent as agents
from . import settings as configuration

_LOG = logging.getLogger(__name__)
_POLL = 0.2
_MARGIN = 15.0   # seconds above the longest request: a cut and its log line


async def drain(agent: agents.Agent, settings: configuration.Settings) -> None:
    """Fail the health check, wait until the Service sends nothing new, then until nothing runs; never longer than the longest request may take."""
    begun = time.monotonic()
    route = agent.route
    longest = max((lane.total_seconds for lane in route.lanes), default=0.0) if route else 0.0
    deadline = begun + min(longest + _MARGIN + settings.out_of_endpoints_seconds, settings.longest_drain_seconds)
    try:
        await agent.admin.fail_health_check()
        await _until(lambda: not agent.view.in_rotation(), min(deadline, begun + settings.out_of_endpoints_seconds))
        await asyncio.sleep(settings.linger_seconds)   # kube-proxies learn of it after the API server
        while (running := taken.active_requests(await agent.admin.statistics())) and time.monotonic() < deadline:  # noqa: ASYNC110  (another process's)
            await asyncio.sleep(_POLL)
        _LOG.info("drained in %.1f s; requests cut at the deadline: %d", time.monotonic() - begun, running)
    except httpx.HTTPError as error:
        _LOG.warning("Envoy is gone before the drain: %r", error)


async def _until(done: Callable[[], bool], deadline: float) -> None:
    while not done() and time.monotonic() < deadline:  # noqa: ASYNC110  (several events may end it)
        await asyncio.sleep(_POLL)
