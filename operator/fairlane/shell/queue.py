"""Whose turn it is: one worker per service, woken by events and by time, backing off where a pass fails."""

import asyncio
import dataclasses
import logging
from collections.abc import Awaitable, Callable

from ..core import errors

Key = tuple[str, str]
"""Namespace and name of a service."""

Work = Callable[[Key], Awaitable[float | None]]
"""One pass: seconds until the next look without an event; None where the service is gone."""

_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Pace:
    """How the queue keeps time; all in seconds but `slots`."""

    settle: float = 0.1           # after a wake-up, so that a burst of events makes one pass
    first_backoff: float = 0.5    # doubled with every failure in a row
    longest_backoff: float = 30.0
    pass_limit: float = 60.0
    slots: int = 8                # passes at the same time


class _Item:
    """One service's place in the queue."""

    def __init__(self) -> None:
        self.woken = asyncio.Event()
        self.due = 0.0              # loop time of the next pass, or of the one that runs
        self.task: asyncio.Task[None] | None = None


class Queue:
    """Runs passes. Lives in one event loop."""

    def __init__(self, work: Work, pace: Pace | None = None) -> None:
        self._work = work
        self._pace = pace or Pace()
        self._slots = asyncio.Semaphore(self._pace.slots)
        self._items: dict[Key, _Item] = {}

    def wake(self, key: Key) -> None:
        """Ask for a pass soon; wake-ups while one is due make one pass, those during one make another after it."""
        item = self._items.get(key)
        if item is None:
            item = self._items[key] = _Item()
            item.task = asyncio.get_running_loop().create_task(self._serve(key, item), name=f"passes of {key[0]}/{key[1]}")
        if not item.woken.is_set():
            item.woken.set()

    @property
    def depth(self) -> int:
        """Services whose pass is due, waiting or running."""
        now = asyncio.get_running_loop().time()
        return sum(item.due <= now or item.woken.is_set() for item in self._items.values())

    @property
    def size(self) -> int:
        """Services that the queue knows."""
        return len(self._items)

    def overdue(self) -> float:
        """Seconds by which the most belated pass is late, running ones included; 0: none is."""
        now = asyncio.get_running_loop().time()
        return max([0.0, *(now - item.due for item in self._items.values())])

    async def close(self) -> None:
        """End all workers; a pass under way is cut."""
        tasks = [item.task for item in self._items.values() if item.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._items.clear()

    async def _serve(self, key: Key, item: _Item) -> None:
        """Run the passes of one service, one at a time, until it is gone."""
        loop = asyncio.get_running_loop()
        item.due = loop.time()
        failures = 0
        while True:
            await _wait(item, item.due - loop.time())
            item.due = min(item.due, loop.time())
            await asyncio.sleep(self._pace.settle)
            item.woken.clear()
            try:
                delay = await self._pass(key)
            except Exception as error:   # the loop's boundary: whatever went wrong in one service's pass, the next try and the others go on
                failures += 1
                backoff = self._backoff(failures)
                _tell(key, error, backoff)
                item.due = loop.time() + backoff
                await asyncio.sleep(backoff)   # an event does not cut it short: a failing pass makes events of its own
                continue
            failures = 0
            if delay is None and not item.woken.is_set():
                del self._items[key]
                return
            item.due = loop.time() + (delay or 0.0)

    async def _pass(self, key: Key) -> float | None:
        """Run one pass in one of the slots, within the limit of time."""
        async with self._slots, asyncio.timeout(self._pace.pass_limit):
            return await self._work(key)

    def _backoff(self, failures: int) -> float:
        """Seconds to wait after this many failures in a row."""
        return min(self._pace.longest_backoff, self._pace.first_backoff * 2.0 ** min(failures - 1, 16))


async def _wait(item: _Item, seconds: float) -> None:
    """Return when the item is woken, at the latest after `seconds`."""
    try:
        async with asyncio.timeout(max(0.0, seconds)):
            await item.woken.wait()
    except TimeoutError:
        return


def _tell(key: Key, error: Exception, backoff: float) -> None:
    """Log why a pass failed; with the traceback where it is none of our own errors, whose words say enough."""
    trace = None if isinstance(error, errors.FairlaneError) else error
    said = str(error) or type(error).__name__
    _log.error("pass failed: %s; next try in %.1f s", said, backoff, exc_info=trace, extra={"namespace": key[0], "service": key[1]})
