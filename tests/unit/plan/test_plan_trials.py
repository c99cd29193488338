"""Trials of the unchanged revision by `fairlane trial`: what the judge says of it, and that nothing comes of it."""

import pytest
from tests.unit.plan import cluster, world

from fairlane.api import status as statuses

PHASE, RESULT = statuses.Phase, statuses.Result


def _tried(quality: cluster.Quality | None = None) -> tuple[world.World, str, str]:
    """A lane whose unchanged revision is on trial; return also the stable and its copy."""
    made = world.serving()
    stable = made.lane("chat").stable
    copy = f"{stable.partition('-')[0]}-2"
    made.cluster.qualities[copy] = quality or cluster.Quality()
    made.say("trial", "chat", stable)
    made.run(2)
    assert (made.lane("chat").canary, made.lane("chat").trial) == (copy, True)
    return made, stable, copy


def _nothing_came_of_it(made: world.World, stable: str) -> None:
    lane = made.lane("chat")
    assert (lane.phase, lane.stable, lane.canary, lane.trial, lane.rejected) == (PHASE.IDLE, stable, "", False, [])
    assert {pod.revision for pod in made.cluster.pods} == {stable}
    assert [made.condition(kind).status for kind in ("Ready", "Stalled", "Reconciling")] == ["True", "False", "False"]


def test_a_trial_runs_every_step_and_ends_with_nothing_found() -> None:
    made, stable, copy = _tried()
    made.until("chat", PHASE.ANALYZING)
    assert made.status.rollout == "chat trial 10% (0m)"
    made.settle()
    _nothing_came_of_it(made, stable)
    ended = made.status.history[0]
    assert (ended.canary, ended.result, ended.reason, [item.weight for item in ended.decisions]) == (copy, RESULT.TRIED, "NothingFound", [10, 50])
    assert ended.message.startswith("nothing was wrong with it, and nothing was found (10 %: Insufficient; 50 %: Insufficient): no evidence of harm")
    assert [event.reason for event in made.events[2:]] == [
        "RolloutStarted", "CanaryReady", "StepStarted", "StepEnded", "StepStarted", "StepEnded", "RollingBack", "TrialEnded",
    ]
    assert {event.type for event in made.events} == {"Normal"}


def test_a_copy_is_made_of_what_was_stored() -> None:
    made, stable, copy = _tried()
    stored = {item.id: item for item in made.cluster.revisions()}
    assert (stored[copy].inputs, stored[copy].template, stored[copy].gpus) == (stored[stable].inputs, stored[stable].template, stored[stable].gpus)


def test_a_fail_is_a_false_alarm_and_rejects_nothing() -> None:
    made, stable, _ = _tried(cluster.Quality(slow=True))
    made.settle()
    _nothing_came_of_it(made, stable)
    ended = made.status.history[0]
    assert (ended.result, ended.reason, ended.decisions[-1].verdict) == (RESULT.TRIED, "FalseAlarm", statuses.Outcome.FAIL)
    assert ended.message.startswith("the judge would have rolled back an unchanged revision at 10 %, ")


@pytest.mark.parametrize("phase", [PHASE.LOADING, PHASE.WARMING, PHASE.ANALYZING])
def test_abort_ends_a_trial_and_rejects_nothing(phase: statuses.Phase) -> None:
    made, stable, copy = _tried()
    made.until("chat", phase)
    made.say("abort", "chat", copy)
    made.settle()
    _nothing_came_of_it(made, stable)
    assert (made.status.history[0].result, made.status.history[0].reason) == (RESULT.TRIED, "Aborted")


def test_a_copy_that_crashes_rejects_nothing() -> None:
    made, stable, _ = _tried(cluster.Quality(crash_after=5))
    made.settle()
    _nothing_came_of_it(made, stable)
    assert (made.status.history[0].result, made.status.history[0].reason) == (RESULT.TRIED, "CanaryCrashed")


def test_a_change_supersedes_a_trial() -> None:
    made, _, copy = _tried()
    made.until("chat", PHASE.ANALYZING)
    wanted = world.changed(made)
    made.settle()
    assert (made.lane("chat").stable, made.lane("chat").trial) == (f"{wanted}-1", False)
    assert [(item.canary, item.result) for item in made.status.history] == [(f"{wanted}-1", RESULT.PROMOTED), (copy, RESULT.SUPERSEDED)]


def test_the_next_trial_has_a_name_of_its_own() -> None:
    made, stable, _ = _tried()
    made.settle()
    made.say("trial", "chat")
    made.run(2)
    assert made.lane("chat").canary == f"{stable.partition('-')[0]}-3"
    made.settle()
    _nothing_came_of_it(made, stable)


def test_a_trial_does_not_take_the_lane_of_a_stable_that_died() -> None:
    made, stable, _ = _tried()
    made.until("chat", PHASE.ANALYZING)
    made.cluster.qualities[stable] = cluster.Quality(crash_after=0)
    made.run(300, every=10)
    assert (made.lane("chat").stable, made.lane("chat").phase, made.lane("chat").reason) == (stable, PHASE.ANALYZING, "StableDown")
    del made.cluster.qualities[stable]
    made.settle()
    _nothing_came_of_it(made, stable)
