"""How many replicas each side needs."""

import pytest
from tests.unit.rollout import views

from fairlane.api import status as statuses
from fairlane.core import observed
from fairlane.core.rollout import capacity

PHASE = statuses.Phase
WORDS = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
STUCK = views.pod(name="c-2", ready=False, scheduled_at=None, unschedulable=WORDS)


@pytest.mark.parametrize(
    ("weight", "replicas", "expected"),
    [(10, 1, 1), (10, 10, 1), (10, 11, 2), (50, 3, 2), (50, 2, 1), (100, 4, 4), (1, 1000, 10)],
    ids=[
        "one replica", "exactly one of ten", "a little over one of eleven", "half of three is two", "half of two is one", "everything",
        "one percent of a thousand",
    ],
)
def test_a_weight_needs_its_share_of_the_replicas_rounded_up(weight: int, replicas: int, expected: int) -> None:
    assert expected == capacity.needed(weight, replicas)


@pytest.mark.parametrize(("ready", "replicas", "expected"), [(0, 3, 0), (1, 3, 33), (3, 3, 100), (5, 3, 100), (1, 1, 100)])
def test_ready_replicas_carry_their_share_rounded_down(ready: int, replicas: int, expected: int) -> None:
    assert expected == capacity.carried(ready, replicas)


@pytest.mark.parametrize(
    ("status", "stuck", "deployed", "expected"),
    [
        ({"phase": PHASE.ANALYZING}, False, 4, 4),
        ({"phase": PHASE.ANALYZING}, True, 4, 4),
        ({"phase": PHASE.PROMOTING}, False, 4, 4),
        ({"phase": PHASE.PROMOTING}, True, 4, 3),
        ({"phase": PHASE.PROMOTING}, True, 3, 3),
        ({"phase": PHASE.PROMOTING, "in_place": True}, True, 3, 3),
        ({"phase": PHASE.PROMOTING, "paused": True}, True, 4, 4),
        ({"phase": PHASE.WAITING, "weight": 0, "in_place": True}, True, 4, 3),
        ({"phase": PHASE.ROLLING_BACK}, True, 3, 4),
        ({"phase": PHASE.WAITING, "weight": 0, "stable_down_since": views.ago(200)}, True, 4, 0),
        ({"phase": PHASE.WAITING, "weight": 0, "stable_down_since": views.ago(60)}, True, 4, 4),
    ],
    ids=[
        "a trial takes nothing from the stable", "not even when a pod of it finds no node", "promoting with room leaves the stable whole",
        "promoting without room takes one", "and no more than the canary has taken over", "replacing in place counts on one less", "a pause takes nothing",
        "promote without a GPU takes one first", "a rollback gives all back", "a dead stable makes room", "a stable down for a moment does not",
    ],
)
def test_what_the_stable_keeps(status: dict[str, object], stuck: bool, deployed: int, expected: int) -> None:
    known = {"weight": 25} | status
    seen = views.lane(known, replicas=4, weight=25)
    pods = (*seen.pods, STUCK) if stuck else seen.pods
    deployments = (observed.EngineDeployment("chat", views.STABLE, deployed), observed.EngineDeployment("chat", views.CANARY, 2))
    seen = views.lane(known, replicas=4, weight=25, pods=pods, deployments=deployments)
    assert expected == capacity.wanted(seen, seen.status).stable


def test_the_load_of_a_canary_is_counted_per_replica() -> None:
    assert capacity.load_ratio(views.record(200, 60)) == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("weight", "replicas", "expected"),
    [
        (50, 1, 1), (50, 2, 1), (10, 2, 2), (42, 2, 2), (45, 2, 1), (10, 10, 9), (15, 10, 10), (50, 10, 5),
        (33, 3, 2), (50, 3, 2), (66, 3, 1), (75, 2, 1), (99, 100, 1),
    ],
    ids=[
        "the only one", "one of two beside half of the lane", "both beside a tenth: one would have nine tenths of the lane", "both, where one would have 116 %",
        "one, where it has 110 %", "nine of ten beside a tenth", "all, where even two canaries have less than one replica's share", "half of ten",
        "two beside a third", "two beside two canaries with half of three", "one beside two thirds", "never none", "nor of many",
    ],
)
def test_the_stable_uses_as_many_replicas_as_make_the_load_of_each_equal(weight: int, replicas: int, expected: int) -> None:
    assert expected == capacity.even(100 - weight, weight, replicas)


def test_no_replica_gets_more_than_a_tenth_above_its_ordinary_load() -> None:
    loads = [(100 - weight) / capacity.even(100 - weight, weight, full) * full for full in range(1, 40) for weight in range(1, 100)]
    assert max(loads) == pytest.approx(110)


def test_beside_a_canary_and_its_baseline_the_stable_keeps_its_ordinary_load() -> None:
    assert capacity.even(80, 10, 10) == 8
