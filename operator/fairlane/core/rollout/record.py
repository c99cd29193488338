"""What status keeps of a rollout: decisions with their evidence, and the record when it has ended."""

import datetime

from ...api import status as statuses
from .. import clock
from ..judge import types as judging
from . import reasons, view

HISTORY = 10
DECISIONS = 10


def decision(lane: view.View, verdict: statuses.Outcome, reason: str, message: str, evidence: statuses.EvidenceRecord | None = None) -> statuses.Decision:
    """Return a decision at the lane's step and weight."""
    return statuses.Decision(
        time=clock.text(lane.now),
        step=lane.status.step,
        weight=lane.status.weight,
        verdict=verdict,
        reason=reason,
        message=view.clipped(message),
        evidence=evidence,
    )


def added(status: statuses.LaneStatus, item: statuses.Decision) -> list[statuses.Decision]:
    """Return the lane's decisions with one more, the oldest forgotten beyond ten."""
    return [*status.decisions, item][-DECISIONS:]


def ended(lane: view.View, status: statuses.LaneStatus, result: statuses.Result, reason: str, message: str) -> statuses.RolloutRecord:
    """Return the record of the lane's rollout, over now."""
    return _record(lane.now, status, result, reason, message)


def _record(now: datetime.datetime, status: statuses.LaneStatus, result: statuses.Result, reason: str, message: str) -> statuses.RolloutRecord:
    return statuses.RolloutRecord(
        lane=status.name,
        stable=status.stable,
        canary=status.canary,
        result=result,
        started_at=status.started_at or clock.text(now),
        ended_at=clock.text(now),
        reason=reason,
        message=view.clipped(message),
        canary_requests=canary_requests(status),
        decisions=status.decisions,
    )


def canary_requests(status: statuses.LaneStatus) -> int:
    """Requests that the canary took: those of the windows that were decided on, and of the one that was still open."""
    windows = {item.evidence.since: item.evidence.canary.requests for item in status.decisions if item.evidence is not None}
    if status.evidence is not None:
        windows[status.evidence.since] = max(status.evidence.canary.requests, windows.get(status.evidence.since, 0))
    return sum(windows.values())


def with_verdict(lane: view.View, status: statuses.LaneStatus, verdict: judging.Verdict, reason: str, message: str, interval: float) -> statuses.LaneStatus:
    """Return the status with what the judge said, at most once an interval: a pass that something else woke writes nothing."""
    fresh = status.verdict is not verdict.outcome or status.reason != reason or status.evidence is None
    if not fresh and status.evidence is not None and clock.since(status.evidence.until, lane.now) < interval:
        return status
    return view.changed(status, verdict=verdict.outcome, reason=reason, message=view.clipped(message), evidence=verdict.record or status.evidence)


def remembered(history: list[statuses.RolloutRecord], records: list[statuses.RolloutRecord]) -> list[statuses.RolloutRecord]:
    """Return the history, latest first, of at most ten rollouts."""
    return [*reversed(records), *history][:HISTORY]


def removed(now: datetime.datetime, status: statuses.LaneStatus) -> statuses.RolloutRecord:
    """Return the record of a rollout whose lane left the spec."""
    return _record(now, status, statuses.Result.SUPERSEDED, reasons.LANE_REMOVED, "the lane left the spec during the trial")
