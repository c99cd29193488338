"""Why a lane's rollout stands or ended as it did: the sentence, the decisive metric, both sides' numbers. Pure."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from rich import markup, table

from ..api import status as statuses
from ..core.judge import shares
from . import output, views


@dataclasses.dataclass(frozen=True)
class Answer:
    """One lane's story."""

    lane: str
    headline: str
    message: str
    evidence: statuses.EvidenceRecord | None
    decisions: tuple[statuses.Decision, ...]

    def dump(self) -> dict[str, Any]:
        """The JSON form."""
        evidence = self.evidence.dump() if self.evidence else None
        told = {"lane": self.lane, "headline": self.headline, "message": self.message}
        return {**told, "evidence": evidence, "decisions": [item.dump() for item in self.decisions]}


def answers(service: Mapping[str, Any], lane: str | None) -> list[Answer]:
    """Return the story of each lane, or of one; CommandError where the lane does not exist."""
    lanes = [views.lane_of(service, lane)] if lane else views.status_of(service).lanes
    return [_answer(service, found) for found in lanes]


def _answer(service: Mapping[str, Any], lane: statuses.LaneStatus) -> Answer:
    if lane.phase is not statuses.Phase.IDLE:
        canary = f"canary {lane.canary} beside stable {lane.stable}" if lane.canary else f"stable {lane.stable}"
        headline = f"{lane.phase}: {canary}, {lane.weight} % of the requests" if lane.canary else f"{lane.phase}: {canary}"
        return Answer(lane.name, headline, lane.message or lane.reason, lane.evidence or _last_evidence(lane.decisions), tuple(lane.decisions))
    ended = views.records(service, lane.name)
    if not ended:
        return Answer(lane.name, f"{lane.stable or 'nothing'} serves; no rollout has ended yet", lane.message, None, ())
    last = ended[0]
    took = views.duration(views.moment(last.ended_at) - views.moment(last.started_at))
    headline = f"{last.canary} {_RESULTS[last.result]} after {took}, at {last.ended_at}, on {last.canary_requests} canary requests; {lane.stable} serves"
    return Answer(lane.name, headline, last.message or last.reason, _last_evidence(last.decisions), tuple(last.decisions))


_RESULTS = {
    statuses.Result.PROMOTED: "was promoted",
    statuses.Result.ROLLED_BACK: "was rolled back",
    statuses.Result.SUPERSEDED: "was superseded",
}


def _last_evidence(decisions: list[statuses.Decision]) -> statuses.EvidenceRecord | None:
    return next((decision.evidence for decision in reversed(decisions) if decision.evidence), None)


def decisive(evidence: statuses.EvidenceRecord) -> str:
    """Which metric decided and by how much; empty where none did."""
    if not evidence.metric:
        return ""
    over = f" over {evidence.edge}" if evidence.edge else ""
    canary, bound = (_percent(text) for text in (evidence.canary_share, evidence.canary_bound))
    stable, limit = (_percent(text) for text in (evidence.stable_share, evidence.stable_bound))
    name = shares.NAMES.get(evidence.metric, evidence.metric)
    return f"Decided by {name}{over}: canary {canary} (at least {bound}), stable {stable} (bound {limit}). Rule: {evidence.rule}"


def numbers(evidence: statuses.EvidenceRecord) -> table.Table:
    """Both sides beside each other."""
    made = output.table("", "STABLE", "CANARY", "CHANGE")
    stable, canary = evidence.stable, evidence.canary
    made.add_row("revision", stable.revision, canary.revision, "")
    made.add_row("requests", str(stable.requests), str(canary.requests), "")
    made.add_row("requests per replica", *(f"{side.requests / side.replicas:.0f}" if side.replicas else "-" for side in (stable, canary)), "")
    made.add_row("errors", *(f"{side.errors} ({_share(side)})" for side in (stable, canary)), "")
    for name, field in _LATENCIES:
        before, after = getattr(stable, field), getattr(canary, field)
        made.add_row(name, _ms(before), _ms(after), f"x {after / before:.2f}" if before and after is not None else "")
    return made


_LATENCIES = (("TTFT p50", "ttft_p50_ms"), ("TTFT p99", "ttft_p99_ms"), ("ITL p99", "itl_p99_ms"), ("queue p99", "queue_p99_ms"), ("E2E p99", "e2e_p99_ms"))


def steps(decisions: tuple[statuses.Decision, ...]) -> table.Table:
    """One row per decision."""
    made = output.table("TIME", "STEP", "WEIGHT", "VERDICT", "WHY")
    for decision in decisions:
        made.add_row(decision.time, str(decision.step), f"{decision.weight} %", views.coloured(decision.verdict), markup.escape(decision.message))
    return made


def _share(side: statuses.TrackEvidence) -> str:
    return shares.percent(side.errors / side.requests) if side.requests else "-"


def _ms(value: int | None) -> str:
    return "-" if value is None else f"{value} ms"


def _percent(text: str) -> str:
    try:
        return shares.percent(float(text))
    except ValueError:
        return text or "-"
