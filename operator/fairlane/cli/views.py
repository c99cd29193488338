"""What people read of a service's status. Pure: objects in, tables out."""

import datetime
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich import markup, table

from ..api import status as statuses
from . import failures, output

_COLOURS = {
    **dict.fromkeys(("Fail", "RolledBack", "RollingBack"), "red"),
    **dict.fromkeys(("Promoted", "Tried", "Pass", "True"), "green"),
    "Unavailable": "yellow",
}


def status_of(service: Mapping[str, Any]) -> statuses.LLMServiceStatus:
    """The typed status of a service; empty before the operator's first pass."""
    return statuses.LLMServiceStatus.model_validate(service.get("status") or {})


def lane_of(service: Mapping[str, Any], lane: str) -> statuses.LaneStatus:
    """One lane's status; CommandError says which lanes there are."""
    lanes = status_of(service).lanes
    for found in lanes:
        if found.name == lane:
            return found
    raise failures.missing("lane", lane, f"service {service['metadata']['name']}", [found.name for found in lanes])


def services(items: Iterable[Mapping[str, Any]], now: datetime.datetime, namespaces: bool) -> table.Table:
    """One row per service."""
    made = output.table(*(["NAMESPACE"] if namespaces else []), "NAME", "MODEL", "READY", "LANES", "ROLLOUT", "AGE")
    for item in items:
        seen = status_of(item)
        meta = item["metadata"]
        cells = [meta["name"], item.get("spec", {}).get("model", {}).get("name", "default"), _ready(seen), seen.lanes_ready or "-", seen.rollout or "-"]
        made.add_row(*([meta["namespace"]] if namespaces else []), *map(coloured, cells), age(meta.get("creationTimestamp"), now))
    return made


def conditions(service: Mapping[str, Any]) -> table.Table:
    """One row per condition."""
    made = output.table("CONDITION", "STATUS", "REASON", "MESSAGE")
    for condition in status_of(service).conditions:
        made.add_row(condition.type, coloured(condition.status), condition.reason, markup.escape(condition.message))
    return made


def lanes(service: Mapping[str, Any], now: datetime.datetime) -> table.Table:
    """One row per lane."""
    made = output.table("LANE", "PHASE", "STABLE", "READY", "CANARY", "READY", "WEIGHT", "SINCE", "VERDICT")
    for lane in status_of(service).lanes:
        phase = coloured(lane.phase) + (" (paused)" if lane.paused else "")
        canary = (lane.canary, f"{lane.canary_ready_replicas}/{lane.canary_replicas}", f"{lane.weight} %") if lane.canary else ("-", "-", "-")
        verdict = coloured(lane.verdict) if lane.verdict else "-"
        made.add_row(lane.name, phase, lane.stable or "-", f"{lane.ready_replicas}/{lane.replicas}", *canary, age(lane.phase_since, now), verdict)
    return made


def messages(service: Mapping[str, Any]) -> Iterator[str]:
    """The sentences of each lane: where it stands, what is special, what its steps can be expected to show."""
    for lane in status_of(service).lanes:
        told = ([lane.message] if lane.message else []) + notes(lane) + ([f"expected: {lane.expected}"] if lane.expected and _ahead(lane) else [])
        yield from (markup.escape(f"{lane.name}: {sentence}") for sentence in told)


def notes(lane: statuses.LaneStatus) -> list[str]:
    """What is special about a lane's rollout."""
    trial = ["a trial of the unchanged revision, never promoted"] if lane.trial else []
    return trial + ([f"compared with {lane.baseline}, a fresh baseline"] if lane.baseline else [])


def _ahead(lane: statuses.LaneStatus) -> bool:
    """Whether evidence is still to come."""
    return lane.phase in (statuses.Phase.WAITING, statuses.Phase.LOADING, statuses.Phase.WARMING, statuses.Phase.ANALYZING)


def history(ended: Iterable[statuses.RolloutRecord]) -> table.Table:
    """One row per ended rollout."""
    made = output.table("ENDED", "LANE", "FROM", "TO", "RESULT", "TOOK", "REQUESTS", "E-VALUE", "WHY")
    for record in ended:
        took = duration(moment(record.ended_at) - moment(record.started_at))
        cells = (record.lane, record.stable or "-", record.canary, coloured(record.result), took, str(record.canary_requests), markup.escape(_e_value(record)))
        made.add_row(record.ended_at, *cells, markup.escape(record.message or record.reason))
    return made


def records(service: Mapping[str, Any], lane: str | None) -> list[statuses.RolloutRecord]:
    """The ended rollouts, the last first."""
    if lane is not None:
        lane_of(service, lane)
    kept = [record for record in status_of(service).history if lane in (None, record.lane)]
    return sorted(kept, key=lambda record: record.ended_at, reverse=True)


def coloured(text: str) -> str:
    """The word in its colour, if it has one."""
    colour = _COLOURS.get(str(text))
    return f"[{colour}]{text}[/]" if colour else markup.escape(str(text))


def age(since: str | None, now: datetime.datetime) -> str:
    """How long ago."""
    return duration(now - moment(since)) if since else "-"


def moment(text: str) -> datetime.datetime:
    """An instant of the API."""
    return datetime.datetime.fromisoformat(text)


def duration(length: datetime.timedelta) -> str:
    """A time in its largest two units."""
    seconds = max(int(length.total_seconds()), 0)
    for unit, size, smaller, part in (("d", 86400, "h", 3600), ("h", 3600, "m", 60), ("m", 60, "s", 1)):
        if seconds >= size:
            rest = seconds % size // part
            return f"{seconds // size}{unit}" + (f"{rest}{smaller}" if rest else "")
    return f"{seconds}s"


def e_value(evidence: statuses.EvidenceRecord | None) -> str:
    """The e-value and its threshold."""
    return f"{evidence.e_value} of {evidence.threshold or '?'}" if evidence and evidence.e_value else "-"


def _e_value(record: statuses.RolloutRecord) -> str:
    """Those of the decision that ended the rollout, or of the last one that has any."""
    return next((told for decision in reversed(record.decisions) if (told := e_value(decision.evidence)) != "-"), "-")


def _ready(seen: statuses.LLMServiceStatus) -> str:
    return next((condition.status for condition in seen.conditions if condition.type == "Ready"), "Unknown")
