"""The first rule: no Pass; Fail once enough requests show harm with 99 % confidence, by Wilson bounds on counts.

Its bounds hold for independent requests looked at once; here they are looked at every tick. In simulation (10 % weight, 1 % of the requests slow)
1 of 150 healthy canaries failed within 5 minutes at 20 requests/s, none at 2; with slow requests in bursts of four, 9 of 150 within 10 minutes.
A fifth of the canary's requests slow was seen after 23 of them (median).
"""

import dataclasses
from collections.abc import Callable, Iterator

from ...api import base, status
from ...api import spec as specs
from . import histograms, records, shares, types

MIN_CANARY_REQUESTS = 20
P99 = 0.01

OBJECTIVE_MISSED = "ObjectiveMissed"    # Fail: the canary misses an objective that the stable keeps
ERRORS_WORSE = "ErrorsWorse"            # Fail: the canary fails more often than the stable
TAIL_WORSE = "TailWorse"                # Fail: more of the canary's requests lie beyond the stable's p99
TOO_FEW = "TooFewRequests"              # Insufficient: not enough canary or no stable requests yet
BOTH_BAD = "BothBad"                    # Insufficient: both sides miss an objective
NO_HARM = "NoHarmSeen"                  # Insufficient: enough requests, no harm shown; this rule never says Pass
NO_SERIES = "NoSeries"                  # Unavailable: requests, but no vLLM latencies of a side


@dataclasses.dataclass(frozen=True)
class _Case:
    """What every check looks at."""

    evidence: types.Evidence
    objectives: specs.Objectives
    tolerance: float
    latencies: bool

    @property
    def errors(self) -> tuple[shares.Share, shares.Share]:
        """What failed of the stable's and of the canary's requests."""
        return shares.of_errors(self.evidence.stable), shares.of_errors(self.evidence.canary)

    def over(self, metric: str, edge: float) -> tuple[shares.Share, shares.Share]:
        """What exceeded an edge of the stable's and of the canary's requests."""
        return shares.over(self.evidence.stable, metric, edge), shares.over(self.evidence.canary, metric, edge)

    def both(self, metric: str) -> bool:
        """Whether both sides have this metric's histogram."""
        return metric in self.evidence.stable.histograms and metric in self.evidence.canary.histograms


def judge(evidence: types.Evidence | types.Unavailable, lane: specs.Lane, analysis: specs.Analysis, latencies: bool = True) -> types.Verdict:
    """Return the verdict on one lane's window. `latencies=False` looks at errors alone, for the warm-up."""
    if isinstance(evidence, types.Unavailable):
        return types.Verdict(status.Outcome.UNAVAILABLE, evidence.reason, evidence.message)
    case = _Case(evidence, lane.objectives, float(analysis.tolerance), latencies)
    if few := _too_few(evidence):
        return types.Verdict(status.Outcome.INSUFFICIENT, TOO_FEW, few, records.record(evidence))
    for check in _CHECKS:
        for finding in check(case):
            return _fail(evidence, finding)
    return _no_harm(case)


def _too_few(evidence: types.Evidence) -> str:
    """Say why the requests are too few to decide; empty where they are not."""
    if evidence.canary.requests < MIN_CANARY_REQUESTS:
        counts = f"{evidence.canary.requests:.0f} of {MIN_CANARY_REQUESTS} canary requests are in ({evidence.stable.requests:.0f} of the stable)"
        return f"{counts}; nothing is decided before"
    if evidence.stable.requests <= 0:
        return f"{evidence.canary.requests:.0f} canary requests are in, but none of the stable to compare with"
    return ""


def _error_objective(case: _Case) -> Iterator[records.Finding]:
    """Does the canary alone fail more often than the lane's objective allows?"""
    if case.objectives.error_rate is not None:
        stable, canary = case.errors
        yield from _objective("errors", None, stable, canary, float(case.objectives.error_rate))


def _latency_objectives(case: _Case) -> Iterator[records.Finding]:
    """Does the canary alone exceed a latency objective in more than 1 % of its requests?"""
    for metric, edge in _objective_edges(case):
        stable, canary = case.over(metric, edge)
        yield from _objective(metric, edge, stable, canary, P99)


def _errors_worse(case: _Case) -> Iterator[records.Finding]:
    """Does the canary fail more often than the stable?"""
    stable, canary = case.errors
    yield from _relative(ERRORS_WORSE, "errors", None, stable, canary, case.tolerance)


def _tails_worse(case: _Case) -> Iterator[records.Finding]:
    """Do more of the canary's requests lie beyond the edge of the stable's p99?"""
    for metric in shares.TAILS if case.latencies else ():
        if not case.both(metric):
            continue
        edge = histograms.tail_edge(case.evidence.stable.histograms[metric], P99)
        if edge is not None and _has_edge(case, metric, edge):
            stable, canary = case.over(metric, edge)
            yield from _relative(TAIL_WORSE, metric, edge, stable, canary, case.tolerance)


_CHECKS: tuple[Callable[[_Case], Iterator[records.Finding]], ...] = (_error_objective, _errors_worse, _latency_objectives, _tails_worse)


def _objective(metric: str, edge: float | None, stable: shares.Share, canary: shares.Share, allowed: float) -> Iterator[records.Finding]:
    if canary.lower > allowed >= stable.lower:
        rule = f"99 % lower bound of the canary's share above the objective's {allowed:g}, the stable's not"
        yield records.Finding(OBJECTIVE_MISSED, metric, edge, stable, canary, stable.lower, allowed, rule)


def _relative(reason: str, metric: str, edge: float | None, stable: shares.Share, canary: shares.Share, tolerance: float) -> Iterator[records.Finding]:
    allowed = stable.upper + tolerance
    if canary.lower > allowed:
        rule = f"99 % lower bound of the canary's share above the stable's upper bound + {tolerance:g}"
        yield records.Finding(reason, metric, edge, stable, canary, stable.upper, allowed, rule)


def _objective_edges(case: _Case) -> Iterator[tuple[str, float]]:
    """Each latency that an objective bounds, with the edge at or next above the objective."""
    limits = (("ttft", case.objectives.ttft_p99), ("router_ttft", case.objectives.ttft_p99), ("itl", case.objectives.itl_p99))
    for metric, limit in limits:
        if limit is None or not case.latencies or not case.both(metric):
            continue
        edge = histograms.edge_above(case.evidence.stable.histograms[metric], base.seconds(limit))
        if edge is not None and _has_edge(case, metric, edge):
            yield metric, edge


def _has_edge(case: _Case, metric: str, edge: float) -> bool:
    return histograms.shared(case.evidence.stable.histograms[metric], case.evidence.canary.histograms[metric], edge)


def _fail(evidence: types.Evidence, finding: records.Finding) -> types.Verdict:
    return types.Verdict(status.Outcome.FAIL, finding.reason, finding.sentence, records.record(evidence, finding))


def _no_harm(case: _Case) -> types.Verdict:
    """No check fired: say whether it could have, and whether both sides are bad."""
    evidence = case.evidence
    record = records.record(evidence)
    silent = [name for name, side in (("stable", evidence.stable), ("canary", evidence.canary)) if "ttft" not in side.histograms]
    if case.latencies and silent:
        message = f"no vLLM latencies of the {' and the '.join(silent)}'s pods in Prometheus, though the router counts requests: are the engine pods scraped?"
        return types.Verdict(status.Outcome.UNAVAILABLE, NO_SERIES, message, record)
    if both := _both_bad(case):
        return types.Verdict(status.Outcome.INSUFFICIENT, BOTH_BAD, both, record)
    return types.Verdict(status.Outcome.INSUFFICIENT, NO_HARM, records.summary(record), record)


def _both_bad(case: _Case) -> str:
    """Say which objective both sides miss; empty where there is none."""
    for metric, edge in _objective_edges(case):
        stable, canary = case.over(metric, edge)
        if min(stable.lower, canary.lower) > P99:
            return _shared_miss(metric, stable, canary, f"took longer than {shares.seconds(edge)}")
    stable, canary = case.errors
    allowed = case.objectives.error_rate
    if allowed is not None and min(stable.lower, canary.lower) > float(allowed):
        return _shared_miss("errors", stable, canary, "failed")
    return ""


def _shared_miss(metric: str, stable: shares.Share, canary: shares.Share, verb: str) -> str:
    both = f"{shares.percent(canary.value)} of the canary's requests and {shares.percent(stable.value)} of the stable's {verb}"
    return f"{shares.NAMES[metric]}: {both}: both miss the objective, so it is not the canary's fault"
