"""The loop: what the operator says is read again each second, and a request goes out when one is due."""

import asyncio
import logging
import pathlib
import random
import time

import httpx
import pydantic

from ..core.load import document, pace
from . import request, tally

_LOG = logging.getLogger(__name__)
_LOOK_SECONDS = 1.0
_TIMEOUT = httpx.Timeout(300.0, connect=5.0)     # the lane's own time limits are the router's, and shorter


class Sender:
    """Sends one lane's load until it is cancelled; its requests in flight end with it."""

    def __init__(self, folder: pathlib.Path, scratch: pathlib.Path, chance: random.Random) -> None:
        self._file, self._chance = folder / document.KEY, chance
        self._tally = tally.Tally(scratch / "sent.json")
        self._pace = pace.Pace()
        self._load: document.Load | None = None
        self._looked = -_LOOK_SECONDS
        self._in_flight: set[asyncio.Task[None]] = set()
        self._said = ""

    async def run(self) -> None:
        """Send for ever."""
        # The router's certificate names the host that users call; what is sent here is random words.
        async with httpx.AsyncClient(timeout=_TIMEOUT, verify=False, trust_env=False) as client, asyncio.TaskGroup() as group:
            while True:
                wait = self._step(client, group, time.monotonic())
                await asyncio.sleep(wait)

    def _step(self, client: httpx.AsyncClient, group: asyncio.TaskGroup, now: float) -> float:
        """Send what is due; return the seconds until the next look."""
        if now - self._looked >= _LOOK_SECONDS:
            self._load, self._looked = self._read(), now
        load = self._load
        self._pace = pace.at(self._pace, now, load.rate if load else 0.0, self._chance.random())
        if load is not None and pace.due(self._pace, now):
            self._pace = pace.over(self._pace, now, self._chance.random())
            if self._may(load, now):
                self._tally.take(load.key)
                task = group.create_task(self._one(client, load))
                self._in_flight.add(task)
                task.add_done_callback(self._in_flight.discard)
        return max(0.0, min(self._pace.due, self._looked + _LOOK_SECONDS) - now)

    def _may(self, load: document.Load, now: float) -> bool:
        room = len(self._in_flight) < load.in_flight and self._tally.sent(load.key) < load.max_requests
        return room and not pace.paused(self._pace, now)

    async def _one(self, client: httpx.AsyncClient, load: document.Load) -> None:
        code, problem = await request.send(client, load, self._chance)
        self._pace = pace.answered(self._pace, time.monotonic(), code)
        said = f"{code} {problem}" if problem else ""
        if said and said != self._said:
            _LOG.warning("lane %s answers %s; paused", load.lane, said)
        self._said = said

    def _read(self) -> document.Load | None:
        """Return what the operator says; None, and nothing is sent, where there is nothing that can be read."""
        try:
            load = document.Load.model_validate_json(self._file.read_text(encoding="utf-8"))
        except (OSError, pydantic.ValidationError) as error:
            if self._load is not None:
                _LOG.warning("%s cannot be read, nothing is sent: %s", self._file, error)
            return None
        if self._load is None or load.rate != self._load.rate:
            _LOG.info("lane %s: %g requests a second, %d sent so far", load.lane, load.rate, self._tally.sent(load.key))
        return load
