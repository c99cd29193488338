"""Fairlane's rule for many rollouts at once, in arrays, with the product's constants. `parity` compares it with the product's own code, tick by tick."""

import dataclasses
import functools
import math

import numpy

from fairlane.core.judge import absorb, bets, hangs, histograms, margins, records, variation, weigh
from fairlane.core.judge import rule as product

from . import latencies, traffic
from .arrays import Flags, Floats, Numbers

_ERRORS = latencies.COLUMNS - 1
_EACH = (1 - weigh.ERRORS) / _ERRORS    # two metrics with as many edges
WEIGHTS: Floats = numpy.array([_EACH] * _ERRORS + [weigh.ERRORS])
_ALLOWED = margins.Margins()
_HUGE = 600.0                           # exp of more would overflow
_MINUTE = round(variation.MINUTE / traffic.TICK)
_DIGITS = 3                             # to which the product's memory rounds what it caps


@dataclasses.dataclass(frozen=True)
class Sums:
    """Counts since the step began: [rows] and [rows, columns]."""

    stable: Numbers
    stable_over: Numbers
    canary: Numbers
    canary_over: Numbers
    capped: Numbers                   # the canary's exceedances, those of one tick bounded

    def since(self, start: "Sums") -> "Sums":
        """What came after."""
        return Sums(*(getattr(self, field.name) - getattr(start, field.name) for field in dataclasses.fields(self)))


@dataclasses.dataclass(frozen=True)
class Said:
    """What the evidence comes to after a tick, a value a row. E-values have their weight in the whole: each is compared with steps / falseRollbackRate."""

    harm: Floats
    hang: Floats
    starved: Floats
    harmless: Floats                  # compared with 1 / PASS_BETA
    comparable: Flags                 # enough requests for a Pass, and as many a replica
    served: Numbers                   # the canary's requests

    def fails(self, threshold: float) -> Flags:
        """Which canaries are rolled back."""
        return numpy.asarray((self.harm >= threshold) | (self.hang >= threshold))

    def passes(self, threshold: float) -> Flags:
        """Which have shown that they are no worse, half the step over or not."""
        return numpy.asarray((self.harmless >= 1 / records.PASS_BETA) & self.comparable & ~self.unavailable(threshold) & ~self.fails(threshold))

    def unavailable(self, threshold: float) -> Flags:
        """Which do not get the requests that they should."""
        return numpy.asarray(self.starved >= threshold)


class Judge:
    """The sums of a step, and what they say."""

    def __init__(self, setting: traffic.Setting, rows: int) -> None:
        shape = (rows, latencies.COLUMNS)
        self._setting, self._ticks = setting, 0
        self._pods = numpy.zeros((rows, setting.pods))
        self._pods_over = numpy.zeros((rows, setting.pods, latencies.COLUMNS))
        self._sums = Sums(numpy.zeros(rows), numpy.zeros(shape), numpy.zeros(rows), numpy.zeros(shape), numpy.zeros(shape))
        self._last: Numbers | None = None
        self._spread, self._mean = numpy.zeros(shape), numpy.zeros(shape)
        self._minutes = numpy.zeros((6, *shape))                    # memory.Minutes
        self._starts: list[tuple[int, Sums]] = [(0, self._sums)]    # by number: the beginning, then the newest restarts
        self._busy = numpy.zeros((3, rows))                         # seconds without a break, the stable's and the canary's completions in them

    def tick(self, counted: traffic.Counted) -> Said:
        """Take in one tick."""
        self._ticks += 1
        self._pods = self._pods + counted.stable
        self._pods_over = self._pods_over + counted.stable_over
        now, now_over = counted.stable.sum(axis=1), counted.stable_over.sum(axis=1)
        before = self._sums
        stable, stable_over = before.stable + now, before.stable_over + now_over
        cap = _cap((now, now_over), (stable, stable_over), counted.canary)
        capped = numpy.round(before.capped + numpy.minimum(counted.canary_over, cap), _DIGITS)
        self._sums = Sums(stable, stable_over, before.canary + counted.canary, before.canary_over + counted.canary_over, capped)
        if self._last is not None:
            self._spread = self._spread + (now_over - self._last) ** 2
            self._mean = self._mean + now_over + self._last
        self._last = now_over
        if self._ticks % _MINUTE == 0:
            self._minutes = _next_minute(self._minutes, self._sums)
        more = numpy.stack([numpy.full(len(now), traffic.TICK), now, counted.canary])
        self._busy = numpy.where(counted.running > 0, self._busy + more, 0.0)
        said = self._say()
        self._restart()
        return said

    def _restart(self) -> None:
        every = round(product.RESTART_EVERY / traffic.TICK)
        if self._ticks % every == 0:
            newest = [*self._starts[1:], (self._ticks // every, self._sums)]
            self._starts = [self._starts[0], *newest[-product.RESTARTS:]]

    def _say(self) -> Said:
        sums, phi = self._sums, self._dispersion(1.0)
        harm = weigh.RAW * _worse(sums, sums.canary_over, numpy.maximum(weigh.RAW_PHI, weigh.RAW_PHI_SCALE * phi))
        for number, start in self._starts:
            weight = weigh.RESTART / (number * (number + 1)) if number else weigh.START
            since = sums.since(start)
            harm = harm + weight * _worse(since, since.capped, phi)
        low, high = product.LOAD_RATIOS
        stable, canary = self._setting.replicas
        with numpy.errstate(divide="ignore", invalid="ignore"):
            load = numpy.where(sums.stable > 0, sums.canary / canary / (sums.stable / stable), 0.0)
        comparable = (sums.canary >= product.LEAST_CANARY) & (load >= low) & (load <= high)
        harmless = _harmless(sums, self._dispersion(bets.PASS_DISPERSION))
        return Said(weigh.SHARE * harm, self._hang(), self._starved(), harmless, comparable, sums.canary)

    def _dispersion(self, prior: float) -> Floats:
        """How much more exceedances vary than independent ones: the stable's from tick to tick and from pod to pod, the canary's part from minute to minute."""
        ticks = (prior * bets.PRIOR + self._spread) / (bets.PRIOR + self._mean)
        minutes = (bets.OWN_PRIOR + self._minutes[0]) / (bets.OWN_PRIOR + self._minutes[1])
        return numpy.asarray(numpy.maximum.reduce([ticks, minutes, self._between_pods, numpy.ones(ticks.shape)]))

    @property
    def _between_pods(self) -> Floats:
        """Pearson's statistic over its degrees of freedom. Errors are not counted by pod."""
        requests, over = self._pods[:, :, None], self._pods_over
        if requests.shape[1] == 1:
            return numpy.ones(self._mean.shape)
        share = over.sum(axis=1, keepdims=True) / numpy.maximum(requests.sum(axis=1, keepdims=True), 1)
        expected = requests * share
        spread = expected * (1 - share)
        parts = numpy.where(spread > 0, (over - expected) ** 2 / numpy.where(spread > 0, spread, 1.0), 0.0)
        freedom = (self._pods > 0).sum(axis=1)[:, None] - 1
        dispersion = parts.sum(axis=1) / numpy.maximum(freedom, 1)
        dispersion[:, _ERRORS] = 1.0
        return numpy.asarray(dispersion)

    def _hang(self) -> Floats:
        """Of canaries that are busy without a break for so long that something should have completed."""
        seconds, stable, canary = self._busy
        waited = seconds > hangs.WAIT + hangs.SLOWEST * _slowest()
        return numpy.where(waited, self._lacking(canary, stable), 0.0)

    def _starved(self) -> Floats:
        """Of canaries that are idle, since the last restart but one."""
        since = self._sums.since(self._starts[-2][1]) if len(self._starts) > 2 else self._sums
        idle = (self._busy[0] == 0) & (self._ticks * traffic.TICK > hangs.WAIT)
        return numpy.where(idle, self._lacking(since.canary, since.stable), 0.0)

    def _lacking(self, canary: Numbers, stable: Numbers) -> Floats:
        due = hangs.DUE * self._setting.weight
        total = numpy.zeros(len(canary))
        for lack in bets.LACKING:
            log = canary * math.log(lack) + stable * (math.log1p(-lack * due) - math.log1p(-due))
            total += numpy.exp(numpy.minimum(log, _HUGE))
        return numpy.asarray(hangs.SHARE * total / len(bets.LACKING))


@functools.cache
def _slowest() -> float:
    return round(histograms.quantile(latencies.SHAPES["e2e"].reference(), 0.99) or 0.0, _DIGITS)


def _cap(now: tuple[Numbers, Numbers], step: tuple[Numbers, Numbers], canary: Numbers) -> Floats:
    """The most exceedances of the canary that count in a tick: one, and twice what the stable's share in it, shrunk to that of the step, allows."""
    mean = (step[1] + 0.5) / (step[0] + 1)[:, None]
    here = (now[1] + absorb.SHRINK * mean) / (now[0] + absorb.SHRINK)[:, None]
    return numpy.asarray(absorb.CAP + absorb.CAP_SCALE * canary[:, None] * (_ALLOWED.tau * here + _ALLOWED.delta))


def _next_minute(before: Numbers, sums: Sums) -> Numbers:
    """As the product's variation: the canary's part of a minute's exceedances, beside that of the one before."""
    spread, expected, canary, both, canary_before, both_before = before
    now = sums.canary_over, sums.canary_over + sums.stable_over
    x, t = now[0] - canary_before, now[1] - both_before
    total = t + both
    share = (x + canary) / numpy.maximum(total, 1)
    pair = (t > 0) & (both > 0)
    spread = spread + numpy.where(pair, 2 * (x - share * t) ** 2, 0.0)
    expected = expected + numpy.where(pair, 2 * share * (1 - share) * t * both / numpy.maximum(total - 1, 1), 0.0)
    last = numpy.where(t > 0, x, canary), numpy.where(t > 0, t, both)
    return numpy.round(numpy.stack([spread, expected, *last, *now]), _DIGITS)


def _worse(sums: Sums, canary_over: Numbers, phi: Floats) -> Floats:
    """The weighted mean over columns and bets of the e-values for: the canary's share is above tau times the stable's plus delta."""
    total = numpy.zeros(len(sums.canary))
    ratio = _ALLOWED.tau * sums.canary / numpy.maximum(sums.stable, 1)
    for psi in bets.WORSE:
        stake = (psi - 1) / (1 + ratio * psi)
        won = canary_over * numpy.log1p(stake)[:, None] + sums.stable_over * numpy.log1p(-ratio * stake)[:, None]
        log = (won - _ALLOWED.delta * (sums.canary * stake)[:, None]) / phi
        total += numpy.exp(numpy.minimum(log, _HUGE)) @ WEIGHTS
    return numpy.where(_both(sums), total / len(bets.WORSE), 1.0)


def _harmless(sums: Sums, phi: Floats) -> Floats:
    """The least e-value of all columns for: the canary's share is below tau' times the stable's plus delta'."""
    ratio = _ALLOWED.tau_pass * sums.canary / numpy.maximum(sums.stable, 1)
    total = numpy.zeros_like(sums.canary_over)
    for bet in bets.NO_WORSE:
        won = sums.canary_over * math.log1p(-bet) + sums.stable_over * numpy.log1p(bet * ratio)[:, None]
        total += numpy.exp(numpy.minimum((won + _ALLOWED.delta_pass * (sums.canary * bet)[:, None]) / phi, _HUGE))
    least = (total / len(bets.NO_WORSE)).min(axis=1)
    return numpy.where(_both(sums), least, 1.0)


def _both(sums: Sums) -> Flags:
    return numpy.asarray((sums.canary > 0) & (sums.stable > 0))
