"""The load of a canary beside a fresh baseline, and what both cost."""

from typing import Any

import pytest
from tests.unit.rollout import views

from fairlane.core import revisions
from fairlane.core.rollout import baseline

STORED = (revisions.Revision(lane="chat", hash="aaaaaaaa", ordinal=1, inputs={}, template={}),)


@pytest.mark.parametrize(
    ("status", "weight", "expected"),
    [({}, 10, 1.0), ({"baseline": "aaaaaaaa-2"}, 10, 0.25), ({"baseline": "aaaaaaaa-2"}, 25, 1.0), ({"baseline": "aaaaaaaa-2"}, 40, 4.0)],
    ids=["of the evidence without a baseline", "a tenth beside two stable replicas", "as much as each of them", "more than each of them"],
)
def test_the_lanes_load_is_that_of_the_stable_pods_which_are_not_in_the_evidence(status: dict[str, Any], weight: int, expected: float) -> None:
    seen = views.lane(status, weight=weight)
    assert baseline.load_ratio(seen, views.record(200, 100)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("weight", "replicas", "expected"),
    [(10, 2, "1 pod each of the canary and of a fresh baseline, 4 GPUs in all"), (40, 5, "2 pods each of the canary and of a fresh baseline, 8 GPUs in all")],
    ids=["one pod each", "two pods each"],
)
def test_the_gpus_of_both_are_said(weight: int, replicas: int, expected: str) -> None:
    seen = views.lane(replicas=replicas, rollout={"steps": [{"weight": weight, "duration": "10m"}]})
    assert baseline.cost(seen, gpus=2).startswith(expected)


@pytest.mark.parametrize(
    ("wanted", "weight", "stored", "expected"),
    [
        ("Fresh", 10, STORED, "aaaaaaaa-2"), ("Fresh", 49, STORED, "aaaaaaaa-2"), ("Fresh", 50, STORED, ""), ("Stable", 10, STORED, ""), ("Fresh", 10, (), ""),
    ],
    ids=["asked for", "just below half", "no room for a third", "not asked for", "a stable that nobody can make again"],
)
def test_when_a_baseline_starts(wanted: str, weight: int, stored: tuple[revisions.Revision, ...], expected: str) -> None:
    seen = views.lane(rollout={"baseline": wanted, "steps": [{"weight": weight, "duration": "10m"}]}, revisions=stored)
    assert expected == baseline.wanted(seen, views.CANARY)
