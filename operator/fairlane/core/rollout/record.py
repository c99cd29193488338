"""What status keeps of a rollout: decisions with their evidence, and the record when it has ended."""

import datetime

from ...api import base
from ...api import status as statuses
from .. import clock
from ..judge import types as judging
from . import history, reasons, view

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
    """Return the lane's decisions with one more, the oldest forgotten beyond ten; only the latest numbers keep their distribution."""
    before = [history.plain(decision) for decision in status.decisions] if item.evidence is not None else status.decisions
    return [*before, item][-DECISIONS:]


def ended(lane: view.View, status: statuses.LaneStatus, result: statuses.Result, reason: str, message: str) -> statuses.RolloutRecord:
    """Return the record of the lane's rollout, over now."""
    return _record(lane.now, status, result, reason, message)


def _record(now: datetime.datetime, status: statuses.LaneStatus, result: statuses.Result, reason: str, message: str) -> statuses.RolloutRecord:
    whole = statuses.RolloutRecord(
        lane=status.name,
        stable=status.stable,
        canary=status.canary,
        result=result,
        started_at=status.started_at or clock.text(now),
        ended_at=clock.text(now),
        reason=reason,
        message=view.clipped(message),
        canary_requests=canary_requests(status),
        synthetic_requests=status.synthetic_requests,
        decisions=status.decisions,
    )
    return history.fitted(whole)


def canary_requests(status: statuses.LaneStatus) -> int:
    """Requests that the canary took: those of the windows that were decided on, and of the one that was still open."""
    windows = {item.evidence.since: item.evidence.canary.requests for item in status.decisions if item.evidence is not None}
    if status.evidence is not None:
        windows[status.evidence.since] = max(status.evidence.canary.requests, windows.get(status.evidence.since, 0))
    return sum(windows.values())


def told(lane: view.View, status: statuses.LaneStatus, said: judging.Verdict | None, reason: str, message: str) -> statuses.LaneStatus:
    """Return the status with what is told and what the judge said, at most once an interval: a pass that something else woke writes nothing.

    What is not kept is not lost: the next tick begins where the last one that was kept ended.
    """
    if said is None:
        return view.changed(status, reason=reason, message=view.clipped(message))
    if status.reason == reason and not _due(status, said, base.seconds(lane.rollout.analysis.interval)):
        return status
    return view.changed(heard(status, said), reason=reason, message=view.clipped(message))


def heard(status: statuses.LaneStatus, said: judging.Verdict) -> statuses.LaneStatus:
    """Return the status with the verdict, its numbers and the judge's memory: all of them or none."""
    return view.changed(status, verdict=said.outcome, evidence=said.record or status.evidence, judge_state=said.state)


def _due(status: statuses.LaneStatus, said: judging.Verdict, interval: float) -> bool:
    """Whether a verdict is kept: another one than before, or one that is an interval newer, or one whose memory moved on without numbers."""
    if status.verdict is not said.outcome:
        return True
    if said.outcome is statuses.Outcome.UNAVAILABLE or said.record is None or status.evidence is None:
        return said.state != status.judge_state
    newer = clock.moment(said.record.until) - clock.moment(status.evidence.until)   # both by the clock of Prometheus, which may be set back
    return abs(newer.total_seconds()) > interval - 1.0                              # instants are kept to the second


def removed(now: datetime.datetime, status: statuses.LaneStatus) -> statuses.RolloutRecord:
    """Return the record of a rollout whose lane left the spec."""
    return _record(now, status, statuses.Result.SUPERSEDED, reasons.LANE_REMOVED, "the lane left the spec during the trial")
