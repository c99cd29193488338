"""One worker per service: bursts, failures, services that go."""

import asyncio
from collections.abc import Callable

import pytest

from fairlane.shell import queue

KEY = ("llm", "assistant")
PACE = queue.Pace(settle=0.01, first_backoff=0.05, longest_backoff=0.2, pass_limit=0.3, slots=2)


async def until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    """Return once the condition holds."""
    async with asyncio.timeout(seconds):
        while not condition():   # noqa: ASYNC110  the code under test sets no event for tests
            await asyncio.sleep(0.005)


class Passes:
    """Passes that note when they ran."""

    def __init__(self, *results: float | Exception | None) -> None:
        self.times: list[float] = []
        self.keys: list[queue.Key] = []
        self.running = 0
        self.most = 0
        self.hold = asyncio.Event()
        self.hold.set()
        self._results = list(results)

    async def __call__(self, key: queue.Key) -> float | None:
        self.keys.append(key)
        self.times.append(asyncio.get_running_loop().time())
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.hold.wait()
        finally:
            self.running -= 1
        result = self._results.pop(0) if self._results else 60.0
        if isinstance(result, Exception):
            raise result
        return result


async def test_a_burst_of_events_makes_one_pass() -> None:
    passes = Passes()
    line = queue.Queue(passes, PACE)
    for _ in range(50):
        line.wake(KEY)
    await until(lambda: len(passes.times) == 1)
    line.wake(("llm", "another"))
    await until(lambda: len(passes.keys) >= 2)
    assert passes.keys == [KEY, ("llm", "another")]
    await line.close()


async def test_an_event_during_a_pass_makes_another_after_it_and_never_two_at_once() -> None:
    passes = Passes()
    passes.hold.clear()
    line = queue.Queue(passes, PACE)
    line.wake(KEY)
    await until(lambda: passes.running == 1)
    line.wake(KEY)
    passes.hold.set()
    await until(lambda: len(passes.times) == 2)
    assert passes.most == 1
    await line.close()


async def test_a_pass_comes_again_by_itself_when_it_said_so() -> None:
    passes = Passes(0.05)
    line = queue.Queue(passes, PACE)
    line.wake(KEY)
    await until(lambda: len(passes.times) == 2)
    assert passes.times[1] - passes.times[0] >= 0.05
    await line.close()


async def test_failures_back_off_further_each_time_and_events_do_not_cut_it_short() -> None:
    passes = Passes(*[OSError("no")] * 4)
    line = queue.Queue(passes, PACE)
    line.wake(KEY)

    def poked() -> bool:
        line.wake(KEY)
        return len(passes.times) == 5

    await until(poked)
    gaps = [later - earlier for earlier, later in zip(passes.times, passes.times[1:], strict=False)]
    for gap, least in zip(gaps, (0.05, 0.1, 0.2, 0.2), strict=True):
        assert gap >= least
    await line.close()


async def test_a_pass_over_its_time_is_cut_and_tried_again() -> None:
    passes = Passes()
    passes.hold.clear()
    line = queue.Queue(passes, PACE)
    line.wake(KEY)
    await until(lambda: len(passes.times) == 2)
    assert passes.most == 1
    await line.close()


async def test_a_service_that_is_gone_is_forgotten_and_may_come_back() -> None:
    passes = Passes(None, None)
    line = queue.Queue(passes, PACE)
    line.wake(KEY)
    await until(lambda: line.size == 0)
    line.wake(KEY)
    await until(lambda: len(passes.times) == 2 and line.size == 0)
    await line.close()


async def test_services_do_not_wait_for_each_other_beyond_the_slots() -> None:
    passes = Passes()
    passes.hold.clear()
    line = queue.Queue(passes, queue.Pace(settle=0.01, slots=2))
    for name in "abc":
        line.wake(("llm", name))
    await until(lambda: passes.running == 2)
    assert line.depth == 3
    passes.hold.set()
    await until(lambda: len(passes.times) == 3)
    assert passes.most == 2
    await line.close()


@pytest.mark.parametrize("held", [False, True], ids=["an idle service is not overdue", "a pass that hangs is"])
async def test_overdue(held: bool) -> None:
    passes = Passes()
    if held:
        passes.hold.clear()
    line = queue.Queue(passes, queue.Pace(settle=0.01))
    line.wake(KEY)
    await until(lambda: line.overdue() > 0.05 if held else line.overdue() == 0)
    await line.close()
