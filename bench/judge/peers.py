"""What the rules of others do on the same stream. Each looks once a minute at the p99 of the TTFT and at the error rate of the minute before.

Flagger and Argo Rollouts compare with thresholds: here 1.5 times the stable's long-run p99 (as histogram_quantile has it) and 1 % errors.

- Flagger (docs.flagger.app, "Canary analysis": analysis.interval, analysis.threshold): a failed check adds to failedChecks, none takes away; at `threshold`
  it rolls back, at the next interval. No value, or NaN (histogram_quantile without requests; github.com/fluxcd/flagger/pull/1095), is a failed check.
- Argo Rollouts (argo-rollouts.readthedocs.io, "Analysis & Progressive Delivery": interval, failureLimit): more failures than failureLimit abort.
  NaN meets no failureCondition.
- Kayenta (spinnaker.io, "How canary judgment works"): once, after 30 minutes, Mann-Whitney with 98 % confidence over the 30 values of each side;
  high where the interval of the Hodges-Lehmann shift lies above a quarter of its estimate.
"""

import collections
import math
import statistics
from collections.abc import Iterable

import numpy

from . import latencies, traffic
from .arrays import Counts, Flags, Floats, Numbers
from .firsts import First

MINUTE = traffic.MINUTE
KAYENTA_AT = 30 * MINUTE
_TOO_SLOW = 1.5
_TOO_MANY_ERRORS = 0.01
_KAYENTA_TOLERANCE = 0.25
_KAYENTA_Z = statistics.NormalDist().inv_cdf(0.99)    # 98 %, two-sided

FLAGGER, FLAGGER_ONE, ARGO, ARGO_ZERO, KAYENTA = "flagger5", "flagger1", "argo3", "argo0", "kayenta"
NAMES = {
    FLAGGER: "Flagger, threshold 5",
    FLAGGER_ONE: "Flagger, threshold 1",
    ARGO: "Argo Rollouts, failureLimit 3",
    ARGO_ZERO: "Argo Rollouts, failureLimit 0",
    KAYENTA: "Kayenta, once after 30 min",
}


class Peers:
    """All of them at once."""

    def __init__(self, rows: int) -> None:
        self.firsts = {name: First(rows) for name in NAMES}
        self._minute: collections.deque[traffic.Counted] = collections.deque(maxlen=MINUTE)
        self._bad, self._failed = numpy.zeros(rows, numpy.int64), numpy.zeros(rows, numpy.int64)
        self._series: dict[str, list[Floats]] = collections.defaultdict(list)
        self._limit = _TOO_SLOW * long_run_p99()
        self._served = numpy.zeros(rows, numpy.int64)

    def tick(self, tick: int, counted: traffic.Counted) -> None:
        """Look, where a minute is over."""
        self._minute.append(counted)
        self._served = self._served + counted.canary
        if tick % MINUTE:
            return
        canary = _sum(each.canary for each in self._minute), _sum(each.canary_over for each in self._minute)
        stable = _sum(each.stable.sum(axis=1) for each in self._minute), _sum(each.stable_over.sum(axis=1) for each in self._minute)
        p99, errors = _minute(*canary)
        self._thresholds(tick, (p99 > self._limit) | (errors > _TOO_MANY_ERRORS), numpy.isnan(p99))
        if tick <= KAYENTA_AT:
            for name, values in zip(("canary p99", "canary errors", "stable p99", "stable errors"), (p99, errors, *_minute(*stable)), strict=True):
                self._series[name].append(values)
        if tick == KAYENTA_AT:
            self.firsts[KAYENTA].mark(self._kayenta(), tick, self._served)

    def _thresholds(self, tick: int, bad: Flags, missing: Flags) -> None:
        self._bad = self._bad + bad
        self._failed = self._failed + (bad | missing)
        self.firsts[FLAGGER].mark(self._failed >= 5, tick + MINUTE, self._served)
        self.firsts[FLAGGER_ONE].mark(self._failed >= 1, tick + MINUTE, self._served)
        self.firsts[ARGO].mark(self._bad > 3, tick, self._served)
        self.firsts[ARGO_ZERO].mark(self._bad > 0, tick, self._served)

    def _kayenta(self) -> Flags:
        series = {name: numpy.stack(values, axis=1) for name, values in self._series.items()}
        rows = range(len(self._bad))
        return numpy.array([any(_high(series[f"canary {of}"][row], series[f"stable {of}"][row]) for of in ("p99", "errors")) for row in rows])


def long_run_p99() -> float:
    """What histogram_quantile says of the stable's TTFT in the long run. Seconds."""
    shape = latencies.SHAPES["ttft"]
    over = numpy.array([shape.exceedance(edge) for edge in shape.tail])
    return float(_quantile(over[None, :], numpy.array([1.0]))[0])


def _sum(parts: Iterable[Counts]) -> Counts:
    return numpy.asarray(numpy.sum(list(parts), axis=0))


def _minute(requests: Numbers, over: Numbers) -> tuple[Floats, Floats]:
    """The p99 of the TTFT and the error rate; NaN without requests."""
    with numpy.errstate(invalid="ignore"):
        return _quantile(over[:, :latencies.EDGES_PER_METRIC], requests), over[:, -1] / numpy.where(requests > 0, requests, math.nan)


def _quantile(over: Numbers, requests: Numbers) -> Floats:
    """histogram_quantile(0.99) at the tail edges: linear inside a bucket; 0 below the first edge, a third above the last one beyond it."""
    edges = numpy.array(latencies.SHAPES["ttft"].tail)
    rows, within = numpy.arange(len(requests)), requests[:, None] - over
    rank = 0.99 * requests
    reached = within >= rank[:, None]
    bucket = reached.argmax(axis=1)
    before = numpy.maximum(bucket - 1, 0)
    low, below = edges[before], within[rows, before]
    inside = low + (edges[bucket] - low) * (rank - below) / numpy.maximum(within[rows, bucket] - below, 1e-9)
    value = numpy.where(reached.any(axis=1), numpy.where(bucket == 0, 0.0, inside), edges[-1] * 1.3)
    return numpy.where(requests > 0, value, math.nan)


def _high(canary: Floats, stable: Floats) -> bool:
    """Whether Mann-Whitney finds the canary's values higher, by more than a quarter of the shift."""
    canary, stable = canary[~numpy.isnan(canary)], stable[~numpy.isnan(stable)]
    several, others = len(canary), len(stable)
    if not several or not others or (several == others and bool((canary == stable).all())):
        return False
    shifts = numpy.sort((canary[:, None] - stable[None, :]).ravel())
    spread = _KAYENTA_Z * math.sqrt(several * others * (several + others + 1) / 12)
    lower = math.floor(several * others / 2 - spread - 0.5)
    return lower >= 0 and bool(shifts[lower] > _KAYENTA_TOLERANCE * abs(numpy.median(shifts)))
