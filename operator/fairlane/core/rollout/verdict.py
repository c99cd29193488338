"""Ask the judge about a canary with traffic: what it is told of the trial, and when there is nothing to ask."""

from ...api import base
from ...api import status as statuses
from .. import clock
from ..judge import types as judging
from . import capacity, view

NOT_MEASURED = "NotMeasured"
_UNMEASURED = judging.Unavailable(NOT_MEASURED, "no pass has read numbers of the canary yet")
_HALF = 50   # percent: canary and baseline have the same weight, so each has half of the requests that are compared
_PHASES = frozenset({statuses.Phase.WARMING, statuses.Phase.ANALYZING, statuses.Phase.PROMOTING})


def of(lane: view.View) -> judging.Verdict | None:
    """Return what the judge says; None where nothing is judged, nothing is there to compare with, or this pass brought nothing new."""
    status = lane.status
    if not status.weight or not lane.ready(status.stable) or not lane.ready(view.reference(status)):
        return None
    if status.phase is statuses.Phase.PROMOTING and lane.ready(status.stable) < lane.spec.replicas:
        return None
    evidence = _news(lane)
    return None if evidence is None else lane.judge(evidence, trial(lane))


def _news(lane: view.View) -> judging.Evidence | judging.Unavailable | None:
    """Return this pass's numbers, if they are of the revisions that are compared; that none ever came is worth saying."""
    status, evidence = lane.status, lane.evidence
    if isinstance(evidence, judging.Evidence) and (evidence.stable.revision, evidence.canary.revision) != (view.reference(status), status.canary):
        evidence = None
    if evidence is None and not status.judge_state and status.phase in _PHASES:
        return _UNMEASURED
    return evidence


def trial(lane: view.View) -> judging.Trial:
    """Return what the judge is told beside the numbers."""
    status = lane.status
    return judging.Trial(
        objectives=lane.spec.objectives,
        analysis=lane.rollout.analysis,
        steps=len(lane.rollout.steps),
        weight=_HALF if status.baseline else status.weight,
        duration=base.seconds(capacity.step(lane.rollout, status).duration),
        elapsed=elapsed(lane, status, status.step_since or status.phase_since),
        latencies=status.phase is not statuses.Phase.WARMING,
        state=status.judge_state,
    )


def elapsed(lane: view.View, status: statuses.LaneStatus, start: str | None) -> float:
    """Seconds of the phase or step in which something could be decided."""
    return max(0.0, clock.since(start, lane.now) - status.held_seconds - clock.since(status.held_since, lane.now))
