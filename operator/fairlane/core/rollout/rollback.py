"""The way back: the weight first, the endpoints after, the pods last. The stable never stopped."""

from ...api import base
from ...api import status as statuses
from .. import clock, planned
from ..judge import types as judging
from . import capacity, loading, reasons, record, revisions, starting, view

LOST_ROUTER = 300.0   # seconds beyond drain and fail-safe after which a router pod that says nothing no longer keeps the canary's GPU


def begin(lane: view.View, status: statuses.LaneStatus, reason: str, message: str, *, reject: bool, verdict: judging.Verdict | None = None) -> view.Move:
    """Take the canary's traffic away, and remember its hash where it was the canary's fault."""
    outcome = verdict.outcome if verdict else statuses.Outcome.FAIL if reject else statuses.Outcome.INSUFFICIENT
    evidence = verdict.record if verdict else None
    made = record.decision(lane, outcome, reason, message, evidence)
    after = view.changed(
        status,
        verdict=verdict.outcome if verdict else status.verdict,
        evidence=evidence or status.evidence,
        decisions=record.added(status, made),
        rejected=revisions.reject(status.rejected, view.hash_of(status.canary)) if reject and not status.trial else status.rejected,
    )
    failed = statuses.Result.TRIED if status.trial else statuses.Result.ROLLED_BACK
    return withdraw(lane, after, reason, message, failed if reject else statuses.Result.SUPERSEDED)


def withdraw(lane: view.View, status: statuses.LaneStatus, reason: str, message: str, result: statuses.Result) -> view.Move:
    """Take the canary's traffic away; its pods follow."""
    after = view.changed(
        status,
        phase=statuses.Phase.ROLLING_BACK,
        phase_since=clock.text(lane.now),
        weight=_kept(lane) if only_healthy(lane) or _shrunk(lane) else 0,
        reason=reason,
        message=view.clipped(message),
        result=result,
        judge_state="",
        baseline="",
        held_since=None,
        promote_when_ready=False,
    )
    return view.Move(after, (_announcement(lane, after, message),))


def trouble(lane: view.View, status: statuses.LaneStatus, found: loading.Trouble) -> view.Move:
    """Roll back a canary that cannot serve."""
    step = f" at {status.weight} %" if status.weight else " before it had any traffic"
    return begin(lane, status, found.reason, f"{status.canary} was rolled back{step}: {found.message}", reject=True)


def only_healthy(lane: view.View) -> bool:
    """Whether the canary is all that serves the lane: its traffic then stays until the stable can take it."""
    return lane.status.weight > 0 and not lane.ready(lane.status.stable) and lane.ready(lane.status.canary) > 0


def proceed(lane: view.View) -> view.Move:
    """Go on: less weight as the stable can take more, then wait until every router has let go and the Deployment is gone."""
    status = lane.status
    if status.weight:
        late = clock.since(status.phase_since, lane.now) >= base.seconds(lane.rollout.load_deadline)
        weight = 0 if late or not lane.ready(status.canary) else _kept(lane)
        since = status.phase_since if weight else clock.text(lane.now)
        return view.Move(view.changed(status, weight=weight, phase_since=since))
    if lane.replicas(status.canary) is not None or _twins(lane) or not released(lane):
        return view.Move(status)
    return _end(lane, status)


def _twins(lane: view.View) -> bool:
    """Whether a baseline runs yet: the next one may have its name."""
    return any(item.revision != lane.status.stable and view.hash_of(item.revision) == lane.stable_hash for item in lane.deployments)


def _shrunk(lane: view.View) -> bool:
    """Whether promoting has taken replicas from the stable: it cannot carry the whole lane before they are back."""
    return lane.status.phase is statuses.Phase.PROMOTING and lane.ready(lane.status.stable) < lane.spec.replicas and lane.ready(lane.status.canary) > 0


def _kept(lane: view.View) -> int:
    """The weight that the stable's ready replicas leave to the canary."""
    return min(lane.status.weight, 100 - capacity.carried(lane.ready(lane.status.stable), capacity.strength(lane, lane.status)))


def released(lane: view.View) -> bool:
    """Whether the canary's pods may go: no router sends them anything, or one that says nothing is overdue."""
    status = lane.status
    if status.weight:
        return False
    patience = base.seconds(lane.spec.timeouts.drain) + base.seconds(lane.rollout.fail_safe_after) + LOST_ROUTER
    return lane.agents.left(lane.spec.name, status.canary) or clock.since(status.phase_since, lane.now) >= patience


def _announcement(lane: view.View, status: statuses.LaneStatus, message: str) -> planned.Event:
    if status.result is statuses.Result.SUPERSEDED:
        return view.normal(reasons.EVENT_SUPERSEDED, f"{lane.spec.name}: {message}")
    if status.reason == reasons.NOTHING_FOUND:
        return view.normal(reasons.EVENT_ROLLING_BACK, f"{lane.spec.name}: {status.canary} is withdrawn: {message}")
    return view.warning(reasons.EVENT_ROLLING_BACK, f"{lane.spec.name}: {message}")


def _end(lane: view.View, status: statuses.LaneStatus) -> view.Move:
    result = status.result or statuses.Result.ROLLED_BACK
    ended = record.ended(lane, status, result, status.reason, status.message)
    after = view.changed(starting.fresh(status), phase=statuses.Phase.IDLE, phase_since=clock.text(lane.now), result=result)
    if result is statuses.Result.SUPERSEDED:
        return view.Move(after, record=ended)
    took = clock.short(clock.since(status.started_at, lane.now))
    message = f"{lane.spec.name}: {status.canary} is gone after {took} and {ended.canary_requests} requests; {status.stable} serves. {status.message}"
    event = view.normal(reasons.EVENT_TRIED, message) if result is statuses.Result.TRIED else view.warning(reasons.EVENT_ROLLED_BACK, message)
    return view.Move(after, (event,), record=ended)
