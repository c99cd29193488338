"""Changes of the spec: what they start, supersede, add, remove and leave alone."""

import dataclasses

from tests.unit.plan import cluster, world

from fairlane.api import status as statuses
from fairlane.core import plan

PHASE = statuses.Phase


def test_a_change_supersedes_the_trial_and_rejects_nothing() -> None:
    made = world.serving()
    old, first = made.lane("chat").stable, world.changed(made)
    made.until("chat", PHASE.ANALYZING)
    made.change(world.spec({"name": "chat", "scheduler": {"maxNumSeqs": 12}}))
    made.run(10)
    made.until("chat", PHASE.ANALYZING)
    assert (made.lane("chat").stable, made.lane("chat").canary) == (old, f"{made.hash('chat')}-1")
    assert made.lane("chat").rejected == []
    assert (made.status.history[0].canary, made.status.history[0].reason) == (f"{first}-1", "Superseded")


def test_going_back_to_the_stable_is_an_ordinary_end() -> None:
    made = world.serving()
    old = made.lane("chat").stable
    world.changed(made)
    made.until("chat", PHASE.ANALYZING)
    made.change(world.spec({"name": "chat"}))
    made.settle()
    assert (made.lane("chat").stable, made.lane("chat").rejected, made.status.history[0].reason) == (old, [], "Reverted")
    assert {pod.revision for pod in made.cluster.pods} == {old}


def test_going_back_after_the_promotion_is_a_rollout_with_a_revision_of_its_own() -> None:
    made = world.serving()
    old = made.lane("chat").stable
    world.changed(made)
    made.settle()
    made.change(world.spec({"name": "chat"}))
    made.until("chat", PHASE.ANALYZING)
    assert made.lane("chat").canary == f"{old.partition('-')[0]}-2"
    made.settle()
    assert made.lane("chat").stable == f"{old.partition('-')[0]}-2"


def test_a_rejected_hash_is_tried_again_only_by_retry() -> None:
    made = world.serving()
    wanted = world.changed(made, cluster.Quality(slow=True))
    made.settle()
    made.change(world.spec({"name": "chat", "replicas": 3, "scheduler": {"maxNumSeqs": 24}}))
    made.run(100)
    assert (made.lane("chat").phase, made.lane("chat").ready_replicas) == (PHASE.IDLE, 3)
    made.cluster.qualities[wanted] = cluster.Quality()
    made.say("retry", "chat", f"{wanted}-1")
    made.settle()
    assert made.lane("chat").stable == f"{wanted}-2"


def test_a_refused_spec_touches_nothing_that_runs() -> None:
    made = world.serving()
    before = dict(made.cluster.things)
    made.change(None)
    made.run(60)
    assert made.cluster.things == before
    assert (made.condition("Stalled").status, made.condition("Stalled").message) == ("True", "spec.lanes: is required")
    assert made.condition("Ready").status == "True"
    assert [event.reason for event in made.events].count("SpecRefused") == 1


def test_a_failing_canary_is_taken_back_under_a_refused_spec() -> None:
    made = world.serving()
    old = made.lane("chat").stable
    world.changed(made, cluster.Quality(slow=True))
    made.until("chat", PHASE.WARMING)
    made.run(4)
    made.until("chat", PHASE.ANALYZING)
    made.change(None)
    made.until("chat", PHASE.IDLE)
    made.run(10)
    assert made.lane("chat").result is statuses.Result.ROLLED_BACK
    assert {pod.revision for pod in made.cluster.pods} == {old}


def test_an_added_lane_is_routed_when_it_is_ready_and_a_removed_one_drains_first() -> None:
    made = world.serving()
    made.change(world.spec({"name": "chat"}, {"name": "batch", "profile": "Throughput", "replicas": 1}))
    made.run(10)
    routes = made.cluster.routes()
    assert routes is not None
    assert [lane.name for lane in routes.lanes] == ["chat"]
    made.run(60)
    assert made.status.lanes_ready == "2/2"
    made.change(world.spec({"name": "chat"}))
    made.run(60)
    assert {pod.lane for pod in made.cluster.pods} == {"chat"}
    assert not [name for _, name in made.cluster.things if "batch" in name]


def test_a_first_revision_that_never_served_is_replaced_directly() -> None:
    made = world.World(world.spec({"name": "chat"}))
    made.cluster.qualities[made.hash("chat")] = cluster.Quality(crash_after=3)
    made.run(30)
    world.changed(made)
    made.run(60)
    assert made.lane("chat").ready_replicas == 2
    assert made.status.history == []


def test_a_later_lane_does_not_start_while_an_earlier_one_waits_for_a_gpu() -> None:
    lanes = ({"name": "chat"}, {"name": "batch", "profile": "Throughput"})
    made = world.World(world.spec(*lanes))
    made.cluster.gpus = 4
    made.run(60)
    made.change(world.spec(*({**lane, "scheduler": {"maxNumSeqs": 24}} for lane in lanes)))
    made.run(60)
    assert (made.lane("chat").reason, made.lane("batch").reason) == ("Unschedulable", "WaitingForEarlierLane")


def test_what_is_settled_changes_nothing() -> None:
    made = world.serving()
    world.changed(made)
    made.settle()
    seen = made.observe()
    later = dataclasses.replace(seen, now=seen.now + (seen.now - cluster.START))
    again = plan.plan(later, world.judge)
    assert (again.delete, again.events, again.status) == ((), (), made.status)
    assert [thing for thing in again.apply if made.cluster.things[thing["kind"], thing["metadata"]["name"]] != thing] == []


def test_two_lanes_roll_at_the_same_time() -> None:
    lanes = ({"name": "chat"}, {"name": "batch", "profile": "Throughput", "replicas": 1})
    made = world.World(world.spec(*lanes))
    made.run(60)
    made.change(world.spec(*({**lane, "scheduler": {"maxNumSeqs": 24}} for lane in lanes)))
    made.cluster.qualities[made.hash("batch")] = cluster.Quality(slow=True)
    made.until("chat", PHASE.ANALYZING)
    made.until("batch", PHASE.ANALYZING, PHASE.ROLLING_BACK, seconds=20)
    made.settle()
    assert (made.lane("chat").result, made.lane("batch").result) == (statuses.Result.PROMOTED, statuses.Result.ROLLED_BACK)


def test_a_wider_lane_takes_longer_prompts_only_when_it_is_promoted() -> None:
    made = world.World(world.spec({"name": "chat", "scheduler": {"maxModelLen": 4096}, "match": {"maxPromptTokens": 2048}}))
    made.run(60)
    made.change(world.spec({"name": "chat", "scheduler": {"maxModelLen": 16384}, "match": {"maxPromptTokens": 8192}}))
    made.until("chat", PHASE.ANALYZING)
    assert made.bound("chat") == 4095
    made.settle()
    assert made.bound("chat") == 8192
