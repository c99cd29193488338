"""Run streams through Fairlane's rule and the peers', and note what happened first."""

import dataclasses
import zlib

import numpy

from fairlane.api import base
from fairlane.api import spec as specs
from fairlane.core.judge import rule as product

from . import peers, rule, traffic
from .arrays import Counts, Flags
from .firsts import NEVER, First

SEED = 20260101
FAIRLANE, PASS, ROLLOUT = "fairlane", "pass", "rollout"
_DEFAULT = specs.Rollout()
RATE = float(_DEFAULT.analysis.false_rollback_rate)
STEPS = tuple((step.weight / 100, round(base.seconds(step.duration) / traffic.TICK)) for step in _DEFAULT.steps)    # weight, ticks
HOUR = 360              # ticks


@dataclasses.dataclass(frozen=True)
class Case:
    """Many rollouts of one kind: one step of an hour that may spend the whole budget, and where `rollout` the default steps, each with its share of it."""

    setting: traffic.Setting
    rows: int
    ticks: int = HOUR
    rollout: bool = False
    peers: bool = True

    @property
    def name(self) -> str:
        """Unlike any other's: seeds are drawn from it."""
        setting = self.setting
        return f"{setting.harm.name} {setting.noise} {setting.rate:g}/s pods {setting.pods} onset {setting.onset}"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The first tick and the canary's requests by then, per rollout; -1: never."""

    tick: Counts
    served: Counts


Outcomes = dict[str, Outcome]


def run(case: Case, chunk: int, rows: int) -> Outcomes:
    """Run one part of a case."""
    seed = (SEED, zlib.crc32(case.name.encode()), chunk)
    firsts = {name: First(rows) for name in ((FAIRLANE, PASS, ROLLOUT) if case.rollout else (FAIRLANE,))}
    others = peers.Peers(rows) if case.peers else None
    _step(case.setting, rows, (*seed, 0), case.ticks, firsts, others)
    if case.rollout:
        _last_step(case.setting, rows, (*seed, 1), firsts[ROLLOUT])
    found = {**firsts, **(others.firsts if others else {})}
    return {name: Outcome(first.tick, first.served) for name, first in found.items()}


def _step(setting: traffic.Setting, rows: int, seed: tuple[int, ...], ticks: int, firsts: dict[str, First], others: peers.Peers | None) -> None:
    """One step of an hour; its first half hour is also the first step of the default rollout, with half the budget."""
    stream, judge = traffic.Traffic(setting, rows, seed), rule.Judge(setting, rows)
    first_step, threshold = STEPS[0][1], len(STEPS) / RATE
    for tick in range(1, ticks + 1):
        counted = stream.tick()
        said = judge.tick(counted)
        firsts[FAIRLANE].mark(said.fails(1 / RATE), tick, said.served)
        if tick <= first_step and ROLLOUT in firsts:
            firsts[ROLLOUT].mark(said.fails(threshold), tick, said.served)
            if tick >= product.LEAST_TIME * first_step:
                firsts[PASS].mark(said.passes(threshold) & (firsts[ROLLOUT].tick == NEVER), tick, said.served)
        if others:
            others.tick(tick, counted)


def _last_step(setting: traffic.Setting, rows: int, seed: tuple[int, ...], first: First) -> None:
    """The second step of the default rollout."""
    weight, ticks = STEPS[1]
    setting = dataclasses.replace(setting, weight=weight)
    stream, judge = traffic.Traffic(setting, rows, seed), rule.Judge(setting, rows)
    for tick in range(1, ticks + 1):
        said = judge.tick(stream.tick())
        first.mark(said.fails(len(STEPS) / RATE), STEPS[0][1] + tick, said.served)


def join(parts: list[Outcomes]) -> Outcomes:
    """Put the parts of a case together."""
    return {
        name: Outcome(numpy.concatenate([part[name].tick for part in parts]), numpy.concatenate([part[name].served for part in parts]))
        for name in parts[0]
    }


def by(outcome: Outcome, ticks: int) -> Flags:
    """Which rollouts it had happened to by then."""
    return numpy.asarray((outcome.tick != NEVER) & (outcome.tick <= ticks))
