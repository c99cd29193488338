"""Conditions, summary and what a refused spec leaves alone."""

import dataclasses
import datetime

import pytest
from tests.unit.plan import cluster, world

from fairlane.api import status as statuses
from fairlane.core import conditions, observed, plan
from fairlane.core.rollout import summary

NOW = cluster.START
PHASE = statuses.Phase


def _lane(serves: bool = True, rejected: bool = False, **status: object) -> conditions.LaneFacts:
    return conditions.LaneFacts(statuses.LaneStatus(name="chat", stable="aaaaaaaa-1", ready_replicas=2, **status), serves, rejected, "bbbbbbbb")


def _facts(lane: conditions.LaneFacts | None = None, ready: int = 2, rejected: str = "", refused: str = "", moving: tuple[str, ...] = ()) -> conditions.Facts:
    router = conditions.RouterFacts(ready=ready, wanted=2, rejected=rejected)
    return conditions.Facts(generation=3, now=NOW, lanes=[lane or _lane()], router=router, refused=refused, moving=moving)


@pytest.mark.parametrize(
    ("facts", "ready", "reconciling", "stalled"),
    [
        (_facts(), "True Ready", "False Settled", "False Settled"),
        (_facts(moving=("chat: Loading",)), "True Ready", "True Progressing", "False Settled"),
        (_facts(_lane(serves=False)), "False LanesNotReady", "False Settled", "False Settled"),
        (_facts(ready=0), "False RouterNotReady", "False Settled", "False Settled"),
        (_facts(rejected="router-0: no"), "False RoutesRejected", "False Settled", "False Settled"),
        (_facts(_lane(rejected=True)), "True DiffersFromSpec", "False Settled", "True RolloutRejected"),
        (_facts(refused="spec.lanes: no", moving=("x",)), "True DiffersFromSpec", "False Settled", "True SpecInvalid"),
    ],
    ids=[
        "all serves", "a rollout runs beside what serves", "a lane does not serve", "no router is ready", "Envoy refused the routes",
        "a revision was rolled back",
        "the spec is refused",
    ],
)
def test_ready_reconciling_stalled(facts: conditions.Facts, ready: str, reconciling: str, stalled: str) -> None:
    found = {item.type: f"{item.status} {item.reason}" for item in conditions.build([], facts)}
    assert (found["Ready"], found["Reconciling"], found["Stalled"]) == (ready, reconciling, stalled)


def test_a_transition_time_changes_only_when_the_status_flips() -> None:
    before = conditions.build([], _facts())
    later = conditions.Facts(generation=4, now=NOW + datetime.timedelta(hours=1), lanes=[_lane()], router=conditions.RouterFacts(0, 2))
    after = {item.type: item for item in conditions.build(before, later)}
    assert after["Stalled"].last_transition_time == "2026-11-29T12:00:00Z"
    assert after["Ready"].last_transition_time == "2026-11-29T13:00:00Z"
    assert {item.observed_generation for item in after.values()} == {4}


def test_ready_says_which_revision_serves_and_that_it_differs() -> None:
    ready = conditions.build([], _facts(_lane(rejected=True)))[0]
    assert ready.message == "chat serves aaaaaaaa-1; but chat asks for bbbbbbbb, which was rolled back"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, ""),
        ({"phase": PHASE.ANALYZING, "weight": 10}, "chat 10% canary (4m)"),
        ({"phase": PHASE.LOADING}, "chat loading (4m)"),
        ({"phase": PHASE.LOADING, "weight": 10}, "chat loading 10% (4m)"),
        ({"phase": PHASE.WAITING}, "chat waiting"),
        ({"phase": PHASE.PROMOTING, "weight": 50}, "chat promoting 50% (4m)"),
    ],
    ids=["idle", "analyzing", "loading", "loading more for a step", "waiting", "promoting"],
)
def test_the_column_shows_the_rollout(status: dict[str, object], expected: str) -> None:
    lane = statuses.LaneStatus(name="chat", started_at="2026-11-29T11:55:10Z", **status)
    assert expected == summary.line([lane], NOW)


def test_a_flag_that_the_version_does_not_know_stalls_and_changes_nothing() -> None:
    made = world.World(world.spec({"name": "chat"}))
    made.run(60)
    before = dict(made.cluster.things)
    made.change(world.spec({"name": "chat", "flags": {"no-such-flag": 1}}))
    made.run(20)
    assert made.cluster.things == before
    assert made.condition("Stalled").status == "True"
    assert "no-such-flag" in made.condition("Stalled").message
    made.change(world.spec({"name": "chat"}))
    made.run(4)
    assert made.condition("Stalled").status == "False"


def test_a_refused_spec_of_a_new_service_makes_nothing() -> None:
    seen = observed.Observed(name="a", namespace="b", uid="c", generation=1, now=NOW, spec=None, spec_error="spec.engine: is required")
    made = plan.plan(seen)
    assert (made.apply, made.delete, made.status.lanes_ready) == ((), (), "0/0")
    assert [event.reason for event in made.events] == ["SpecRefused"]


def test_a_command_for_a_lane_that_is_not_there_says_so() -> None:
    made = world.World(world.spec({"name": "chat"}))
    made.run(20)
    made.say("pause", "chatt")
    made.run(10)
    assert [event.message for event in made.events if event.reason == "CommandIgnored"] == ["chatt: pause did nothing: the lanes are chat"]


def test_a_lost_status_is_recovered_from_the_routes() -> None:
    made = world.World(world.spec({"name": "chat"}))
    made.run(60)
    stable = made.lane("chat").stable
    made.change(world.spec({"name": "chat", "scheduler": {"maxNumSeqs": 24}}))
    made.until("chat", PHASE.ANALYZING)
    made.status = statuses.LLMServiceStatus()
    made.run(2)
    assert (made.lane("chat").stable, made.lane("chat").weight) == (stable, 0)
    made.settle()
    assert made.lane("chat").stable == f"{made.hash('chat')}-1"


def test_the_heartbeat_is_renewed_while_a_canary_has_weight() -> None:
    made = world.World(world.spec({"name": "chat"}))
    made.run(60)
    assert plan.plan(made.observe(), world.judge).renew_heartbeat is False
    made.change(world.spec({"name": "chat", "scheduler": {"maxNumSeqs": 24}}))
    made.until("chat", PHASE.ANALYZING)
    assert plan.plan(made.observe(), world.judge).renew_heartbeat is True


def test_what_belongs_to_nobody_is_deleted_and_what_others_made_is_not() -> None:
    made = world.World(world.spec({"name": "chat"}))
    made.run(60)
    seen = made.observe()
    orphan = observed.Child("v1", "Service", "assistant-gone")
    others = (observed.Child("apps/v1", "ReplicaSet", "x"), observed.Child("coordination.k8s.io/v1", "Lease", "y"), observed.Child("v1", "Pod", "z"))
    found = plan.plan(dataclasses.replace(seen, children=(*seen.children, orphan, *others)), world.judge).delete
    assert [item.name for item in found] == ["assistant-gone"]
