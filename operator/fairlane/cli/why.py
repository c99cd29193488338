"""Why a lane's rollout stands or ended as it did: one answer a lane, from the status alone. Pure."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from ..api import status as statuses
from ..core.rollout import advice
from . import views

_RESULTS = {
    statuses.Result.PROMOTED: "was promoted",
    statuses.Result.ROLLED_BACK: "was rolled back",
    statuses.Result.SUPERSEDED: "was superseded",
    statuses.Result.TRIED: "was tried",
}


@dataclasses.dataclass(frozen=True)
class Answer:
    """One lane's story. The verdict is the one that the evidence led to, the reason why the rollout ended or ends; empty where it does not."""

    lane: str
    headline: str
    message: str
    verdict: statuses.Outcome | None = None
    evidence: statuses.EvidenceRecord | None = None
    decisions: tuple[statuses.Decision, ...] = ()
    started: str | None = None
    expected: str = ""
    reason: str = ""

    @property
    def advice(self) -> advice.Advice:
        """What failed and what to do, where the message says it: a load that failed."""
        return advice.parts(self.message)

    def dump(self) -> dict[str, Any]:
        """The JSON form; what there is none of is null or empty."""
        evidence = self.evidence.dump() if self.evidence else None
        told = {"lane": self.lane, "headline": self.headline, "message": self.message, "reason": self.reason, "remedy": self.advice.remedy}
        judged = {"verdict": self.verdict and str(self.verdict), "startedAt": self.started, "expected": self.expected}
        return {**told, **judged, "evidence": evidence, "decisions": [item.dump() for item in self.decisions]}


def answers(service: Mapping[str, Any], lane: str | None) -> list[Answer]:
    """Return the story of each lane, or of one; CommandError where the lane does not exist."""
    lanes = [views.lane_of(service, lane)] if lane else views.status_of(service).lanes
    return [_answer(service, found) for found in lanes]


def ended(record: statuses.RolloutRecord, serves: str) -> Answer:
    """The story of a rollout that has ended, and what serves now."""
    took = views.duration(views.moment(record.ended_at) - views.moment(record.started_at))
    how = f"{record.canary} {_RESULTS[record.result]} after {took}, at {record.ended_at}"
    headline = f"{how}, on {record.canary_requests} canary requests{_synthetic(record)}; {serves or 'nothing'} serves"
    last = _last(record.decisions)
    verdict, evidence = (last.verdict, last.evidence) if last else (None, None)
    return Answer(record.lane, headline, record.message or record.reason, verdict, evidence, tuple(record.decisions), record.started_at, "", record.reason)


def _synthetic(record: statuses.RolloutRecord) -> str:
    """How many of the lane's requests no user sent; empty where all are users'."""
    return f" ({record.synthetic_requests} of both tracks' were synthetic)" if record.synthetic_requests else ""


def _answer(service: Mapping[str, Any], lane: statuses.LaneStatus) -> Answer:
    if lane.phase is not statuses.Phase.IDLE:
        return _running(lane)
    records = views.records(service, lane.name)
    if records:
        return ended(records[0], lane.stable)
    return Answer(lane.name, f"{lane.stable or 'nothing'} serves; no rollout has ended yet", lane.message)


def _running(lane: statuses.LaneStatus) -> Answer:
    canary = f"canary {lane.canary} beside stable {lane.stable}, {lane.weight} % of the requests" if lane.canary else f"stable {lane.stable}"
    headline = f"{lane.phase}: {canary}" + "".join(f"; {told}" for told in views.notes(lane))
    last = _last(lane.decisions)
    evidence, verdict = (lane.evidence, lane.verdict) if lane.evidence or not last else (last.evidence, last.verdict)
    reason = lane.reason if lane.phase is statuses.Phase.ROLLING_BACK else ""
    return Answer(lane.name, headline, lane.message or lane.reason, verdict, evidence, tuple(lane.decisions), lane.started_at, lane.expected, reason)


def _last(decisions: list[statuses.Decision]) -> statuses.Decision | None:
    """The last decision with numbers."""
    return next((decision for decision in reversed(decisions) if decision.evidence), None)
