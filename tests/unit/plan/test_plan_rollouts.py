"""Whole rollouts in the simulated cluster."""

import pytest
from tests.unit.plan import cluster, world

from fairlane.api import status as statuses
from fairlane.core import judge as judging
from fairlane.core.judge import memory

PHASE = statuses.Phase


def test_first_creation_needs_no_canary() -> None:
    made = world.serving()
    assert [event.reason for event in made.events] == ["LaneCreated", "LaneReady"]
    assert made.status.lanes_ready == "1/1"
    assert [(item.type, item.status) for item in made.status.conditions] == [
        ("Ready", "True"), ("Reconciling", "False"), ("Stalled", "False"), ("LanesReady", "True"), ("RouterReady", "True"), ("MetricsAvailable", "Unknown"),
    ]


def test_a_good_change_is_promoted_and_no_pod_restarts() -> None:
    made = world.serving()
    old = made.lane("chat").stable
    wanted = world.changed(made)
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
    made = world.serving()
    old = made.lane("chat").stable
    wanted = world.changed(made, cluster.Quality(slow=True))
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
        (cluster.Quality(crash_after=5, last_words="torch.OutOfMemoryError: CUDA out of memory."), "GPUOutOfMemory"),
        (cluster.Quality(waiting="ErrImagePull"), "ImageError"),
        (cluster.Quality(waiting="CreateContainerConfigError"), "ContainerConfigError"),
        (cluster.Quality(load_seconds=10_000), "LoadDeadlineExceeded"),
    ],
    ids=["crashes while it loads", "meets an unknown flag", "runs out of memory", "cannot be pulled", "lacks its Secret", "never gets ready"],
)
def test_a_canary_that_cannot_serve_gets_no_request(quality: cluster.Quality, reason: str) -> None:
    made = world.serving()
    old, wanted = made.lane("chat").stable, world.changed(made, quality)
    made.settle()
    assert (made.lane("chat").stable, made.lane("chat").rejected) == (old, [wanted])
    assert made.status.history[0].reason == reason
    assert ("chat", f"{wanted}-1") not in made.cluster.served


def test_a_canary_that_crashes_after_it_was_ready_is_rolled_back_at_once() -> None:
    made = world.serving()
    world.changed(made, cluster.Quality(crash_after=35))
    made.until("chat", PHASE.ROLLING_BACK, seconds=60)
    assert made.lane("chat").reason == "CanaryCrashed"


def test_errors_count_in_the_warm_up() -> None:
    made = world.serving()
    world.changed(made, cluster.Quality(errors=True))
    made.until("chat", PHASE.WARMING)
    made.until("chat", PHASE.ROLLING_BACK, PHASE.ANALYZING)
    assert made.lane("chat").phase is PHASE.ROLLING_BACK


def test_no_gpu_waits_with_the_schedulers_words_and_goes_on_when_one_is_free() -> None:
    made = world.serving()
    made.cluster.gpus = 2
    wanted = world.changed(made)
    made.run(30)
    assert (made.lane("chat").phase, made.lane("chat").reason) == (PHASE.WAITING, "Unschedulable")
    assert "Insufficient nvidia.com/gpu" in made.lane("chat").message
    made.run(1000, every=20)
    assert made.lane("chat").phase is PHASE.WAITING
    made.cluster.gpus = 3
    made.settle()
    assert made.lane("chat").stable == f"{wanted}-1"


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
    made = world.serving()
    wanted = world.changed(made)
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
    made = world.serving()
    made.cluster.rate = 0.5
    world.changed(made)
    made.until("chat", PHASE.ANALYZING)
    made.run(300, every=10)
    assert (made.lane("chat").phase, made.lane("chat").reason) == (PHASE.ANALYZING, "Holding")
    assert "minRequests" in made.lane("chat").message
    assert [event.reason for event in made.events].count("StepHeld") == 1


def test_a_dead_stable_is_replaced_as_soon_as_the_new_revision_is_ready() -> None:
    made = world.serving()
    made.cluster.gpus = 2
    made.cluster.qualities[made.lane("chat").stable.partition("-")[0]] = cluster.Quality(crash_after=0)
    made.run(10)
    assert made.lane("chat").reason == "StableDown"
    wanted = world.changed(made)
    made.settle()
    assert (made.lane("chat").stable, made.lane("chat").ready_replicas) == (f"{wanted}-1", 2)
    assert made.status.history[0].reason == "StableReplaced"


def test_the_real_judge_rolls_back_a_canary_that_answers_with_errors() -> None:
    made = world.serving()
    wanted = world.changed(made, cluster.Quality(errors=True))
    made.judge, made.until_of = judging.judge, lambda state: cursor.until if (cursor := memory.cursor(state)) else None
    made.until("chat", PHASE.WARMING)
    made.until("chat", PHASE.ROLLING_BACK, seconds=120)
    lane = made.lane("chat")
    assert (lane.verdict, lane.weight, lane.rejected) == (statuses.Outcome.FAIL, 0, [wanted])


def test_warm_up_and_first_step_are_one_window_and_later_steps_begin_anew() -> None:
    made = world.serving()
    world.changed(made)
    windows: dict[tuple[statuses.Phase, int], list[statuses.EvidenceRecord]] = {}
    while made.lane("chat").phase is not PHASE.PROMOTING:
        made.run(2)
        lane = made.lane("chat")
        assert bool(lane.judge_state) == (lane.evidence is not None)
        if lane.evidence is not None:
            windows.setdefault((lane.phase, lane.step), []).append(lane.evidence)
    first, second = windows[PHASE.ANALYZING, 0], windows[PHASE.ANALYZING, 1]
    assert {item.since for item in first} == {windows[PHASE.WARMING, 0][0].since}
    assert {item.since for item in first}.isdisjoint({item.since for item in second})
    assert made.lane("chat").judge_state == ""
    made.settle()
    ended = made.status.history[0]
    numbers = [item.evidence.canary.requests for item in ended.decisions if item.evidence is not None]
    served = made.cluster.requests("chat", made.lane("chat").stable, cluster.START)
    assert len(numbers) == 2
    assert sum(numbers) <= ended.canary_requests <= served


@pytest.mark.parametrize("outcome", ["good", "slow"])
def test_the_judges_memory_ends_with_the_rollout(outcome: str) -> None:
    made = world.serving()
    world.changed(made, cluster.Quality(slow=outcome == "slow"))
    made.settle()
    assert (made.lane("chat").judge_state, made.lane("chat").evidence) == ("", None)
