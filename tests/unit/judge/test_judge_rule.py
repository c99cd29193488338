"""Evidence in, verdict out."""

import dataclasses
import datetime
from collections.abc import Callable, Iterator

import pytest
from tests.unit.judge import streams

from fairlane.api import rollouts, status
from fairlane.api import spec as specs
from fairlane.core.judge import judge, memory, types

Change = Callable[[types.Evidence], types.Evidence]


def run(stream: streams.Stream, ticks: int, change: Change | None = None, **more: object) -> list[types.Verdict]:
    """The verdicts up to a Fail or a Pass; `change` alters every tick but the first."""
    said: list[types.Verdict] = []
    given = (change(item) if change and index else item for index, item in enumerate(streams.evidences(stream, ticks)))
    for verdict in streams.verdicts(given, streams.trial(**more)):
        said.append(verdict)
        if verdict.outcome in (status.Outcome.FAIL, status.Outcome.PASS):
            break
    return said


def canary(**more: object) -> Change:
    """Replace fields of the canary's samples."""
    return lambda item: dataclasses.replace(item, canary=dataclasses.replace(item.canary, **more))  # type: ignore[arg-type]


def contexts(stable: types.Context, new: types.Context) -> Change:
    return lambda item: dataclasses.replace(
        item, stable=dataclasses.replace(item.stable, context=stable), canary=dataclasses.replace(item.canary, context=new)
    )


def one_error(item: types.Evidence) -> types.Evidence:
    """A single 5xx of the canary, in the third tick; the stable has none."""
    third = item.until == streams.START + datetime.timedelta(seconds=30)
    failed = dataclasses.replace(item.canary, errors=float(third), requests=float(third) + item.canary.requests)
    return dataclasses.replace(item, stable=dataclasses.replace(item.stable, errors=0.0), canary=failed)


NOTHING = {"requests": 0.0, "errors": 0.0, "pods": ()}
BOTH = streams.Stream(3, slow=6, stable_slow=6, errors=0.1, stable_errors=0.1)
OBJECTIVES = specs.Objectives(ttft_p99="2s", error_rate="0.02")
LOOSE = specs.Analysis(tolerance=[rollouts.Tolerance(metric=rollouts.Metric.ERRORS, factor="100", share="0.5")])


@pytest.mark.parametrize(
    ("said", "outcome", "reason"),
    [
        pytest.param(run(streams.Stream(1, rate=2, errors=0.5), 30), "Fail", "ErrorsWorse", id="half of the requests fail"),
        pytest.param(run(streams.Stream(1, rate=0.2), 30, one_error), "Insufficient", "TooFewRequests", id="one 5xx on a quiet lane"),
        pytest.param(run(streams.Stream(1, slow=10), 30), "Fail", "TailWorse", id="ten times as many slow requests"),
        pytest.param(run(streams.Stream(1, slow=10), 8, latencies=False), "Insufficient", "NoHarmSeen", id="slow requests of the warm-up"),
        pytest.param(run(streams.Stream(1, errors=0.5), 8, latencies=False), "Fail", "ErrorsWorse", id="failed requests of the warm-up"),
        pytest.param(run(streams.Stream(1, errors=0.05), 30, analysis=LOOSE), "Insufficient", "NoHarmSeen", id="errors within the tolerance"),
        pytest.param(run(streams.Stream(1, errors=0.0, stable_errors=0.0), 25), "Insufficient", "NoHarmSeen", id="no errors anywhere"),
        pytest.param(run(streams.Stream(1, errors=0.2), 40, objectives=specs.Objectives(error_rate="0.02"), analysis=LOOSE), "Fail", "ObjectiveMissed",
                     id="an objective is missed by the canary alone"),
        pytest.param(run(BOTH, 60, objectives=OBJECTIVES), "Insufficient", "BothBad", id="both miss the objectives"),
        pytest.param(run(streams.Stream(1), 12, canary(**NOTHING)), "Fail", "Hangs", id="requests at work and none completed"),
        pytest.param(run(streams.Stream(1), 12, canary(**NOTHING, context=types.Context())), "Unavailable", "NoTraffic", id="none at work and none completed"),
        pytest.param(run(streams.Stream(1), 3, canary(**NOTHING)), "Insufficient", "TooFewRequests", id="a hang takes thirty seconds to tell"),
        pytest.param(run(streams.Stream(1), 8, lambda item: dataclasses.replace(item, latencies=(True, False))), "Unavailable", "NoSeries",
                     id="the canary's engines are not scraped"),
        pytest.param(run(streams.Stream(1, errors=0.5), 20, lambda item: dataclasses.replace(item, latencies=(False, False))), "Fail", "ErrorsWorse",
                     id="errors need no latencies"),
        pytest.param(run(streams.Stream(1), 200), "Pass", "Passed", id="a healthy canary at twenty requests a second"),
    ],
)
def test_verdict(said: list[types.Verdict], outcome: str, reason: str) -> None:
    assert (said[-1].outcome, said[-1].reason) == (outcome, reason)


def test_a_pass_waits_for_half_of_the_step() -> None:
    busy = streams.Stream(1, rate=60, errors=0.0, stable_errors=0.0)
    short, long = (len(run(busy, 100, duration=duration)) - 1 for duration in (60.0, 1800.0))
    assert (short < 90, long) == (True, 90)


def test_no_pass_without_the_stable_s_load() -> None:
    last = run(streams.Stream(1, rate=60, errors=0.0, stable_errors=0.0), 60, canary(replicas=9), duration=60.0)[-1]
    assert (last.outcome, last.reason) == ("Insufficient", "NoHarmSeen")
    assert last.message.endswith("; no Pass while the canary's requests per replica are 0.11 of the stable's (from 0.5 to 2 they compare)")


def test_a_fail_says_which_metric_by_how_much_on_how_many_and_how_sure() -> None:
    last = run(streams.Stream(2, slow=10), 30, steps=2)[-1]
    assert last.message == (
        "TTFT: 98 of 111 canary requests (88 %) took longer than 0.5 s, of the stable's 78 of 894 (8.7 %); e-value 209, needs 200: "
        "were the canary no worse than allowed (1.25 x + 0.1 %), such evidence would come at most once in 210 rollouts"
    )
    assert last.record is not None
    told = last.record.dump()
    assert {name: told[name] for name in ("metric", "edge", "canaryOver", "canaryTotal", "stableOver", "stableTotal", "threshold", "passThreshold")} == {
        "metric": "ttft", "edge": "0.5 s", "canaryOver": 98, "canaryTotal": 111, "stableOver": 78, "stableTotal": 894,
        "threshold": "200", "passThreshold": "20",
    }


def test_the_budget_is_shared_by_the_steps() -> None:
    thresholds = [run(streams.Stream(1), 1, steps=steps)[-1].record for steps in (1, 3)]
    assert [record.threshold for record in thresholds if record] == ["100", "300"]


def test_a_cold_cache_gets_time_and_no_more() -> None:
    cold = contexts(types.Context(running=1.0, prefix_queries=100.0, prefix_hits=60.0), types.Context(running=1.0, prefix_queries=100.0, prefix_hits=10.0))
    said = run(streams.Stream(1, slow=10), 60, cold)
    assert (said[10].reason, said[10].message) == (
        "CacheCold",
        "the canary found 10 % of its prompt tokens in the prefix cache, the stable 60 %: latencies count once it is warm, at the latest 5m into the step; "
        "errors and hangs count now",
    )
    assert (said[-1].reason, len(said) - 1 > 30) == ("TailWorse", True)


def test_a_cold_canary_that_fails_is_not_spared() -> None:
    cold = contexts(types.Context(running=1.0, prefix_queries=100.0, prefix_hits=60.0), types.Context(running=1.0, prefix_queries=100.0))
    assert run(streams.Stream(1, errors=0.5), 20, cold)[-1].reason == "ErrorsWorse"


def test_a_hang_is_not_told_of_a_canary_that_comes_back() -> None:
    """Five minutes without a ready canary pod, then traffic as it should be."""
    def away(item: types.Evidence) -> types.Evidence:
        return canary(**NOTHING, context=types.Context(running=0.0))(item) if item.until <= streams.START + datetime.timedelta(minutes=5) else item

    reasons = [verdict.reason for verdict in run(streams.Stream(1), 100, away)]
    assert ("Hangs" in reasons, reasons[20], reasons[-1]) == (False, "NoTraffic", "NoHarmSeen")


def test_an_idle_tick_changes_nothing() -> None:
    said = run(streams.Stream(1), 20)[-1]
    stale = dataclasses.replace(streams.baseline(), fresh=False, reference={})
    again = judge(stale, streams.trial(state=said.state, elapsed=200.0))
    assert (again.outcome, again.message, again.state) == (said.outcome, said.message, said.state)


def test_the_same_evidence_and_state_give_the_same_verdict() -> None:
    item, state = list(streams.evidences(streams.Stream(1), 20))[-1], run(streams.Stream(1), 19)[-1].state
    assert judge(item, streams.trial(state=state)) == judge(item, streams.trial(state=state))


def test_what_is_unavailable_keeps_the_evidence() -> None:
    state = run(streams.Stream(1), 20)[-1].state
    said = judge(types.Unavailable("PrometheusUnreachable", "no answer in 5 s"), streams.trial(state=state))
    assert (said.outcome, said.reason, said.message, said.state) == ("Unavailable", "PrometheusUnreachable", "no answer in 5 s", state)


def test_lost_history_goes_on_from_where_it_is_told() -> None:
    before = run(streams.Stream(1), 20)[-1].state
    later = types.Cursor(streams.START + datetime.timedelta(hours=1), ("a",))
    after = judge(types.Unavailable("HistoryLost", "gone", later), streams.trial(state=before)).state
    old, new = memory.read(before), memory.read(after)
    assert old is not None
    assert new == dataclasses.replace(old, cursor=later)


@pytest.mark.parametrize("state", ["", "not JSON"])
def test_without_a_memory_the_evidence_begins(state: str) -> None:
    said = judge(list(streams.evidences(streams.Stream(1, errors=1.0), 5))[-1], streams.trial(state=state))
    kept = memory.read(said.state)
    assert kept is not None
    assert (said.outcome, kept.canary.requests, kept.canary.errors) == ("Insufficient", 0.0, 0.0)


def test_another_canary_begins_anew() -> None:
    state = run(streams.Stream(1), 20)[-1].state
    item = canary(revision="new-2")(list(streams.evidences(streams.Stream(1), 5))[-1])
    kept = memory.read(judge(item, streams.trial(state=state)).state)
    assert kept is not None
    assert (kept.canary.revision, kept.canary.requests) == ("new-2", 0.0)


def ticks(stream: streams.Stream, number: int, edges: tuple[float, ...]) -> Iterator[types.Evidence]:
    """The canary's engine knows other TTFT buckets than the stable's."""
    for item in streams.evidences(stream, number):
        (pod,) = item.canary.pods
        known = dict(zip(pod.histograms["ttft"].edges, pod.histograms["ttft"].counts, strict=True))
        found = types.Histogram((*edges, float("inf")), (*(known[edge] for edge in edges), known[float("inf")]))
        yield canary(pods=(dataclasses.replace(pod, histograms={**pod.histograms, "ttft": found}),))(item)


def test_sides_with_other_buckets_are_compared_where_both_have_an_edge() -> None:
    said = list(streams.verdicts(ticks(streams.Stream(2, slow=10), 30, (0.75, 2.5)), streams.trial()))[-1]
    kept = memory.read(said.state)
    assert kept is not None
    assert (kept.grids["ttft"], [tail.edge for tail in kept.tails["ttft"]], said.outcome) == ((0.75, 2.5), [0.75, 2.5], "Fail")


def test_without_a_reference_the_edges_are_the_stable_s_own_and_its_first_requests_are_spent() -> None:
    given = (dataclasses.replace(item, reference={}) for item in streams.evidences(streams.Stream(1), 3))
    kept = memory.read(list(streams.verdicts(given, streams.trial()))[-1].state)
    assert kept is not None
    assert kept.tails["ttft"][0].edge in streams.EDGES["ttft"]
    assert 0 < kept.stable.total("ttft") < kept.stable.requests
