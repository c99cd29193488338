"""A fresh baseline: pods of the stable revision started with the canary, as cold and as loaded, to compare it with.

It has the canary's weight and replicas. At half of the lane and more there is none: the stable has the same share then, and no room is left for a third.
"""

from ...api import base
from ...api import spec as specs
from ...api import status as statuses
from .. import clock
from . import capacity, loading, reasons, revisions, view

TOO_MUCH = 50         # percent of the lane: from here on the canary is compared with the stable itself
YIELDS_AFTER = 60.0   # seconds that a canary waits for a node while its baseline has one: a node for both may be on its way


def wanted(lane: view.View, canary: str) -> str:
    """Return the revision to start beside a new canary; empty where none is wanted, the first step leaves no room for it, or the stable was not stored."""
    if lane.rollout.baseline is not specs.Baseline.FRESH or lane.rollout.steps[0].weight >= TOO_MUCH or lane.stored(lane.status.stable) is None:
        return ""
    return revisions.again(lane, canary).id


def cost(lane: view.View, gpus: int) -> str:
    """Say what canary and baseline cost together at the first step."""
    pods = capacity.needed(lane.rollout.steps[0].weight, lane.spec.replicas)
    each = f"{pods} pod{'' if pods == 1 else 's'} each of the canary and of a fresh baseline, {2 * pods * gpus} GPUs in all"
    return f"{each}; from {TOO_MUCH} % on the canary is compared with the stable itself"


def kept(status: statuses.LaneStatus, weight: int) -> statuses.LaneStatus:
    """Return the status at the next weight: without the baseline, where that leaves no room for it."""
    return status if weight < TOO_MUCH else view.changed(status, baseline="")


def ready(lane: view.View) -> bool:
    """Whether the baseline, if there is one, has its replicas."""
    return not lane.status.baseline or lane.ready(lane.status.baseline) >= capacity.trial_replicas(lane, lane.status)


def usable(lane: view.View) -> bool:
    """Whether every router may use them."""
    return not lane.status.baseline or lane.usable(lane.status.baseline) >= capacity.trial_replicas(lane, lane.status)


def trouble(lane: view.View) -> loading.Trouble | None:
    """Return why the baseline cannot serve. It may wait for a node for `rollout.loadDeadline`, but the canary comes first."""
    status = lane.status
    if not status.baseline:
        return None
    if (found := loading.failure(lane, status.baseline)) is not None:
        return found
    late = [pod for pod in lane.of(status.baseline) if not pod.ready and pod.scheduled_at and _overdue(lane, clock.text(pod.scheduled_at))]
    if late:
        return loading.Trouble(reasons.LOAD_DEADLINE, f"pod {late[0].name} is not ready within {lane.rollout.load_deadline} of being scheduled")
    waited = status.held_since if status.phase in (statuses.Phase.WARMING, statuses.Phase.ANALYZING) else status.phase_since
    stuck = loading.blocked(lane)
    if stuck is not None and clock.since(waited, lane.now) >= YIELDS_AFTER and any(pod.scheduled_at for pod in lane.of(status.baseline)):
        return stuck   # the baseline has the GPU that the canary waits for
    if lane.ready(status.canary) < capacity.trial_replicas(lane, status) or not _overdue(lane, waited):
        return None
    return loading.blocked(lane, status.baseline)


def dropped(lane: view.View, found: loading.Trouble) -> view.Move:
    """Go on without the baseline: it is nobody's fault, the stable is compared with instead, and the step's evidence begins again."""
    status = lane.status
    instead = f"{status.canary} is compared with {status.stable} instead"
    told = f"{lane.spec.name}: baseline {status.baseline} is dropped ({found.reason}: {found.message}); {instead}"
    after = view.changed(
        status, baseline="", verdict=None, evidence=None, judge_state="", held_since=None, held_seconds=0,
        step_since=clock.text(lane.now) if status.step_since else None,
    )
    return view.Move(after, (view.warning(reasons.EVENT_BASELINE_DROPPED, told),))


def words(lane: view.View, status: statuses.LaneStatus) -> str:
    """Say what the canary is compared with, where a fresh baseline was asked for."""
    if lane.rollout.baseline is not specs.Baseline.FRESH:
        return ""
    return f", compared with the fresh baseline {status.baseline}" if status.baseline else f", compared with {status.stable} itself"


def load_ratio(lane: view.View, record: statuses.EvidenceRecord) -> float:
    """The canary's requests per replica over those of the lane's stable pods, whose requests are not in the evidence where a baseline's are."""
    status = lane.status
    if not status.baseline:
        return capacity.load_ratio(record)
    rest, stored = 100 - 2 * status.weight, lane.agents.stored
    ready = lane.ready(status.stable)
    stable = stored.used(lane.spec.name, status.stable, ready) if stored else ready
    return (status.weight / max(1, record.canary.replicas)) / (rest / max(1, stable))


def _overdue(lane: view.View, since: str | None) -> bool:
    return clock.since(since, lane.now) >= base.seconds(lane.rollout.load_deadline)
