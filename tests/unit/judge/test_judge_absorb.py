"""One tick into the memory."""

import dataclasses
import math

import pytest
from tests.unit.judge import streams

from fairlane.api import spec as specs
from fairlane.core.judge import absorb, judge, memory, types, weigh


def slow(total: float, over: float) -> types.Histogram:
    """So many observations, some of them over a tenth of a second."""
    return types.Histogram((0.05, 0.1, math.inf), (0.0, total - over, total))


def side(revision: str, **metrics: types.Histogram) -> types.TrackSamples:
    return types.TrackSamples(revision, 10.0, pods=(types.PodSamples(f"{revision}-a", metrics),), replicas=1)


def absorbed(stable: types.TrackSamples, canary: types.TrackSamples, trial: types.Trial | None = None) -> memory.Memory:
    reference = {metric: slow(100.0, 5.0) for metric in ("ttft", "itl", "tpot")}
    begun = absorb.begun(streams.evidence(0, side("old-1"), side("new-1"), reference=reference))
    return absorb.absorbed(begun, streams.evidence(1, stable, canary), trial or streams.trial())


def test_the_gaps_between_tokens_count_as_the_requests_that_had_them() -> None:
    gaps = side("old-1", ttft=slow(10.0, 0.0), itl=slow(1_000.0, 300.0))
    kept = absorbed(gaps, dataclasses.replace(gaps, revision="new-1"))
    assert (kept.totals("itl"), kept.over("itl", 0.1)) == ((10.0, 10.0), (3.0, 3.0))


def test_where_both_count_their_steps_gaps_count_as_the_steps_that_they_lay_in() -> None:
    # eight requests run: a step that pauses makes eight gaps
    gaps = dataclasses.replace(side("old-1", ttft=slow(10.0, 0.0), itl=slow(800.0, 24.0)), context=types.Context(steps=100.0))
    kept = absorbed(gaps, dataclasses.replace(gaps, revision="new-1"))
    assert (kept.totals("itl"), kept.over("itl", 0.1)) == ((100.0, 100.0), (3.0, 3.0))
    allowed = absorb.allowed_of(kept, "itl", specs.Analysis())
    assert (allowed.tau, allowed.delta, allowed.delta_pass) == pytest.approx((1.25, 0.0001, 0.0005)), "one request of a thousand may have one pause more"


@pytest.mark.parametrize(
    ("steps", "judged"),
    [pytest.param((100.0, 100.0), ["itl", "tpot"], id="both count them"), pytest.param((100.0, 0.0), ["tpot"], id="the canary's version does not")],
)
def test_pauses_are_judged_where(steps: tuple[float, float], judged: list[str]) -> None:
    stable, canary = (
        dataclasses.replace(side(revision, itl=slow(800.0, 0.0), tpot=slow(10.0, 0.0)), context=types.Context(steps=own))
        for revision, own in zip(("old-1", "new-1"), steps, strict=True)
    )
    assert weigh.latencies(absorbed(stable, canary)) == judged


@pytest.mark.parametrize(
    ("canary", "judged"),
    [
        pytest.param(("ttft", "itl", "tpot"), ["ttft", "tpot"], id="by request where both have it"),
        pytest.param(("ttft", "itl"), ["ttft", "itl"], id="by gap where the canary's version has no other"),
        pytest.param(("itl",), ["itl"], id="what one side lacks is not compared"),
    ],
)
def test_token_pace(canary: tuple[str, ...], judged: list[str]) -> None:
    stable = side("old-1", **{metric: slow(10.0, 0.0) for metric in ("ttft", "itl", "tpot")})
    kept = absorbed(stable, side("new-1", **{metric: slow(10.0, 0.0) for metric in canary}))
    assert weigh.latencies(kept) == judged


def test_the_warm_up_counts_requests_and_no_latencies() -> None:
    busy = side("old-1", ttft=slow(10.0, 5.0))
    kept = absorbed(busy, dataclasses.replace(busy, revision="new-1"), streams.trial(latencies=False))
    assert (kept.canary.requests, kept.totals("ttft")) == (10.0, (0.0, 0.0))


def test_an_objective_between_edges_fails_on_the_upper_and_passes_on_the_lower() -> None:
    busy = side("old-1", ttft=slow(10.0, 5.0))
    kept = absorbed(busy, dataclasses.replace(busy, revision="new-1"), streams.trial(objectives=specs.Objectives(ttft_p99="70ms")))
    limit = kept.limits["ttft"]
    assert (limit.bound, limit.low, limit.high, limit.total) == (0.07, 0.05, 0.1, 10.0)


def test_a_burst_of_the_canary_counts_up_to_its_cap() -> None:
    kept = absorbed(side("old-1", ttft=slow(90.0, 0.0)), side("new-1", ttft=slow(10.0, 10.0)))
    (tail,) = [tail for tail in kept.tails["ttft"] if tail.edge == 0.1]
    here = (0 + 50 * 0.5 / 91) / (90 + 50)
    assert tail.capped == pytest.approx(1 + 2 * 10 * (1.25 * here + 0.001), abs=1e-3)


def test_a_fail_stands_when_prometheus_falls_silent() -> None:
    said = list(streams.verdicts(streams.evidences(streams.Stream(2, slow=10), 10), streams.trial()))[-1]
    silent = judge(types.Unavailable("PrometheusUnreachable", "no answer"), streams.trial(state=said.state))
    assert (silent.outcome, silent.reason, silent.message) == ("Fail", said.reason, said.message)
