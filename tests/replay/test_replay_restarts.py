"""An operator that dies anywhere in a trial: what it decides, and on which numbers, is what it would have."""

import dataclasses
import datetime
from collections.abc import Mapping

import pytest
from tests.replay import meter, store, world

from fairlane.api import status as statuses

PHASE = statuses.Phase
FAILING, SLOW = meter.Behaviour(errors=0.3), meter.Behaviour(slow=0.4)
TICK = datetime.timedelta(seconds=world.INTERVAL)


@dataclasses.dataclass(frozen=True)
class Seen:
    """What one pass left: the time, where the trial stood, and the counts behind it."""

    at: datetime.datetime
    phase: statuses.Phase
    since: str = ""
    until: str = ""
    counts: tuple[int, ...] = ()


def seen(made: world.World) -> Seen:
    """What the last pass left."""
    lane, found = made.lane, made.lane.evidence
    if found is None:
        return Seen(made.cluster.now, lane.phase)
    counts = (found.stable.requests, found.stable.errors, found.canary.requests, found.canary.errors)
    return Seen(made.cluster.now, lane.phase, found.since, found.until, counts)


@dataclasses.dataclass
class Run:
    """A trial from its change to its decision, with the world before every pass."""

    passes: list[Seen] = dataclasses.field(default_factory=list)
    before: list[world.World] = dataclasses.field(default_factory=list)
    decision: statuses.Decision | None = None

    @property
    def decided_at(self) -> datetime.datetime:
        return self.passes[-1].at

    @property
    def counted(self) -> Mapping[str, tuple[int, ...]]:
        """Counts since the evidence began, by the end of their window."""
        return {one.until: one.counts for one in self.passes if one.until}


async def played(made: world.World, run: Run) -> Run:
    """Go on until the canary's traffic is taken away;"""
    while run.decision is None and len(run.passes) < 60:
        made.pass_time()
        run.before.append(made.twin())
        await made.reconcile()
        run.passes.append(seen(made))
        if made.lane.phase is PHASE.ROLLING_BACK:
            run.decision = made.lane.decisions[-1]
    return run


def within(run: Run, until: str, since: str) -> tuple[int, ...]:
    """What a run counted between two instants of its own."""
    return tuple(end - start for end, start in zip(run.counted[until], run.counted[since], strict=True))


def weighed(run: Run) -> int:
    """The place of the pass that gave the canary its weight."""
    return next(place for place, one in enumerate(run.passes) if one.phase is PHASE.WARMING)


@pytest.mark.parametrize(("behaviour", "reason"), [(FAILING, "ErrorsWorse"), (SLOW, "TailWorse")], ids=["a failing canary", "a slow canary"])
async def test_killed_before_it_wrote_any_one_status(behaviour: meter.Behaviour, reason: str) -> None:
    async with store.at_hand() as metrics:
        made = await world.serving(metrics)
        made.harm(behaviour)
        whole = await played(made, Run())
        assert whole.decision is not None
        assert whole.decision.reason == reason
        for place in range(weighed(whole), len(whole.passes)):
            died = await played_from(whole.before[place], whole.passes[:place])
            assert died.decision is not None
            assert (died.decision.reason, died.decision.weight, died.decision.step) == (reason, whole.decision.weight, whole.decision.step)
            assert abs(died.decided_at - whole.decided_at) <= TICK, f"killed at {whole.passes[place].at}, in {whole.passes[place].phase}"
            same = [until for until in died.counted if until in whole.counted]
            assert same, "no tick of both runs ends at the same instant"
            assert [died.counted[until] for until in same] == [within(whole, until, died.passes[-1].since) for until in same]


async def played_from(start: world.World, passes: list[Seen]) -> Run:
    """The rest of a trial whose next pass dies before its status is written."""
    made = start
    await made.reconcile(killed=True)
    return await played(made, Run(list(passes)))
