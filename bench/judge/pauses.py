"""Pauses between tokens, engine step by engine step, through the product's own judge: `python -m bench.judge.pauses [rollouts]`.

An engine makes one step of 30 ms after the other; every running request gets a token from each, so a step that takes long is a pause for all of them.
Prompts make steps longer: a long one makes one much longer if the engine takes it whole, and many a little if it takes it in chunks.
Both sides have hiccups, and pods slow spells of their own.
"""

import collections
import dataclasses
import datetime
import itertools
import math
import sys
from collections.abc import Iterator, Sequence

import numpy

from fairlane.api import spec as specs
from fairlane.core.judge import judge, types

from . import traffic
from .arrays import Floats

EDGES = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0)    # vLLM's
TICKS = 180             # half an hour, the default first step
CHUNK, WHOLE = 512, 16_384    # tokens of a prompt that a step takes: the stable's, and those of a harmful canary
_STEP = 0.03            # seconds
_ANSWER = 150           # tokens
_LONG = 0.05            # of the prompts have 2,000 to 16,000 tokens
_PER_TOKEN = 0.00025    # seconds of a step for a prompt's token
_HICCUPS = 1 / 30       # a second, of 0.2 to 1 s
_SLOWER = 1.6           # times a step's length in a spell
_REFERENCE = 60         # ticks before the rollout
_START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


@dataclasses.dataclass(frozen=True)
class Lane:
    """A lane in a step of a rollout, with one canary pod."""

    rate: float             # requests a second
    weight: float           # of the canary
    pods: int               # of the stable
    spells: bool = False    # each pod has its own


LANES = tuple(Lane(*lane, spells) for lane, spells in itertools.product(((2.0, 0.1, 1), (6.0, 0.1, 2), (20.0, 0.1, 9), (4.0, 0.5, 1)), (False, True)))


@dataclasses.dataclass(frozen=True)
class _Tick:
    """What one pod counted."""

    gaps: Floats            # per bucket
    steps: int
    requests: int


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a step ended: its verdict, after how many seconds, and the judge's sentence."""

    verdict: str
    seconds: float
    message: str


def run(lane: Lane, seed: int, chunk: int = CHUNK) -> Outcome:
    """Judge one step whose canary takes prompts in chunks of so many tokens; until it is rolled back, or over."""
    rng = numpy.random.default_rng((seed, chunk))
    stable = [list(_pod(rng, lane, lane.rate * (1 - lane.weight) / lane.pods, CHUNK, TICKS + _REFERENCE)) for _ in range(lane.pods)]
    canary = [list(_pod(rng, lane, lane.rate * lane.weight, chunk, TICKS))]
    before = sum((tick.gaps for pod in stable for tick in pod[:_REFERENCE]), numpy.zeros(len(EDGES) + 1))
    rollout, state, said = specs.Rollout(), "", None
    for number in range(TICKS + 1):
        until = _START + datetime.timedelta(seconds=number * traffic.TICK)
        sides = (_side(name, [pod[start + number - 1] for pod in pods] if number else [])
                 for name, pods, start in (("stable", stable, _REFERENCE), ("canary", canary, 0)))
        reference = {} if number else {"itl": _histogram(before)}
        since = max(until - datetime.timedelta(seconds=traffic.TICK), _START)
        evidence = types.Evidence(since, until, next(sides), next(sides), types.Cursor(until), reference=reference)
        said = judge(evidence, types.Trial(
            objectives=specs.Objectives(), analysis=rollout.analysis, steps=1, weight=round(100 * lane.weight), duration=TICKS * traffic.TICK,
            elapsed=number * traffic.TICK, state=state,
        ))
        state = said.state
        if said.outcome == "Fail":
            return Outcome("Fail", number * traffic.TICK, said.message)
    assert said is not None
    return Outcome(str(said.outcome), TICKS * traffic.TICK, said.message)


def _pod(rng: numpy.random.Generator, lane: Lane, rate: float, chunk: int, ticks: int) -> Iterator[_Tick]:
    spell = lane.spells and rng.random() < 1 / 6
    for _ in range(ticks):
        if lane.spells:
            spell = rng.random() > traffic.TICK / 60 if spell else rng.random() < traffic.TICK / 300
        requests, running = int(rng.poisson(rate * traffic.TICK)), int(rng.poisson(rate * _ANSWER * _STEP))
        steps = _steps(rng, requests, chunk, _STEP * (_SLOWER if spell else 1.0)) if running else numpy.zeros(0)
        counts = numpy.bincount(numpy.searchsorted(EDGES, steps), minlength=len(EDGES) + 1)
        yield _Tick((counts * running).astype(numpy.float64), len(steps), requests)


def _steps(rng: numpy.random.Generator, requests: int, chunk: int, usual: float) -> Floats:
    """Seconds of each step of a tick."""
    count = int(traffic.TICK / usual)
    steps = usual * numpy.exp(rng.normal(0, 0.12, count))
    numpy.add.at(steps, rng.integers(0, count, requests), rng.uniform(0.01, 0.06, requests))
    for tokens in rng.uniform(2000, 16_000, rng.binomial(requests, _LONG)):
        first = rng.integers(0, count)
        steps[first:first + math.ceil(tokens / chunk)] += min(tokens, chunk) * _PER_TOKEN
    hiccups = rng.poisson(_HICCUPS * traffic.TICK)
    numpy.add.at(steps, rng.integers(0, count, hiccups), rng.uniform(0.2, 1.0, hiccups))
    within = max(int((numpy.cumsum(steps) <= traffic.TICK).sum()), 1)
    return numpy.asarray(steps[:within])


def _side(name: str, ticks: Sequence[_Tick]) -> types.TrackSamples:
    pods = tuple(types.PodSamples(f"{name}-{index}", {"itl": _histogram(tick.gaps), "ttft": _quick(tick.requests)}) for index, tick in enumerate(ticks))
    steps, requests = sum(tick.steps for tick in ticks), sum(tick.requests for tick in ticks)
    return types.TrackSamples(name, float(requests), pods=pods, replicas=max(len(ticks), 1), context=types.Context(steps=float(steps)))


def _histogram(counts: Floats) -> types.Histogram:
    return types.Histogram((*EDGES, math.inf), tuple(map(float, numpy.cumsum(counts))))


def _quick(requests: int) -> types.Histogram:
    """First tokens, none of them late: it is the pauses that are looked at."""
    return types.Histogram((0.25, math.inf), (float(requests),) * 2)


def main(rollouts: int) -> None:
    """Print how many healthy and harmful canaries are rolled back in each lane."""
    for lane in LANES:
        for chunk, what in ((CHUNK, "healthy"), (WHOLE, "long prompts in one step")):
            found = [run(lane, seed, chunk) for seed in range(rollouts if chunk == CHUNK else max(rollouts // 10, 5))]
            seconds = sorted(outcome.seconds for outcome in found if outcome.verdict == "Fail")
            median = f", median {seconds[len(seconds) // 2]:.0f} s" if seconds else ""
            print(f"{lane}: {what}: {dict(collections.Counter(outcome.verdict for outcome in found))}{median}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
