"""Do the arrays say what the product says? Every verdict of every tick, up to a Fail: that stands."""

import dataclasses
import itertools
import zlib

import numpy

from fairlane.api import spec as specs
from fairlane.api import status
from fairlane.core.judge import rule as judge_rule

from . import cases, product, rule, traffic, trials
from .arrays import Flags, Numbers
from .traffic import Harm, Noise, Setting

_RATES = (2.0, 20.0, 0.2, 200.0)      # by turns
_PODS = 3                             # of the stable, where pods differ
STARVED = Harm("no request arrives", starves=True)
_ROLLOUT = specs.Rollout()


@dataclasses.dataclass(frozen=True)
class Mismatch:
    """Where they differ first."""

    setting: Setting
    row: int
    tick: int
    arrays: str
    product: str


def kinds() -> list[Setting]:
    """Every noise with every harm and none, and with a canary that gets no requests."""
    noises = itertools.product(Noise, (traffic.NONE, *cases.HARMS, STARVED))
    return [
        Setting(_RATES[index % len(_RATES)], noise, harm, pods=_PODS if noise is Noise.POD_MARKOV else 1)
        for index, (noise, harm) in enumerate(noises)
    ]


@dataclasses.dataclass(frozen=True)
class Compared:
    """So many verdicts of both."""

    verdicts: int
    mismatches: tuple[Mismatch, ...]


def compare(setting: Setting, rows: int, ticks: int, part: int = 0) -> Compared:
    """Run both over the same streams."""
    stream = traffic.Traffic(setting, rows, (trials.SEED, zlib.crc32(repr(setting).encode()), part, 2))
    counted = [stream.tick() for _ in range(ticks)]
    expected = _arrays(setting, counted, rows)
    verdicts, mismatches = 0, []
    for row in range(rows):
        for tick, outcome in enumerate(product.outcomes(setting, counted, row, _ROLLOUT)):
            verdicts += 1
            if outcome.value != expected[tick, row]:
                mismatches.append(Mismatch(setting, row, tick + 1, str(expected[tick, row]), outcome.value))
                break
            if outcome is status.Outcome.FAIL:
                break
    return Compared(verdicts, tuple(mismatches))


def _arrays(setting: Setting, counted: list[traffic.Counted], rows: int) -> Numbers:
    """Outcomes by tick and row."""
    judge, threshold = rule.Judge(setting, rows), len(_ROLLOUT.steps) / trials.RATE
    failed: Flags = numpy.zeros(rows, bool)
    said = []
    for number, each in enumerate(counted, start=1):
        now = judge.tick(each)
        failed = failed | now.fails(threshold)
        passed = now.passes(threshold) & (number >= judge_rule.LEAST_TIME * len(counted))
        outcomes = (status.Outcome.FAIL, status.Outcome.UNAVAILABLE, status.Outcome.PASS)
        chosen = numpy.select([failed, now.unavailable(threshold), passed], [each.value for each in outcomes], status.Outcome.INSUFFICIENT.value)
        said.append(chosen)
    return numpy.stack(said)
