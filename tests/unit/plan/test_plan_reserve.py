"""Equal load per replica: while a canary is judged the stable's replicas that it makes superfluous stand by, and all serve again when it ends."""

import pytest
from tests.unit.plan import cluster, world

from fairlane.api import status as statuses

PHASE = statuses.Phase
HALF = [{"weight": 50, "duration": "60s"}]


def _in_use(made: world.World) -> set[int | None]:
    """How many of the stable's replicas each router uses; None: all."""
    documents = [router.serving for router in made.cluster.routers if router.serving]
    return {track.in_use for routes in documents for lane in routes.lanes for track in lane.tracks if track.role == "stable"}


def _ratios(made: world.World) -> list[float]:
    """The share of one of the canary's replicas over that of one of the stable's in use, at every router, where both serve."""
    found = []
    for routes in (router.serving for router in made.cluster.routers if router.serving):
        ready = {track.role: routes.used("chat", track.revision, made.cluster.ready(track.revision)) for track in routes.lanes[0].tracks}
        shares = {track.role: track.weight / ready[track.role] for track in routes.lanes[0].tracks if track.weight and ready[track.role]}
        if {"stable", "canary"} <= set(shares):
            found.append(shares["canary"] / shares["stable"])
    return found


def _half(quality: cluster.Quality | None = None, replicas: int = 2) -> world.World:
    """A lane whose canary is analyzed at half of the lane."""
    made = world.World(world.spec({"name": "chat", "replicas": replicas}, steps=HALF))
    made.run(60)
    made.change(world.spec({"name": "chat", "replicas": replicas, "scheduler": {"maxNumSeqs": 24}}, steps=HALF))
    made.cluster.qualities[made.hash("chat")] = quality or cluster.Quality()
    made.until("chat", PHASE.ANALYZING)
    return made


@pytest.mark.parametrize("replicas", [2, 3, 4, 10])
@pytest.mark.parametrize("baseline", ["Stable", "Fresh"])
def test_a_canary_has_never_more_load_per_replica_than_the_stable_beside_it(replicas: int, baseline: str) -> None:
    steps = [{"weight": weight, "duration": "20s"} for weight in (10, 50)]
    made = world.World(world.spec({"name": "chat", "replicas": replicas}, steps=steps, baseline=baseline))
    made.cluster.gpus = 3 * replicas
    made.run(60)
    made.change(world.spec({"name": "chat", "replicas": replicas, "scheduler": {"maxNumSeqs": 24}}, steps=steps, baseline=baseline))
    ratios = []
    while not made.status.history:
        made.run(1, every=1)
        ratios += _ratios(made)
    assert made.status.history[0].result is statuses.Result.PROMOTED
    assert max(ratios) == pytest.approx(1, abs=0.03)
    made.settle()
    assert _in_use(made) == {None}


def test_one_of_two_stands_by_at_half_of_the_lane_and_while_the_lane_moves_over() -> None:
    made = _half()
    assert _in_use(made) == {1}
    made.until("chat", PHASE.PROMOTING, every=1)
    made.run(4)
    assert (_in_use(made), made.lane("chat").weight) == ({1}, 50)


def test_both_serve_with_the_first_write_of_a_rollback() -> None:
    made = _half(cluster.Quality(slow=True))
    made.until("chat", PHASE.ROLLING_BACK, every=1)
    stored = made.cluster.routes()
    assert stored is not None
    assert [(track.weight, track.in_use) for track in stored.lanes[0].tracks] == [(100, None), (0, None)]


def test_a_pause_changes_nothing_and_an_abort_uses_both() -> None:
    made = _half()
    made.say("pause", "chat")
    made.run(20)
    assert (made.lane("chat").paused, _in_use(made)) == (True, {1})
    made.say("abort", "chat")
    made.settle()
    assert _in_use(made) == {None}


def test_a_spec_that_cannot_be_followed_changes_nothing_until_the_canary_is_taken_back() -> None:
    made = _half(cluster.Quality(slow=True))
    made.metrics = False
    made.change(None)
    made.run(20)
    assert _in_use(made) == {1}
    made.metrics = True
    made.until("chat", PHASE.IDLE)
    assert _in_use(made) == {None}


def test_replicas_that_are_added_meanwhile_are_used_as_the_new_number_says() -> None:
    made = _half()
    made.change(world.spec({"name": "chat", "replicas": 4, "scheduler": {"maxNumSeqs": 24}}, steps=HALF))
    made.run(10)
    assert _in_use(made) == {2}
