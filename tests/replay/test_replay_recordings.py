"""Recorded trials are decided again as they were, by an operator that may die on the way: those of real vLLM that the repository keeps, and simulated ones."""

import datetime
import math
from pathlib import Path
from typing import Any

import pytest
from bench.peers import recording
from tests.replay import meter, recorded, store, world

from fairlane.api import status as statuses
from fairlane.core import clock

PHASE = statuses.Phase
ROLLED_BACK = str(statuses.Result.ROLLED_BACK)
KEPT = sorted((Path(recording.__file__).parent / "recordings").glob("*.json"))
SIMULATED = [
    pytest.param(meter.Behaviour(), id="a good canary"),
    pytest.param(meter.Behaviour(slow=0.4), id="a slow canary"),
    pytest.param(meter.Behaviour(errors=0.3), id="a failing canary"),
]
AFTER = 20     # seconds that are recorded after the decision
LOST = 3       # with the status of a pass its tick is lost, and the next one is as long as both


async def simulated(metrics: store.Store, behaviour: meter.Behaviour) -> dict[str, Any]:
    """The recording of a simulated trial."""
    made = await world.serving(metrics)
    made.harm(behaviour)
    await made.run(world.INTERVAL)
    lane = made.lane
    await made.until(PHASE.WARMING)
    ready = made.cluster.now.timestamp()
    await made.until(PHASE.ROLLING_BACK, PHASE.PROMOTING)
    decision, ended = made.lane.decisions[-1], made.cluster.now.timestamp()
    made.pass_time(AFTER)
    matrix = [{"metric": one.labels, "values": list(zip(one.times, one.values, strict=True))} for one in made.database.series.values()]
    evidence = decision.evidence
    assert evidence is not None
    assert lane.started_at is not None
    return {
        "what": str(behaviour), "namespace": world.NAMESPACE, "service": world.NAME, "lane": world.LANE, "stable": lane.stable, "canary": lane.canary,
        "replicas": 2, "rollout": made.spec.rollout.model_dump(mode="json", by_alias=True, exclude_none=True), "objectives": {},
        "started": clock.moment(lane.started_at).timestamp(), "ready": ready, "ended": ended,
        "result": ROLLED_BACK if behaviour != meter.Behaviour() else "Promoted", "reason": decision.reason, "metric": evidence.metric,
        "requests": evidence.canary.requests, **recording.thin(matrix),
    }


async def replayed(document: recorded.Document, metrics: store.Store, lost: int = 0) -> recorded.Recorded:
    """The recorded trial until it is decided, or as long as it was; every `lost`-th status is lost with the operator that should have written it."""
    made, every, passes = await recorded.begun(metrics, document), recorded.interval(document), 0
    while made.cluster.now.timestamp() < document["ended"] + AFTER and not made.lane.decisions:
        made.pass_time(every)
        passes += 1
        await made.reconcile(killed=bool(lost) and passes % lost == 0)
    return made


def check(document: recorded.Document, made: recorded.Recorded, ticks: int, lost: int = 0) -> None:
    """The decision is the recorded one, within so many ticks or a seventh of the time it took: ticks fall elsewhere here, and evidence comes by ticks.
    Where statuses were lost and the recording ends first, the evidence is most of what it needs, and nothing else was decided."""
    lane = made.lane
    if document["result"] != ROLLED_BACK:
        assert lane.phase is not PHASE.ROLLING_BACK, lane.message
        return
    if lost and not lane.decisions:
        assert lane.phase is PHASE.ANALYZING, lane.message
        assert share(lane) >= 1 - 1 / lost, lane.message   # a tick counts a bounded number of exceedances, so ticks lost are at most that share of them
        return
    late = (made.cluster.now - datetime.datetime.fromtimestamp(document["ended"], datetime.UTC)).total_seconds()
    assert (lane.phase, lane.reason) == (PHASE.ROLLING_BACK, document["reason"]), lane.message
    assert lane.evidence is not None
    most = max(ticks * recorded.interval(document), (document["ended"] - document["ready"]) / 7)
    assert abs(late) <= most, f"decided {late:.0f} s after the recorded decision"
    assert lane.evidence.canary.requests == pytest.approx(document["requests"], rel=0.25, abs=5)


def share(lane: statuses.LaneStatus) -> float:
    """How much of the evidence of a rollback there is, as a share of its logarithm."""
    assert lane.evidence is not None
    return math.log(float(lane.evidence.e_value)) / math.log(float(lane.evidence.threshold))


@pytest.mark.parametrize("behaviour", SIMULATED)
@pytest.mark.parametrize("lost", [pytest.param(0, id="whole"), pytest.param(LOST, id="every third status lost")])
async def test_a_simulated_trial_is_decided_again(behaviour: meter.Behaviour, lost: int) -> None:
    async with store.at_hand() as metrics:
        document = await simulated(metrics, behaviour)
        made = await replayed(document, metrics, lost)
        check(document, made, ticks=3)


if KEPT:  # those of real trials, as `make bench-judge-peers` keeps them

    @pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
    @pytest.mark.parametrize("lost", [pytest.param(0, id="whole"), pytest.param(LOST, id="every third status lost")])
    async def test_a_kept_trial_is_decided_again(path: Path, lost: int) -> None:
        async with store.at_hand() as metrics:
            document = recording.read(path)
            made = await replayed(document, metrics, lost)
            check(document, made, ticks=4, lost=lost)
