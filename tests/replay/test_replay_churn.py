"""Counters that start again, pods that come and go, gaps between scrapes: what the trial counts is what its users sent."""

from collections.abc import Callable

import pytest
from tests.replay import meter, store, world

from fairlane.api import status as statuses
from fairlane.core import clock

PHASE = statuses.Phase
SLOW = meter.Behaviour(slow=0.4)
A_FEW_FAIL = meter.Behaviour(errors=0.002)     # a series of failures that is born in the window, and no reason to roll back
GAP = 30

Trouble = Callable[[world.World], None]


def nothing(made: world.World) -> None:
    """All goes well."""


def _restarts(made: world.World, revision: str) -> None:
    pod = next(pod for pod in made.cluster.pods if pod.revision == revision)
    made.meter.restart(world.pod_name(pod.name))


def a_stable_engine_restarts(made: world.World) -> None:
    """Its counters begin at zero again."""
    _restarts(made, made.lane.stable)


def the_canarys_engine_restarts(made: world.World) -> None:
    """Its counters begin at zero again."""
    _restarts(made, made.lane.canary)


def a_stable_pod_is_evicted(made: world.World) -> None:
    """Another takes its place."""
    made.cluster.evict(made.lane.stable)


def a_router_pod_comes(made: world.World) -> None:
    """Its counters begin with its first requests."""
    made.cluster.add_router()


def engines_are_not_scraped(made: world.World) -> None:
    """For a while; the router is."""
    made.unscraped = f"-{world.LANE}-"
    made.pass_time(GAP)
    made.unscraped = ""


def nothing_is_scraped(made: world.World) -> None:
    """For a while."""
    made.unscraped = world.NAME
    made.pass_time(GAP)
    made.unscraped = ""


def another_namespace_has_the_same_names(made: world.World) -> None:
    """Its canary fails all requests; it is in the same Prometheus."""
    for (target, labels), one in list(made.database.series.items()):
        other = tuple((name, "other" if name == "namespace" else value) for name, value in target)
        for time, value in zip(one.times, one.values, strict=True):
            made.database.write(time, other, [(labels, 3 * value)])
        made.database.write(made.cluster.now.timestamp() + 1, other, [(labels, 1000 + 3 * one.values[-1])])


EXACT = [
    nothing, a_stable_engine_restarts, the_canarys_engine_restarts, a_stable_pod_is_evicted, a_router_pod_comes, engines_are_not_scraped, nothing_is_scraped,
    another_namespace_has_the_same_names,
]


async def trial(metrics: store.Store, behaviour: meter.Behaviour) -> world.World:
    """A canary, ten seconds into its step."""
    made = await world.serving(metrics)
    made.harm(behaviour)
    await made.until(PHASE.ANALYZING)
    await made.run(10)
    return made


def sent(made: world.World, revision: str, since: str, until: str) -> tuple[int, int]:
    """What users sent to a revision between the last scrapes before two instants, and how much of it failed."""
    begin, end = (clock.moment(text).timestamp() // world.SCRAPED_EVERY * world.SCRAPED_EVERY for text in (since, until))
    taken = [one for one in made.meter.truth if begin < one.at <= end and one.revision == revision]
    return len(taken), sum(one.failed for one in taken)


@pytest.mark.parametrize("trouble", EXACT, ids=lambda trouble: trouble.__name__.replace("_", " "))
async def test_every_request_is_counted_once(trouble: Trouble) -> None:
    async with store.at_hand() as metrics:
        made = await trial(metrics, A_FEW_FAIL)
        trouble(made)
        await made.run(15)
        found = made.lane.evidence
        assert found is not None
        for side in (found.stable, found.canary):
            assert (side.requests, side.errors) == sent(made, side.revision, found.since, found.until)
        await made.until(PHASE.PROMOTING, PHASE.ROLLING_BACK)
        assert made.lane.phase is PHASE.PROMOTING


@pytest.mark.parametrize("trouble", EXACT[1:], ids=lambda trouble: trouble.__name__.replace("_", " "))
async def test_a_slow_canary_is_rolled_back_all_the_same(trouble: Trouble) -> None:
    async with store.at_hand() as metrics:
        made = await trial(metrics, SLOW)
        trouble(made)
        record = await made.ended()
        assert (record.result, record.reason) == (statuses.Result.ROLLED_BACK, "TailWorse")


async def test_a_router_that_restarts_loses_what_came_since_the_last_tick() -> None:
    async with store.at_hand() as metrics:
        made = await trial(metrics, A_FEW_FAIL)
        before = made.lane.evidence
        assert before is not None
        made.pass_time(1)
        for router in list(made.meter.routers):
            made.meter.restart(router)
        restarted = clock.text(made.cluster.now)
        await made.run(15)
        found = made.lane.evidence
        assert found is not None
        for side in (found.stable, found.canary):
            requests, _ = sent(made, side.revision, found.since, found.until)
            lost, _ = sent(made, side.revision, before.until, restarted)
            assert (side.requests, lost > 0) == (requests - lost, True)
