"""Storms: an operator killed after any write of any pass, in a cluster where things go wrong meanwhile. Bodies of properties; the tests choose how often."""

from typing import Any

from hypothesis import strategies as st
from tests.unit.plan import cluster, world

from fairlane.api import status as statuses

STEPS = [{"weight": 10, "duration": "20s"}, {"weight": 50, "duration": "20s"}]
QUALITIES = {
    "good": cluster.Quality(load_seconds=6),
    "slow": cluster.Quality(load_seconds=6, slow=True),
    "erring": cluster.Quality(load_seconds=6, errors=True),
    "crashing while it loads": cluster.Quality(crash_after=4),
    "crashing when it serves": cluster.Quality(load_seconds=4, crash_after=18),
    "image missing": cluster.Quality(waiting="ErrImagePull"),
}
CUTS = st.lists(st.one_of(st.none(), st.integers(0, 8)), max_size=60)
TROUBLES = st.lists(st.tuples(st.integers(0, 60), st.sampled_from(["evict canary", "evict stable", "router", "outage", "away"])), max_size=4)


def service(replicas: int, baseline: str = "Stable", **lane: Any) -> Any:
    """One lane with short steps."""
    rollout = {"steps": STEPS, "analysis": {"minRequests": 20}, "warmup": {"requests": 20, "duration": "10s"}, "baseline": baseline}
    return world.spec({"name": "chat", "replicas": replicas} | lane, **rollout)


def started(replicas: int, spare: int, lag: float, quality: str, baseline: str = "Stable") -> tuple[world.World, str]:
    """A lane that serves, and a change just applied; return also the hash that is wanted."""
    made = world.World(service(replicas, baseline))
    made.cluster.gpus = replicas + spare
    made.cluster.routers[1].lag = lag
    made.cluster.qualities[made.hash("chat")] = cluster.Quality(load_seconds=4)
    made.run(30)
    made.change(service(replicas, baseline, scheduler={"maxNumSeqs": 24}))
    wanted = made.hash("chat")
    made.cluster.qualities[wanted] = QUALITIES[quality]
    return made, wanted


def trouble(made: world.World, kind: str) -> None:
    """Let one thing go wrong."""
    lane, seen = made.lane("chat"), made.cluster
    if kind == "evict canary":
        seen.evict(lane.canary)
    elif kind == "evict stable" and seen.ready(lane.stable) > 1:
        seen.evict(lane.stable)
    elif kind == "router":
        seen.replace_router()
    elif kind == "outage":
        made.metrics = not made.metrics
    elif kind == "away":
        seen.tick(40)
ROLLOUTS = {
    "quality": st.sampled_from(sorted(QUALITIES)), "replicas": st.sampled_from([1, 2, 3]), "spare": st.sampled_from([1, 2]), "lag": st.sampled_from([1.0, 9.0]),
    "cuts": CUTS, "troubles": TROUBLES,
}
BASELINES = ROLLOUTS | {"twin": st.sampled_from(["good", "crashing while it loads", "crashing when it serves"])}
CHANGES = {"changes": st.lists(st.tuples(st.integers(1, 20), st.sampled_from([8, 12, 24, None])), min_size=1, max_size=5), "cuts": CUTS}


def _storm(made: world.World, cuts: list[int | None], troubles: list[tuple[int, str]]) -> None:
    """Two minutes of passes that are cut off and of troubles, then calm until nothing moves."""
    due = dict(troubles)
    for number, cut in enumerate([*cuts, *[None] * (61 - len(cuts))]):
        made.cluster.tick(2)
        if number in due:
            trouble(made, due[number])
        made.reconcile(cut)
    made.metrics = True
    made.settle(seconds=1200)


def ends_as_it_would_have(
    quality: str, replicas: int, spare: int, lag: float, cuts: list[int | None], troubles: list[tuple[int, str]], twin: str = ""
) -> None:
    """Run one rollout through a storm, beside a baseline if `twin` says how it is: a good revision serves, a bad one is rejected, nothing else is left."""
    made, wanted = started(replicas, max(spare, (replicas + 1) // 2), lag, quality, "Fresh" if twin else "Stable")
    if twin:
        made.cluster.qualities[f"{made.lane('chat').stable.partition('-')[0]}-2"] = QUALITIES[twin]
    old = made.lane("chat").stable
    _storm(made, cuts, troubles)
    lane = made.lane("chat")
    if quality == "good":
        assert (lane.stable.partition("-")[0], lane.rejected) == (wanted, [])
    else:
        assert (lane.stable, lane.rejected) == (old, [wanted])
    assert {pod.revision for pod in made.cluster.pods} == {lane.stable}
    assert (lane.canary, lane.ready_replicas, len(made.status.history)) == ("", replicas, 1)


def serves_the_last_change(changes: list[tuple[int, int | None]], cuts: list[int | None]) -> None:
    """Change the spec again and again, faster than rollouts end."""
    made, _ = started(2, 1, 2.0, "good")
    left = list(cuts)
    for passes, seqs in changes:
        made.change(service(2) if seqs is None else service(2, scheduler={"maxNumSeqs": seqs}))
        for _ in range(passes):
            made.cluster.tick(2)
            made.reconcile(left.pop() if left else None)
    made.settle(seconds=1200)
    assert made.lane("chat").stable.partition("-")[0] == made.hash("chat")
    assert made.lane("chat").rejected == []
    assert {pod.revision for pod in made.cluster.pods} == {made.lane("chat").stable}


TRIALS = {"quality": st.sampled_from(["good", "slow", "crashing while it loads"]), "cuts": CUTS, "troubles": TROUBLES}


def tries_and_changes_nothing(quality: str, cuts: list[int | None], troubles: list[tuple[int, str]]) -> None:
    """Try the unchanged revision through a storm: whatever the judge says of it, the stable serves and nothing is left."""
    made = world.World(service(2))
    made.run(30)
    stable = made.lane("chat").stable
    made.cluster.qualities[f"{stable.partition('-')[0]}-2"] = QUALITIES[quality]
    made.say("trial", "chat", stable)
    _storm(made, cuts, troubles)
    lane = made.lane("chat")
    assert (lane.stable, lane.canary, lane.rejected, lane.ready_replicas) == (stable, "", [], 2)
    assert [item.result for item in made.status.history] == [statuses.Result.TRIED]
    assert {pod.revision for pod in made.cluster.pods} == {stable}


PAIRS = {"qualities": st.tuples(st.sampled_from(sorted(QUALITIES)), st.sampled_from(sorted(QUALITIES))), "cuts": CUTS, "troubles": TROUBLES}


def two_lanes_end_alone(qualities: tuple[str, str], cuts: list[int | None], troubles: list[tuple[int, str]]) -> None:
    """Roll two lanes at once: what becomes of the one is nothing to the other."""
    lanes = ("chat", "batch")
    made = world.World(_pair({}))
    made.run(30)
    old = {name: made.lane(name).stable for name in lanes}
    made.change(_pair({"maxNumSeqs": 24}))
    for name, quality in zip(lanes, qualities, strict=True):
        made.cluster.qualities[made.hash(name)] = QUALITIES[quality]
    _storm(made, cuts, troubles)
    for name, quality in zip(lanes, qualities, strict=True):
        expected = f"{made.hash(name)}-1" if quality == "good" else old[name]
        assert (made.lane(name).stable, made.lane(name).canary) == (expected, "")


def _pair(scheduler: dict[str, Any]) -> Any:
    lanes = ({"name": "chat", "scheduler": scheduler}, {"name": "batch", "profile": "Throughput", "replicas": 1, "scheduler": scheduler})
    return world.spec(*lanes, steps=STEPS, analysis={"minRequests": 20}, warmup={"requests": 20, "duration": "10s"})
