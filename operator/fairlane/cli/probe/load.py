"""Closed and open loops, bounded in count and time."""

import asyncio
import dataclasses
import datetime
import itertools
import random
import time
from collections.abc import Callable, Iterator

import httpx

from . import config as configs
from . import prompts, request
from .results import Run, Sample, described

TICK = 1.0      # seconds between two lines of progress


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far a run is."""

    seconds: float
    done: int
    failed: int
    in_flight: int
    expected: int | None      # None: bounded by time alone


OnProgress = Callable[[Progress], None]
OnSample = Callable[[Sample], None]


def run(
    config: configs.Config, on_progress: OnProgress | None = None, on_sample: OnSample | None = None, should_stop: Callable[[], bool] = lambda: False
) -> Run:
    """Send the load and return what every request met; BadConfig before anything is sent. `should_stop` is asked before each request."""
    return asyncio.run(run_async(config, on_progress, on_sample, should_stop))


async def run_async(
    config: configs.Config, on_progress: OnProgress | None = None, on_sample: OnSample | None = None, should_stop: Callable[[], bool] = lambda: False
) -> Run:
    """`run` inside an event loop."""
    config.check()
    source = prompts.stream(config)
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=config.concurrency if not config.open_loop else config.max_in_flight)
    timeout = httpx.Timeout(config.timeout, connect=min(config.timeout, 10.0), pool=None)
    began = datetime.datetime.now(datetime.UTC)
    async with httpx.AsyncClient(limits=limits, timeout=timeout, trust_env=False) as client:
        state = _State(client, config, source, time.monotonic(), on_sample, should_stop)
        ticker = asyncio.create_task(_tick(state, on_progress)) if on_progress else None
        try:
            await (_open(state) if config.open_loop else _closed(state))
        finally:
            if ticker:
                ticker.cancel()
    samples = tuple(sorted(state.samples, key=lambda sample: sample.at))
    return Run(began.strftime("%Y-%m-%dT%H:%M:%SZ"), round(time.monotonic() - state.start, 3), described(config), samples)


@dataclasses.dataclass
class _State:
    """A run in progress."""

    client: httpx.AsyncClient
    config: configs.Config
    source: Iterator[prompts.Prompt]
    start: float
    on_sample: OnSample | None
    should_stop: Callable[[], bool]
    samples: list[Sample] = dataclasses.field(default_factory=list)
    in_flight: int = 0
    failed: int = 0
    expected: int | None = None

    async def one(self, prompt: prompts.Prompt, due: float) -> None:
        """Send one request and keep its sample."""
        self.in_flight += 1
        try:
            sample = await request.measure(self.client, self.config, prompt, self.start, due)
        finally:
            self.in_flight -= 1
        self.samples.append(sample)
        self.failed += not sample.ok
        if self.on_sample:
            self.on_sample(sample)


async def _closed(state: _State) -> None:
    """As many clients as asked for, each sending its next request when the last one is done."""
    config = state.config
    state.expected = config.total
    end = state.start + config.duration if config.duration is not None else None
    numbers = iter(range(config.total))

    async def client() -> None:
        for _ in numbers:
            if state.should_stop() or (end is not None and time.monotonic() >= end):
                return
            await state.one(next(state.source), time.monotonic())

    await asyncio.gather(*(client() for _ in range(min(config.concurrency, config.total))))


async def _open(state: _State) -> None:
    """Requests when they are due, however slow the answers: latencies count from there, so that a stall hides nothing."""
    config = state.config
    dues = list(arrivals(config.rate or 0.0, config.duration or 0.0, random.Random(config.seed)))
    state.expected = len(dues)
    room = asyncio.Semaphore(config.max_in_flight)

    async def bounded(prompt: prompts.Prompt, due: float) -> None:
        async with room:
            await state.one(prompt, due)

    async with asyncio.TaskGroup() as tasks:
        for offset in dues:
            due = state.start + offset
            await asyncio.sleep(max(due - time.monotonic(), 0.0))
            if state.should_stop():
                return
            tasks.create_task(bounded(next(state.source), due))


def arrivals(rate: float, duration: float, chance: random.Random) -> Iterator[float]:
    """Poisson arrivals: offsets in seconds, below `duration`."""
    gaps = (chance.expovariate(rate) for _ in itertools.count())
    return itertools.takewhile(lambda offset: offset < duration, itertools.accumulate(gaps))


async def _tick(state: _State, on_progress: OnProgress) -> None:
    while True:
        on_progress(Progress(time.monotonic() - state.start, len(state.samples), state.failed, state.in_flight, state.expected))
        await asyncio.sleep(TICK)
