"""Commands in whole rollouts."""

import pytest
from tests.unit.plan import cluster, world

from fairlane.api import status as statuses

PHASE = statuses.Phase


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


@pytest.mark.parametrize("phase", [PHASE.LOADING, PHASE.WARMING, PHASE.ANALYZING, PHASE.PROMOTING])
def test_abort_ends_the_trial_in_every_phase(phase: statuses.Phase) -> None:
    made = world.serving()
    old, wanted = made.lane("chat").stable, world.changed(made)
    made.until("chat", phase)
    made.say("abort", "chat", f"{wanted}-1")
    made.settle()
    assert (made.lane("chat").stable, made.lane("chat").rejected) == (old, [wanted])
    assert made.status.history[0].reason == "Aborted"


def test_pause_holds_and_resume_goes_on() -> None:
    made = world.serving()
    wanted = world.changed(made)
    made.until("chat", PHASE.ANALYZING)
    made.say("pause", "chat")
    made.run(600, every=10)
    assert (made.lane("chat").phase, made.lane("chat").step, made.lane("chat").reason) == (PHASE.ANALYZING, 0, "Paused")
    made.say("resume", "chat")
    made.settle()
    assert made.lane("chat").stable == f"{wanted}-1"


def test_a_command_for_another_revision_does_nothing_and_says_so() -> None:
    made = world.serving()
    wanted = world.changed(made)
    made.until("chat", PHASE.ANALYZING)
    made.say("abort", "chat", "00000000-1")
    made.run(4)
    assert made.lane("chat").phase is PHASE.ANALYZING
    assert made.events[-1].reason == "CommandIgnored"
    assert f"{wanted}-1 is on trial" in made.events[-1].message


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
