"""A Prometheus that is stopped, slow, wrong or forgetful during a trial: nothing is decided, the condition says why, the trial ends as it would have."""

import pytest
from tests.replay import meter, store, world

from fairlane.api import status as statuses

PHASE, OUTCOME = statuses.Phase, statuses.Outcome
FAULT = store.Fault
GOOD, SLOW, FAILING = meter.Behaviour(), meter.Behaviour(slow=0.3), meter.Behaviour(errors=0.3)
INTO, LASTING = 15, 20     # seconds: the fault begins so far into the step and lasts so long

FAULTS = [
    pytest.param(FAULT.STOPPED, "PrometheusUnreachable", "All connection attempts failed", id="it is stopped"),
    pytest.param(FAULT.SLOW, "PrometheusUnreachable", "did not answer within 0.2 s", id="it answers after 30 s"),
    pytest.param(FAULT.NAN, "PrometheusError", "nan is no count", id="it answers NaN"),
    pytest.param(FAULT.EMPTY, "NoSeries", "are they scraped, with the labels namespace and pod?", id="it answers nothing"),
    pytest.param(FAULT.DUPLICATE, "DuplicateSeries", 'prometheus_replica="a" and prometheus_replica="b"', id="it has every series twice"),
    pytest.param(FAULT.HTML, "PrometheusError", "without JSON: <!doctype html>", id="a log-in page stands before it"),
    pytest.param(FAULT.AHEAD, "ClockSkew", "60 s ahead of the operator's", id="its clock is a minute ahead"),
    pytest.param(FAULT.BEHIND, "ClockSkew", "60 s behind the operator's", id="its clock is a minute behind"),
]


async def trial(metrics: store.Store, behaviour: meter.Behaviour) -> world.World:
    """A canary that has been judged for a few ticks."""
    made = await world.serving(metrics)
    made.harm(behaviour)
    await made.until(PHASE.ANALYZING)
    await made.run(INTO)
    return made


async def without_decision(made: world.World, fault: store.Fault) -> None:
    """Let the fault last: after every pass the trial stands where it stood."""
    before = made.lane
    made.deadline = 0.2 if fault is FAULT.SLOW else made.deadline
    await made.store.set(fault)
    for _ in range(LASTING // world.INTERVAL):
        await made.run(world.INTERVAL)
        lane = made.lane
        assert (lane.phase, lane.step, lane.weight, lane.canary, lane.decisions) == (PHASE.ANALYZING, before.step, before.weight, before.canary, [])
        assert (lane.verdict, lane.held_since is not None, lane.reason) == (OUTCOME.UNAVAILABLE, True, "MetricsUnavailable")
        assert (lane.evidence, lane.judge_state) == (before.evidence, before.judge_state)
    assert made.read().history == []


@pytest.mark.parametrize(("fault", "reason", "words"), FAULTS)
async def test_a_good_canary_is_promoted_when_the_numbers_are_back(fault: store.Fault, reason: str, words: str) -> None:
    async with store.running() as metrics:
        made = await trial(metrics, GOOD)
        began = made.cluster.now
        await without_decision(made, fault)
        condition = made.condition("MetricsAvailable")
        assert (condition.status, condition.reason, words in condition.message) == ("False", reason, True), condition.message
        await made.store.set(FAULT.NONE)
        await made.until(PHASE.PROMOTING)
        assert made.lane.decisions[0].reason == "NoEvidenceOfHarm"
        assert (made.cluster.now - began).total_seconds() >= LASTING + 60 - INTO, "the fault's time was counted as the step's"
        assert made.condition("MetricsAvailable").status == "True"


@pytest.mark.parametrize(
    ("behaviour", "fault", "reason"),
    [
        pytest.param(SLOW, FAULT.NAN, "TailWorse", id="slow, and NaN for numbers"),
        pytest.param(SLOW, FAULT.BEHIND, "TailWorse", id="slow, and a clock behind"),
        pytest.param(FAILING, FAULT.EMPTY, "ErrorsWorse", id="failing, and no series"),
        pytest.param(FAILING, FAULT.STOPPED, "ErrorsWorse", id="failing, and no Prometheus"),
    ],
)
async def test_a_bad_canary_is_rolled_back_when_the_numbers_are_back_and_not_before(behaviour: meter.Behaviour, fault: store.Fault, reason: str) -> None:
    async with store.running() as metrics:
        made = await trial(metrics, behaviour)
        await without_decision(made, fault)
        await made.store.set(FAULT.NONE)
        record = await made.ended()
        assert (record.result, record.reason) == (statuses.Result.ROLLED_BACK, reason)


@pytest.mark.parametrize(
    ("behaviour", "result"), [(GOOD, statuses.Result.PROMOTED), (SLOW, statuses.Result.ROLLED_BACK)], ids=["a good canary", "a slow canary"]
)
async def test_history_lost_during_a_step_is_told_and_not_counted(behaviour: meter.Behaviour, result: statuses.Result) -> None:
    async with store.running() as metrics:
        made = await trial(metrics, behaviour)
        before = made.lane
        made.database.forget()
        await made.run(world.INTERVAL)
        lane = made.lane
        assert (lane.phase, lane.weight, lane.verdict, lane.decisions) == (PHASE.ANALYZING, before.weight, OUTCOME.UNAVAILABLE, [])
        condition = made.condition("MetricsAvailable")
        assert (condition.status, condition.reason) == ("False", "HistoryLost")
        assert lane.evidence == before.evidence
        await made.run(world.INTERVAL)
        assert (made.lane.verdict, made.lane.held_since) == (OUTCOME.INSUFFICIENT, None)
        assert made.lane.evidence is not None
        assert made.lane.evidence.canary.requests < 2 * world.INTERVAL * made.rate + (before.evidence.canary.requests if before.evidence else 0)
        assert (await made.ended()).result is result


async def test_a_store_that_was_never_there_holds_the_trial_for_ever() -> None:
    async with store.running() as metrics:
        made = await world.serving(metrics)
        await metrics.set(FAULT.STOPPED)
        made.harm(SLOW)
        await made.until(PHASE.WARMING)
        await made.run(600, every=10)
        assert (made.lane.weight, made.lane.decisions, made.read().history) == (50, [], [])
        assert made.condition("MetricsAvailable").reason == "PrometheusUnreachable"
