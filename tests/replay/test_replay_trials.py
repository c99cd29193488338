"""The unchanged revision on trial, and a fresh baseline, through the whole decision path."""

import pytest
from tests.replay import meter, store, world

from fairlane.api import status as statuses
from fairlane.core import observed

PHASE, RESULT = statuses.Phase, statuses.Result
STEPS = [{"weight": 20, "duration": "60s"}]


async def test_the_unchanged_revision_is_tried_and_nothing_is_rejected() -> None:
    async with store.at_hand() as metrics:
        made = await world.serving(metrics)
        stable = made.lane.stable
        made.command = observed.Command("trial", world.LANE, stable, "trial-1")
        record = await made.ended()
        assert (record.result, record.stable, made.lane.stable, made.lane.rejected) == (RESULT.TRIED, stable, stable, [])
        assert record.canary.partition("-")[0] == stable.partition("-")[0]
        assert statuses.Outcome.FAIL not in [decision.verdict for decision in record.decisions]


async def test_an_unchanged_revision_on_a_bad_node_is_told_as_a_false_alarm_and_not_rejected() -> None:
    async with store.at_hand() as metrics:
        made = await world.serving(metrics)
        stable = made.lane.stable
        made.command = observed.Command("trial", world.LANE, stable, "trial-1")
        await made.until(PHASE.WARMING)
        made.meter.behaviours = {made.lane.canary: meter.Behaviour(slow=0.4)}
        record = await made.ended()
        assert (record.result, record.reason, made.lane.stable, made.lane.rejected) == (RESULT.TRIED, "FalseAlarm", stable, [])


@pytest.mark.parametrize(
    ("behaviour", "result"),
    [
        pytest.param(meter.Behaviour(), RESULT.PROMOTED, id="as cold as the canary: promoted"),
        pytest.param(meter.Behaviour(slow=0.5), RESULT.ROLLED_BACK, id="better than the canary: rolled back"),
    ],
)
async def test_a_canary_is_compared_with_a_fresh_baseline(behaviour: meter.Behaviour, result: statuses.Result) -> None:
    """The stable itself is much better than both: warm."""
    async with store.at_hand() as metrics:
        made = await world.serving(metrics)
        stable = made.lane.stable
        made.harm(behaviour, steps=STEPS, baseline="Fresh")
        await made.until(PHASE.WARMING)
        baseline = made.lane.baseline
        made.meter.behaviours = {**made.meter.behaviours, stable: meter.Behaviour(slow=0.0)}
        record = await made.ended()
        evidence = record.decisions[-1].evidence
        assert evidence is not None
        assert (record.result, evidence.stable.revision) == (result, baseline)
        assert evidence.stable.requests == pytest.approx(evidence.canary.requests, rel=0.4)
        await made.run(20)
        assert {pod.revision for pod in made.cluster.pods} == {made.lane.stable}
