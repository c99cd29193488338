"""How many replicas does each side need, and what weight do they carry?"""

import dataclasses
import math

from ...api import base
from ...api import spec as specs
from ...api import status as statuses
from .. import clock
from . import loading, view

MOST_LOAD = 1.1    # of the lane's ordinary requests per replica: what the stable's replicas in use may get
LOAD_RATIO = 0.7   # rollout.md: below this share of the stable's requests per replica the canary did not see the lane's load


@dataclasses.dataclass(frozen=True)
class Wanted:
    """Replicas of the Deployments; None leaves one as it is."""

    stable: int | None
    canary: int | None
    baseline: int | None


def needed(weight: int, replicas: int) -> int:
    """Replicas that carry a weight (percent) of a lane: ceil(weight x replicas / 100), at least one."""
    return max(1, math.ceil(weight * replicas / 100))


def even(rest: int, weight: int, replicas: int) -> int:
    """How many of the stable's replicas take its share, `rest` (percent), so that each gets about as many requests as each of the canary's at `weight`.

    The number whose ratio is nearest to 1, but none that loads a replica beyond MOST_LOAD, and no more than there are.
    """
    exact = needed(weight, replicas) * rest / weight
    below = math.floor(exact)
    nearest = below if exact**2 < below * (below + 1) else below + 1
    least = math.ceil(rest * replicas / (100 * MOST_LOAD))
    return min(replicas, max(nearest, least))


def carried(ready: int, replicas: int) -> int:
    """The weight (percent) that so many ready replicas of a lane's carry."""
    return min(100, 100 * ready // replicas)


def step(rollout: specs.Rollout, status: statuses.LaneStatus) -> specs.Step:
    """The step where the lane stands; the last one where the steps became fewer meanwhile."""
    return rollout.steps[min(status.step, len(rollout.steps) - 1)]


def last_step(rollout: specs.Rollout, status: statuses.LaneStatus) -> bool:
    """Whether no step follows."""
    return status.step >= len(rollout.steps) - 1


def trial_replicas(lane: view.View, status: statuses.LaneStatus) -> int:
    """Replicas of the canary at the step where the lane stands."""
    return needed(max(step(lane.rollout, status).weight, status.weight), lane.spec.replicas)


def load_ratio(evidence: statuses.EvidenceRecord) -> float:
    """The canary's requests per replica over the stable's; 1 where the stable has none to compare with."""
    stable = evidence.stable.requests / max(1, evidence.stable.replicas)
    canary = evidence.canary.requests / max(1, evidence.canary.replicas)
    return canary / stable if stable > 0 else 1.0


def wanted(lane: view.View, status: statuses.LaneStatus) -> Wanted:
    """Return the replicas that follow from where the lane stands now."""
    return Wanted(
        stable=_stable(lane, status) if status.stable else None,
        canary=_canary(lane, status) if status.canary else None,
        baseline=trial_replicas(lane, status) if status.baseline else None,
    )


def _stable(lane: view.View, status: statuses.LaneStatus) -> int:
    full = lane.spec.replicas
    current = lane.replicas(status.stable)
    present = full if current is None else min(full, current)
    if status.phase is statuses.Phase.PROMOTING:
        return _shrunk(lane, status, present)
    if status.phase in (statuses.Phase.WAITING, statuses.Phase.LOADING) and status.canary:
        if status.in_place:
            return full - 1
        if status.weight == 0 and not status.trial and stable_is_down(lane, status):
            blocked = loading.blocked(lane) is not None
            return 0 if blocked or present == 0 else full
    return full


def stable_is_down(lane: view.View, status: statuses.LaneStatus) -> bool:
    """Whether the stable has had no ready replica for `rollout.stableDownAfter`."""
    return status.stable_down_since is not None and clock.since(status.stable_down_since, lane.now) >= base.seconds(lane.rollout.stable_down_after)


def _shrunk(lane: view.View, status: statuses.LaneStatus, present: int) -> int:
    """One stable replica less, where the canary's next one finds no GPU, none is on its way out already, and the rest carries what is left.

    What was given up is not taken back while promoting: the canary's pods are in its place.
    """
    short = loading.blocked(lane) is not None and not lane.going(status.stable) and not status.paused
    moved = 0 if not lane.agents.serves(lane.spec.name, status.canary, status.weight) else lane.usable(status.canary)
    size = strength(lane, status)
    least = max(0 if status.weight == 100 else 1, size - moved, math.ceil((100 - status.weight) * size / 100))
    return max(least, present - 1) if short and present > least else present


def strength(lane: view.View, status: statuses.LaneStatus) -> int:
    """Replicas that the lane runs on while it moves over: replacing in place costs one, as `promote` said."""
    return max(1, lane.spec.replicas - 1) if status.in_place else lane.spec.replicas


def _canary(lane: view.View, status: statuses.LaneStatus) -> int | None:
    current = lane.replicas(status.canary)
    if status.phase is statuses.Phase.ROLLING_BACK:
        left = needed(status.weight, strength(lane, status))
        return min(current, left) if status.weight and current and lane.agents.serves(lane.spec.name, status.canary, status.weight) else None
    if status.phase is not statuses.Phase.PROMOTING:
        return trial_replicas(lane, status)
    if status.paused and current is not None:
        return current
    one_more = min(lane.spec.replicas, lane.usable(status.canary) + 1)
    return max(one_more, min(current or 0, lane.spec.replicas))
