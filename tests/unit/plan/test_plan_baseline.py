"""A fresh baseline beside the canary: when it starts, what it is compared with, and that it never stays."""

from typing import Any

import pytest
from tests.unit.plan import cluster, world

from fairlane.api import status as statuses
from fairlane.core.routing import document

PHASE, RESULT = statuses.Phase, statuses.Result


def _serving(**rollout: Any) -> world.World:
    return world.serving(baseline="Fresh", **rollout)


def _changed(made: world.World, canary: cluster.Quality | None = None, twin: cluster.Quality | None = None, **rollout: Any) -> tuple[str, str]:
    """Start a rollout; return the stable and its twin, the baseline."""
    stable = made.lane("chat").stable
    baseline = f"{stable.partition('-')[0]}-2"
    made.cluster.qualities[baseline] = twin or cluster.Quality()
    world.changed(made, canary, baseline="Fresh", **rollout)
    made.run(2)
    assert made.lane("chat").baseline == baseline
    return stable, baseline


def _split(made: world.World) -> dict[str, int]:
    stored = made.cluster.routes()
    assert stored is not None
    return {track.role: track.weight for track in stored.lanes[0].tracks}


def _alone(made: world.World) -> None:
    """Nothing but the stable is left."""
    lane = made.lane("chat")
    assert (lane.phase, lane.canary, lane.baseline) == (PHASE.IDLE, "", "")
    assert {pod.revision for pod in made.cluster.pods} == {lane.stable}
    assert [item.revision for item in made.cluster.observed_deployments()] == [lane.stable]
    assert _split(made) == {"stable": 100}


def test_the_canary_is_compared_with_pods_as_fresh_as_its_own_until_half_of_the_lane() -> None:
    made = _serving()
    stable, baseline = _changed(made)
    seen: dict[int, set[tuple[str, str, int]]] = {}
    while made.lane("chat").phase is not PHASE.PROMOTING:
        made.run(2)
        lane, split = made.lane("chat"), _split(made)
        if lane.phase is PHASE.ANALYZING and lane.evidence is not None and lane.step_since:
            seen.setdefault(lane.step, set()).add((lane.baseline, lane.evidence.stable.revision, split.get("baseline", 0)))
    assert seen == {0: {(baseline, baseline, 10)}, 1: {("", stable, 0)}}
    made.settle()
    _alone(made)
    started = next(event for event in made.events if event.reason == "RolloutStarted")
    assert "1 pod each of the canary and of a fresh baseline, 2 GPUs in all; from 50 % on the canary is compared with the stable itself" in started.message
    steps = [event.message for event in made.events if event.reason == "StepStarted"]
    assert [message.rpartition(", compared with ")[2] for message in steps] == [f"the fresh baseline {baseline}", f"{stable} itself"]


def test_no_traffic_before_both_are_ready() -> None:
    made = _serving()
    _, baseline = _changed(made, twin=cluster.Quality(load_seconds=60))
    while not made.cluster.ready(baseline):
        assert made.lane("chat").weight == 0
        made.run(2)
    assert made.lane("chat").phase is PHASE.LOADING
    made.until("chat", PHASE.ANALYZING)
    assert _split(made) == {"stable": 80, "canary": 10, "baseline": 10}


@pytest.mark.parametrize(
    ("twin", "words"),
    [
        (cluster.Quality(crash_after=5), "CanaryCrashed"),
        (cluster.Quality(waiting="ErrImagePull"), "ImageError"),
        (cluster.Quality(load_seconds=10_000), "LoadDeadlineExceeded"),
        (cluster.Quality(crash_after=45), "CanaryCrashed"),
    ],
    ids=["it crashes while it loads", "its image is gone", "it never gets ready", "it crashes when it serves"],
)
def test_a_baseline_that_cannot_serve_is_dropped_and_harms_nobody(twin: cluster.Quality, words: str) -> None:
    made = _serving()
    stable, baseline = _changed(made, twin=twin)
    made.settle()
    _alone(made)
    lane = made.lane("chat")
    assert (lane.stable, lane.result, lane.rejected) == (f"{made.hash('chat')}-1", RESULT.PROMOTED, [])
    dropped = [event.message for event in made.events if event.reason == "BaselineDropped"]
    assert [message.startswith(f"chat: baseline {baseline} is dropped ({words}: ") for message in dropped] == [True]
    evidence = made.status.history[0].decisions[0].evidence
    assert evidence is not None
    assert evidence.stable.revision == stable


def test_a_baseline_without_a_node_is_waited_for_and_dropped_at_the_load_deadline() -> None:
    made = _serving()
    made.cluster.gpus = 3
    _, baseline = _changed(made)
    made.run(280, every=10)
    assert (made.lane("chat").phase, made.lane("chat").baseline, made.lane("chat").weight) == (PHASE.LOADING, baseline, 0)
    assert "Insufficient nvidia.com/gpu" in made.lane("chat").message
    made.settle()
    _alone(made)
    assert "Unschedulable" in next(event.message for event in made.events if event.reason == "BaselineDropped")


def test_a_baseline_that_lost_its_node_is_dropped_when_the_step_was_held_for_the_load_deadline() -> None:
    made = _serving()
    _, baseline = _changed(made)
    made.until("chat", PHASE.ANALYZING)
    made.cluster.evict(baseline)
    made.cluster.gpus = 3
    made.run(280, every=10)
    assert (made.lane("chat").phase, made.lane("chat").baseline, made.lane("chat").reason) == (PHASE.ANALYZING, baseline, "Holding")
    made.settle()
    _alone(made)
    assert made.lane("chat").result is RESULT.PROMOTED


def test_a_baseline_gives_the_gpu_back_that_the_canary_waits_for() -> None:
    made = _serving()
    _changed(made)
    made.until("chat", PHASE.LOADING)
    made.cluster.gpus = 3
    made.cluster.evict(made.lane("chat").canary)
    made.run(20)
    assert (made.lane("chat").phase, made.lane("chat").reason) == (PHASE.WAITING, "Unschedulable")
    made.settle()
    _alone(made)
    assert made.lane("chat").result is RESULT.PROMOTED


def test_a_canary_that_fails_beside_its_baseline_takes_it_along() -> None:
    made = _serving()
    stable, _ = _changed(made, cluster.Quality(slow=True))
    made.settle()
    _alone(made)
    assert (made.lane("chat").stable, made.lane("chat").result) == (stable, RESULT.ROLLED_BACK)


@pytest.mark.parametrize("phase", [PHASE.LOADING, PHASE.WARMING, PHASE.ANALYZING])
@pytest.mark.parametrize("end", ["abort", "promote", "change", "revert", "lane removed"])
def test_no_end_leaves_a_baseline_behind(phase: statuses.Phase, end: str) -> None:
    made = world.World(world.spec({"name": "chat"}, {"name": "batch", "profile": "Throughput"}, baseline="Fresh"))
    made.run(60)
    made.change(world.spec({"name": "chat"}, {"name": "batch", "profile": "Throughput", "scheduler": {"maxNumSeqs": 24}}, baseline="Fresh"))
    made.until("batch", phase)
    assert made.lane("batch").baseline
    if end in ("abort", "promote"):
        made.say(end, "batch")
    else:
        ways: dict[str, list[dict[str, Any]]] = {"change": [{"scheduler": {"maxNumSeqs": 12}}], "revert": [{}], "lane removed": []}
        batch = ways[end]
        made.change(world.spec({"name": "chat"}, *({"name": "batch", "profile": "Throughput"} | item for item in batch), baseline="Fresh"))
    made.settle()
    made.run(20)
    assert {pod.revision for pod in made.cluster.pods} == {lane.stable for lane in made.status.lanes}
    assert len(made.cluster.deployments()) == len(made.status.lanes)


def test_a_canary_taken_back_under_a_refused_spec_takes_its_baseline_along() -> None:
    made = _serving()
    stable, _ = _changed(made, cluster.Quality(slow=True))
    made.until("chat", PHASE.ANALYZING)
    made.change(None)
    made.until("chat", PHASE.IDLE)
    made.run(20)
    assert {pod.revision for pod in made.cluster.pods} == {stable}


def test_a_status_that_was_lost_leaves_no_baseline() -> None:
    made = _serving()
    _changed(made)
    made.until("chat", PHASE.ANALYZING)
    made.status = statuses.LLMServiceStatus()
    made.settle()
    _alone(made)


def test_a_trial_has_a_baseline_with_a_name_of_its_own() -> None:
    made = _serving()
    stable = made.lane("chat").stable
    made.say("trial", "chat")
    made.run(2)
    hash_ = stable.partition("-")[0]
    assert (made.lane("chat").canary, made.lane("chat").baseline) == (f"{hash_}-2", f"{hash_}-3")
    made.settle()
    _alone(made)
    assert (made.lane("chat").stable, made.status.history[0].reason) == (stable, "NothingFound")


def test_a_first_step_of_half_of_the_lane_has_no_baseline() -> None:
    steps = [{"weight": 50, "duration": "30s"}]
    made = _serving(steps=steps)
    world.changed(made, baseline="Fresh", steps=steps)
    made.settle()
    assert made.lane("chat").result is RESULT.PROMOTED
    assert "baseline" not in {track.role for track in _tracks(made)}


def _tracks(made: world.World) -> tuple[document.Track, ...]:
    stored = made.cluster.routes()
    return stored.lanes[0].tracks if stored else ()
