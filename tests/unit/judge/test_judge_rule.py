"""Evidence in, verdict out."""

import datetime
import math
from typing import Any

import pytest

from fairlane.api import spec as specs
from fairlane.api import status
from fairlane.core.judge import judge, types

SINCE = datetime.datetime(2026, 1, 1, 12, 0, tzinfo=datetime.UTC)
UNTIL = SINCE + datetime.timedelta(minutes=5)
EDGES = (0.1, 0.25, 0.5, 1.0, 2.5, math.inf)
ANALYSIS = specs.Analysis()


def lane(**objectives: str) -> specs.Lane:
    return specs.Lane(name="chat", profile=specs.Profile.INTERACTIVE, replicas=1, objectives=specs.Objectives(**objectives))


def histogram(total: float, over_half: float = 0.0, over_two_and_half: float = 0.0) -> types.Histogram:
    """All within 0.25 s but `over_half` beyond 0.5 s (in 1 s) and `over_two_and_half` beyond 2.5 s."""
    slow = over_half + over_two_and_half
    return types.Histogram(EDGES, (0.0, total - slow, total - slow, total - over_two_and_half, total - over_two_and_half, total))


def side(revision: str, requests: float = 0.0, errors: float = 0.0, **histograms: types.Histogram) -> types.TrackSamples:
    return types.TrackSamples(revision, requests, errors, {"ttft": histogram(requests), **histograms}, replicas=1)


def evidence(stable: types.TrackSamples, canary: types.TrackSamples) -> types.Evidence:
    return types.Evidence(SINCE, UNTIL, stable, canary)


STABLE = side("old-1", 540, 1, ttft=histogram(540, over_half=5))


CASES: list[Any] = [
    pytest.param(types.Unavailable("NoSeries", "why"), {}, ("Unavailable", "NoSeries", "why"), id="unavailable passes through"),
    pytest.param(
        evidence(STABLE, side("new-1", 19, 19)),
        {},
        ("Insufficient", "TooFewRequests", "19 of 20 canary requests are in (540 of the stable); nothing is decided before"),
        id="nineteen requests decide nothing, even if all failed",
    ),
    pytest.param(
        evidence(side("old-1"), side("new-1", 50)),
        {},
        ("Insufficient", "TooFewRequests", "50 canary requests are in, but none of the stable to compare with"),
        id="without requests of the stable there is no baseline",
    ),
    pytest.param(
        evidence(side("old-1"), side("new-1")),
        {},
        ("Insufficient", "TooFewRequests", "0 of 20 canary requests are in (0 of the stable); nothing is decided before"),
        id="no traffic is no verdict",
    ),
    pytest.param(
        evidence(STABLE, side("new-1", 61, ttft=histogram(61, over_half=23))),
        {},
        (
            "Fail",
            "TailWorse",
            "TTFT: 23 of 61 canary requests (38 %) took longer than 0.25 s, of the stable's 0.9 %;"
            " at least 24 % with 99 % confidence, allowed 3.5 %",
        ),
        id="a canary with a third of its requests beyond the stable's p99 fails",
    ),
    pytest.param(
        evidence(STABLE, side("new-1", 61, 9)),
        {},
        (
            "Fail",
            "ErrorsWorse",
            "Errors: 9 of 61 canary requests (15 %) failed, of the stable's 0.2 %; at least 7.1 % with 99 % confidence, allowed 2.3 %",
        ),
        id="a canary that fails more often fails",
    ),
    pytest.param(
        evidence(side("old-1", 540, ttft=histogram(540, over_half=540)), side("new-1", 100, ttft=histogram(100, over_half=80, over_two_and_half=20))),
        {"ttft_p99": "2s"},
        (
            "Fail",
            "ObjectiveMissed",
            "TTFT: 20 of 100 canary requests (20 %) took longer than 2.5 s, of the stable's 0.0 %; at least 12 % with 99 % confidence, allowed 1.0 %",
        ),
        id="an objective between two edges is judged at the next above",
    ),
    pytest.param(
        evidence(
            side("old-1", 540, ttft=histogram(540, over_half=100, over_two_and_half=100)),
            side("new-1", 100, ttft=histogram(100, over_half=20, over_two_and_half=25)),
        ),
        {"ttft_p99": "2s"},
        (
            "Insufficient",
            "BothBad",
            "TTFT: 25 % of the canary's requests and 19 % of the stable's took longer than 2.5 s: both miss the objective, so it is not the canary's fault",
        ),
        id="both sides bad is not the canary's fault",
    ),
    pytest.param(
        evidence(side("old-1", 540, 100), side("new-1", 100, 25)),
        {"error_rate": "0.01"},
        (
            "Insufficient",
            "BothBad",
            "Errors: 25 % of the canary's requests and 19 % of the stable's failed: both miss the objective, so it is not the canary's fault",
        ),
        id="errors on both sides are not the canary's fault",
    ),
    pytest.param(
        evidence(side("old-1", 5400, 1), side("new-1", 600, 25)),
        {"error_rate": "0.02"},
        (
            "Fail",
            "ObjectiveMissed",
            "Errors: 25 of 600 canary requests (4.2 %) failed, of the stable's 0.0 %; at least 2.6 % with 99 % confidence, allowed 2.0 %",
        ),
        id="an error objective missed by the canary alone fails",
    ),
    pytest.param(
        evidence(STABLE, side("new-1", 61, ttft=histogram(61, over_half=1))),
        {},
        ("Insufficient", "NoHarmSeen", "no harm seen in 61 canary requests (0 failed) beside 540 of the stable (1 failed); TTFT p99 0.695 s against 0.25 s"),
        id="an equal canary shows no harm, and never passes",
    ),
    pytest.param(
        evidence(STABLE, types.TrackSamples("new-1", 61)),
        {},
        (
            "Unavailable",
            "NoSeries",
            "no vLLM latencies of the canary's pods in Prometheus, though the router counts requests: are the engine pods scraped?",
        ),
        id="requests without engine latencies are no evidence of harmlessness",
    ),
    pytest.param(
        evidence(STABLE, types.TrackSamples("new-1", 61, 61)),
        {},
        ("Fail", "ErrorsWorse", "Errors: 61 of 61 canary requests (100 %) failed, of the stable's 0.2 %; at least 91 % with 99 % confidence, allowed 2.3 %"),
        id="errors fail a canary whose engine cannot be scraped",
    ),
    pytest.param(
        evidence(side("old-1", 540, ttft=types.Histogram((0.2, math.inf), (540.0, 540.0))), side("new-1", 61, ttft=histogram(61, over_half=40))),
        {"ttft_p99": "100ms"},
        ("Insufficient", "NoHarmSeen", "no harm seen in 61 canary requests (0 failed) beside 540 of the stable (0 failed); TTFT p99 0.992 s against 0.198 s"),
        id="buckets that the other side lacks are not compared",
    ),
    pytest.param(
        evidence(
            side("old-1", 540, itl=histogram(54_000, over_half=100)),
            side("new-1", 60, itl=histogram(6_000, over_half=1_500)),
        ),
        {},
        (
            "Fail",
            "TailWorse",
            "ITL: 25 % of the gaps between tokens in 60 canary requests were longer than 0.25 s, of the stable's 0.2 %;"
            " at least 14 % with 99 % confidence, allowed 2.3 %",
        ),
        id="token gaps are weighed by requests",
    ),
    pytest.param(
        evidence(side("old-1", 540, itl=histogram(54_000, over_half=100)), side("new-1", 30, itl=histogram(3_000, over_half=200))),
        {},
        ("Insufficient", "NoHarmSeen", "no harm seen in 30 canary requests (0 failed) beside 540 of the stable (0 failed); TTFT p99 0.248 s against 0.248 s"),
        id="two hundred token gaps that may be two requests are no proof",
    ),
    pytest.param(
        evidence(side("old-1", 540, router_ttft=histogram(540)), side("new-1", 60, router_ttft=histogram(60, over_half=30))),
        {},
        (
            "Fail",
            "TailWorse",
            "TTFT at the router: 30 of 60 canary requests (50 %) took longer than 0.25 s, of the stable's 0.0 %;"
            " at least 35 % with 99 % confidence, allowed 2.0 %",
        ),
        id="what the router measures counts too",
    ),
]


@pytest.mark.parametrize(("given", "objectives", "expected"), CASES)
def test_verdict(given: types.Evidence | types.Unavailable, objectives: dict[str, str], expected: tuple[str, str, str]) -> None:
    verdict = judge(given, lane(**objectives), ANALYSIS)
    assert (verdict.outcome.value, verdict.reason, verdict.message) == expected


def test_a_fail_records_both_sides_and_the_rule() -> None:
    verdict = judge(evidence(STABLE, side("new-1", 61, 2, ttft=histogram(61, over_half=23))), lane(), ANALYSIS)
    assert verdict.record is not None
    assert verdict.record.dump() == {
        "since": "2026-01-01T12:00:00Z",
        "until": "2026-01-01T12:05:00Z",
        "stable": {"revision": "old-1", "requests": 540, "errors": 1, "replicas": 1, "ttftP50Ms": 176, "ttftP99Ms": 250},
        "canary": {"revision": "new-1", "requests": 61, "errors": 2, "replicas": 1, "ttftP50Ms": 220, "ttftP99Ms": 987},
        "metric": "ttft",
        "edge": "0.25 s",
        "canaryShare": "0.3770",
        "stableShare": "0.0093",
        "canaryBound": "0.2484",
        "stableBound": "0.0248",
        "rule": "99 % lower bound of the canary's share above the stable's upper bound + 0.01",
    }


@pytest.mark.parametrize(
    ("canary", "outcome"),
    [
        pytest.param(side("new-1", 61, ttft=histogram(61, over_half=23)), status.Outcome.INSUFFICIENT, id="a slow canary is not blamed in its warm-up"),
        pytest.param(side("new-1", 61, 30), status.Outcome.FAIL, id="a failing canary is blamed from its first requests"),
    ],
)
def test_the_warm_up_looks_at_errors_alone(canary: types.TrackSamples, outcome: status.Outcome) -> None:
    assert judge(evidence(STABLE, canary), lane(ttft_p99="200ms"), ANALYSIS, latencies=False).outcome is outcome


def test_a_wider_tolerance_lets_more_pass() -> None:
    given = evidence(STABLE, side("new-1", 61, 9))
    assert judge(given, lane(), specs.Analysis(tolerance="0.1")).outcome is status.Outcome.INSUFFICIENT


def test_no_evidence_ever_passes() -> None:
    outcomes = {judge(evidence(side("old-1", n, 0), side("new-1", n, 0)), lane(), ANALYSIS).outcome for n in (0, 20, 1_000, 1_000_000)}
    assert outcomes == {status.Outcome.INSUFFICIENT}
