"""Whole rollouts in the simulated cluster."""

import dataclasses

import pytest
from tests.unit.plan import cluster, world

from fairlane.api import status as statuses
from fairlane.core import plan

PHASE = statuses.Phase


def serving(**rollout: object) -> world.World:
    """A service whose one lane serves."""
    made = world.World(world.spec({"name": "chat"}, **rollout))
    made.run(60)
    assert made.lane("chat").ready_replicas == 2
    return made


def changed(made: world.World, quality: cluster.Quality | None = None, **rollout: object) -> str:
    """Change what makes a pod different; return the hash that is wanted now."""
    made.change(world.spec({"name": "chat", "scheduler": {"maxNumSeqs": 24}}, **rollout))
    wanted = made.hash("chat")
    made.cluster.qualities[wanted] = quality or cluster.Quality()
    return wanted


def test_first_creation_needs_no_canary() -> None:
    made = serving()
    assert [event.reason for event in made.events] == ["LaneCreated", "LaneReady"]
    assert made.status.lanes_ready == "1/1"
    assert [(item.type, item.status) for item in made.status.conditions] == [
        ("Ready", "True"), ("Reconciling", "False"), ("Stalled", "False"), ("LanesReady", "True"), ("RouterReady", "True"), ("MetricsAvailable", "Unknown"),
    ]


def test_a_good_change_is_promoted_and_no_pod_restarts() -> None:
    made = serving()
    old = made.lane("chat").stable
    wanted = changed(made)
    made.until("chat", PHASE.PROMOTING)
    canaries = {pod.name for pod in made.cluster.pods if pod.revision.startswith(wanted)}
    made.settle()
    lane = made.lane("chat")
    assert (lane.stable, lane.canary, lane.result) == (f"{wanted}-1", "", statuses.Result.PROMOTED)
    assert {pod.revision for pod in made.cluster.pods} == {f"{wanted}-1"}
    assert canaries <= {pod.name for pod in made.cluster.pods}
    assert old not in {item.revision for item in made.cluster.observed_deployments()}
    assert [event.reason for event in made.events[2:]] == [
        "RolloutStarted", "CanaryReady", "StepStarted", "StepEnded", "StepStarted", "StepEnded", "Promoting", "Promoted",
    ]


def test_a_slow_canary_is_rolled_back_at_ten_percent() -> None:
    made = serving()
    old = made.lane("chat").stable
    wanted = changed(made, cluster.Quality(slow=True))
    made.until("chat", PHASE.ROLLING_BACK)
    made.settle()
    lane = made.lane("chat")
    assert (lane.stable, lane.canary, lane.rejected, lane.result) == (old, "", [wanted], statuses.Result.ROLLED_BACK)
    assert {pod.revision for pod in made.cluster.pods} == {old}
    assert made.status.history[0].decisions[-1].weight == 10
    assert made.status.history[0].canary_requests >= 20
    assert [made.condition(kind).status for kind in ("Ready", "Stalled", "Reconciling")] == ["True", "True", "False"]


@pytest.mark.parametrize(
    ("quality", "reason"),
    [
        (cluster.Quality(crash_after=5), "CanaryCrashed"),
        (cluster.Quality(crash_after=5, last_words="vllm: error: unrecognized arguments: --no-such-flag"), "UnknownFlag"),
        (cluster.Quality(crash_after=5, last_words="torch.OutOfMemoryError: CUDA out of memory."), "OutOfMemory"),
        (cluster.Quality(waiting="ErrImagePull"), "ImageError"),
        (cluster.Quality(waiting="CreateContainerConfigError"), "ContainerConfigError"),
        (cluster.Quality(load_seconds=10_000), "LoadDeadlineExceeded"),
    ],
    ids=["crashes while it loads", "meets an unknown flag", "runs out of memory", "cannot be pulled", "lacks its Secret", "never gets ready"],
)
def test_a_canary_that_cannot_serve_gets_no_request(quality: cluster.Quality, reason: str) -> None:
    made = serving()
    old, wanted = made.lane("chat").stable, changed(made, quality)
    made.settle()
    assert (made.lane("chat").stable, made.lane("chat").rejected) == (old, [wanted])
    assert made.status.history[0].reason == reason
    assert ("chat", f"{wanted}-1") not in made.cluster.served


def test_a_canary_that_crashes_after_it_was_ready_is_rolled_back_at_once() -> None:
    made = serving()
    changed(made, cluster.Quality(crash_after=35))
    made.until("chat", PHASE.ROLLING_BACK, seconds=60)
    assert made.lane("chat").reason == "CanaryCrashed"


def test_errors_count_in_the_warm_up() -> None:
    made = serving()
    changed(made, cluster.Quality(errors=True))
    made.until("chat", PHASE.WARMING)
    made.until("chat", PHASE.ROLLING_BACK, PHASE.ANALYZING)
    assert made.lane("chat").phase is PHASE.ROLLING_BACK


def test_no_gpu_waits_with_the_schedulers_words_and_goes_on_when_one_is_free() -> None:
    made = serving()
    made.cluster.gpus = 2
    wanted = changed(made)
    made.run(30)
    assert (made.lane("chat").phase, made.lane("chat").reason) == (PHASE.WAITING, "Unschedulable")
    assert "Insufficient nvidia.com/gpu" in made.lane("chat").message
    made.run(1000, every=20)
    assert made.lane("chat").phase is PHASE.WAITING
    made.cluster.gpus = 3
    made.settle()
    assert made.lane("chat").stable == f"{wanted}-1"


@pytest.mark.parametrize("replicas", [1, 2, 5])
def test_promote_without_a_gpu_replaces_in_place(replicas: int) -> None:
    made = world.World(world.spec({"name": "chat", "replicas": replicas}))
    made.cluster.gpus = replicas
    made.run(60)
    made.excused = True
    made.change(world.spec({"name": "chat", "replicas": replicas, "scheduler": {"maxNumSeqs": 24}}))
    made.until("chat", PHASE.WAITING)
    made.say("promote", "chat", made.lane("chat").canary)
    made.settle()
    assert made.lane("chat").stable == f"{made.hash('chat')}-1"
    assert made.lane("chat").ready_replicas == replicas
    assert any("promote without a free GPU" in event.message for event in made.events)


def test_replacing_in_place_by_a_bad_revision_brings_the_stable_back() -> None:
    made = world.World(world.spec({"name": "chat", "replicas": 1}))
    made.cluster.gpus = 1
    made.run(60)
    old, made.excused = made.lane("chat").stable, True
    made.change(world.spec({"name": "chat", "replicas": 1, "scheduler": {"maxNumSeqs": 24}}))
    made.cluster.qualities[made.hash("chat")] = cluster.Quality(crash_after=5)
    made.until("chat", PHASE.WAITING)
    made.say("promote", "chat", made.lane("chat").canary)
    made.settle()
    assert (made.lane("chat").stable, made.lane("chat").ready_replicas) == (old, 1)


@pytest.mark.parametrize(("replicas", "spare"), [(1, 1), (2, 1), (2, 2), (5, 1), (4, 2)])
def test_promoting_needs_no_more_gpus_than_the_first_step(replicas: int, spare: int) -> None:
    steps = [{"weight": 10, "duration": "30s"}]
    made = world.World(world.spec({"name": "chat", "replicas": replicas}, steps=steps))
    made.cluster.gpus = replicas + spare
    made.run(60)
    made.change(world.spec({"name": "chat", "replicas": replicas, "scheduler": {"maxNumSeqs": 24}}, steps=steps))
    made.settle()
    assert (made.lane("chat").stable, made.lane("chat").ready_replicas) == (f"{made.hash('chat')}-1", replicas)


def test_a_metrics_outage_holds_and_its_time_does_not_count() -> None:
    made = serving()
    wanted = changed(made)
    made.until("chat", PHASE.ANALYZING)
    made.metrics = False
    made.run(600, every=10)
    assert (made.lane("chat").phase, made.lane("chat").step, made.lane("chat").reason) == (PHASE.ANALYZING, 0, "MetricsUnavailable")
    assert made.condition("MetricsAvailable").status == "False"
    made.metrics = True
    made.run(40)
    assert made.lane("chat").step == 0
    made.settle()
    assert made.lane("chat").stable == f"{wanted}-1"
    told = [event.reason for event in made.events]
    assert (told.count("MetricsUnavailable"), told.count("MetricsAvailable")) == (1, 1)


def test_too_few_requests_hold_the_step() -> None:
    made = serving()
    made.cluster.rate = 0.5
    changed(made)
    made.until("chat", PHASE.ANALYZING)
    made.run(300, every=10)
    assert (made.lane("chat").phase, made.lane("chat").reason) == (PHASE.ANALYZING, "Holding")
    assert "minRequests" in made.lane("chat").message
    assert [event.reason for event in made.events].count("StepHeld") == 1


def test_a_change_supersedes_the_trial_and_rejects_nothing() -> None:
    made = serving()
    old, first = made.lane("chat").stable, changed(made)
    made.until("chat", PHASE.ANALYZING)
    made.change(world.spec({"name": "chat", "scheduler": {"maxNumSeqs": 12}}))
    made.run(10)
    made.until("chat", PHASE.ANALYZING)
    assert (made.lane("chat").stable, made.lane("chat").canary) == (old, f"{made.hash('chat')}-1")
    assert made.lane("chat").rejected == []
    assert (made.status.history[0].canary, made.status.history[0].reason) == (f"{first}-1", "Superseded")


def test_going_back_to_the_stable_is_an_ordinary_end() -> None:
    made = serving()
    old = made.lane("chat").stable
    changed(made)
    made.until("chat", PHASE.ANALYZING)
    made.change(world.spec({"name": "chat"}))
    made.settle()
    assert (made.lane("chat").stable, made.lane("chat").rejected, made.status.history[0].reason) == (old, [], "Reverted")
    assert {pod.revision for pod in made.cluster.pods} == {old}


def test_going_back_after_the_promotion_is_a_rollout_with_a_revision_of_its_own() -> None:
    made = serving()
    old = made.lane("chat").stable
    changed(made)
    made.settle()
    made.change(world.spec({"name": "chat"}))
    made.until("chat", PHASE.ANALYZING)
    assert made.lane("chat").canary == f"{old.partition('-')[0]}-2"
    made.settle()
    assert made.lane("chat").stable == f"{old.partition('-')[0]}-2"


def test_a_rejected_hash_is_tried_again_only_by_retry() -> None:
    made = serving()
    wanted = changed(made, cluster.Quality(slow=True))
    made.settle()
    made.change(world.spec({"name": "chat", "replicas": 3, "scheduler": {"maxNumSeqs": 24}}))
    made.run(100)
    assert (made.lane("chat").phase, made.lane("chat").ready_replicas) == (PHASE.IDLE, 3)
    made.cluster.qualities[wanted] = cluster.Quality()
    made.say("retry", "chat", f"{wanted}-1")
    made.settle()
    assert made.lane("chat").stable == f"{wanted}-2"


def test_a_refused_spec_touches_nothing_that_runs() -> None:
    made = serving()
    before = dict(made.cluster.things)
    made.change(None)
    made.run(60)
    assert made.cluster.things == before
    assert (made.condition("Stalled").status, made.condition("Stalled").message) == ("True", "spec.lanes: is required")
    assert made.condition("Ready").status == "True"
    assert [event.reason for event in made.events].count("SpecRefused") == 1


def test_a_failing_canary_is_taken_back_under_a_refused_spec() -> None:
    made = serving()
    old = made.lane("chat").stable
    changed(made, cluster.Quality(slow=True))
    made.until("chat", PHASE.WARMING)
    made.run(4)
    made.until("chat", PHASE.ANALYZING)
    made.change(None)
    made.until("chat", PHASE.IDLE)
    made.run(10)
    assert made.lane("chat").result is statuses.Result.ROLLED_BACK
    assert {pod.revision for pod in made.cluster.pods} == {old}


def test_an_added_lane_is_routed_when_it_is_ready_and_a_removed_one_drains_first() -> None:
    made = serving()
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


def test_a_dead_stable_is_replaced_as_soon_as_the_new_revision_is_ready() -> None:
    made = serving()
    made.cluster.gpus = 2
    made.cluster.qualities[made.lane("chat").stable.partition("-")[0]] = cluster.Quality(crash_after=0)
    made.run(10)
    assert made.lane("chat").reason == "StableDown"
    wanted = changed(made)
    made.settle()
    assert (made.lane("chat").stable, made.lane("chat").ready_replicas) == (f"{wanted}-1", 2)
    assert made.status.history[0].reason == "StableReplaced"


def test_a_first_revision_that_never_served_is_replaced_directly() -> None:
    made = world.World(world.spec({"name": "chat"}))
    made.cluster.qualities[made.hash("chat")] = cluster.Quality(crash_after=3)
    made.run(30)
    changed(made)
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


@pytest.mark.parametrize("phase", [PHASE.LOADING, PHASE.WARMING, PHASE.ANALYZING, PHASE.PROMOTING])
def test_abort_ends_the_trial_in_every_phase(phase: statuses.Phase) -> None:
    made = serving()
    old, wanted = made.lane("chat").stable, changed(made)
    made.until("chat", phase)
    made.say("abort", "chat", f"{wanted}-1")
    made.settle()
    assert (made.lane("chat").stable, made.lane("chat").rejected) == (old, [wanted])
    assert made.status.history[0].reason == "Aborted"


def test_pause_holds_and_resume_goes_on() -> None:
    made = serving()
    wanted = changed(made)
    made.until("chat", PHASE.ANALYZING)
    made.say("pause", "chat")
    made.run(600, every=10)
    assert (made.lane("chat").phase, made.lane("chat").step, made.lane("chat").reason) == (PHASE.ANALYZING, 0, "Paused")
    made.say("resume", "chat")
    made.settle()
    assert made.lane("chat").stable == f"{wanted}-1"


def test_a_command_for_another_revision_does_nothing_and_says_so() -> None:
    made = serving()
    wanted = changed(made)
    made.until("chat", PHASE.ANALYZING)
    made.say("abort", "chat", "00000000-1")
    made.run(4)
    assert made.lane("chat").phase is PHASE.ANALYZING
    assert made.events[-1].reason == "CommandIgnored"
    assert f"{wanted}-1 is on trial" in made.events[-1].message


def test_what_is_settled_changes_nothing() -> None:
    made = serving()
    changed(made)
    made.settle()
    seen = made.observe()
    later = dataclasses.replace(seen, now=seen.now + (seen.now - cluster.START))
    again = plan.plan(later, world.judge)
    assert (again.delete, again.events, again.status) == ((), (), made.status)
    assert [thing for thing in again.apply if made.cluster.things[thing["kind"], thing["metadata"]["name"]] != thing] == []


@pytest.mark.parametrize("in_place", [False, True], ids=["with a spare GPU", "in place"])
def test_abort_of_a_promotion_gives_the_stable_back_as_fast_as_it_can_carry(in_place: bool) -> None:
    made = world.World(world.spec({"name": "chat", "replicas": 5}, steps=[{"weight": 20, "duration": "20s"}]))
    made.cluster.gpus = 5 if in_place else 6
    made.run(60)
    old, made.excused = made.lane("chat").stable, in_place
    made.change(world.spec({"name": "chat", "replicas": 5, "scheduler": {"maxNumSeqs": 24}}, steps=[{"weight": 20, "duration": "20s"}]))
    if in_place:
        made.until("chat", PHASE.WAITING)
        made.say("promote", "chat")
    made.until("chat", PHASE.PROMOTING)
    while made.lane("chat").weight < 60:
        made.run(2)
    made.say("abort", "chat")
    made.settle(300)
    assert (made.lane("chat").stable, made.lane("chat").ready_replicas) == (old, 5)


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
