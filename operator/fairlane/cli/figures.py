"""The numbers behind a verdict as rows and sentences, for the terminal and for the page alike. Pure."""

import dataclasses
import re

from ..api import status as statuses
from ..core.judge import shares
from . import views

_LATENCIES = (
    ("TTFT p50", "ttft_p50_ms", ""),
    ("TTFT p99", "ttft_p99_ms", "ttft_p99_range"),
    ("ITL p99", "itl_p99_ms", ""),
    ("TPOT p99", "tpot_p99_ms", ""),
    ("queue p99", "queue_p99_ms", ""),
    ("E2E p99", "e2e_p99_ms", "e2e_p99_range"),
)
_PERCENTS = (
    ("prefix cache hits", "prefix_hit_percent"),
    ("KV cache in use", "kv_use_percent"),
    ("GPU utilisation", "gpu_utilization_percent"),
    ("GPU memory in use", "gpu_memory_percent"),
)
_EDGE = re.compile(r"([0-9.]+(?:e[+-]?[0-9]+)?) ?(ms|s)")


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of both sides' numbers; the change is the canary's over the stable's."""

    name: str
    stable: str
    canary: str
    change: str = ""


@dataclasses.dataclass(frozen=True)
class Step:
    """One decision as a line: how long after the rollout's start, the step from 1."""

    after: str
    step: str
    weight: str
    verdict: str
    requests: str
    e_value: str
    why: str


def rows(evidence: statuses.EvidenceRecord) -> list[Row]:
    """Both sides beside each other; what neither side has is left out."""
    stable, canary = evidence.stable, evidence.canary
    found = [
        Row("revision", stable.revision, canary.revision),
        Row("requests", str(stable.requests), str(canary.requests)),
        Row("requests per replica", _per_replica(stable), _per_replica(canary), f"x {evidence.load_ratio}" if evidence.load_ratio else ""),
        Row("errors", _errors(stable), _errors(canary), _change(_share(stable), _share(canary))),
    ]
    found += [Row("aborts by the client", str(stable.aborts), str(canary.aborts))] if stable.aborts or canary.aborts else []
    found += [_latency(evidence, *which) for which in _LATENCIES if _any(evidence, which[1])]
    found += [Row("preemptions", str(stable.preemptions), str(canary.preemptions))] if stable.preemptions or canary.preemptions else []
    found += [Row(name, _number(stable, field, "%"), _number(canary, field, "%")) for name, field in _PERCENTS if _any(evidence, field)]
    return found


def deciding(evidence: statuses.EvidenceRecord, verdict: statuses.Outcome | None) -> str:
    """Which metric decided, or comes closest to it: by how much, on how many requests, how sure; empty where there is none."""
    if not evidence.metric:
        return ""
    name = shares.NAMES.get(evidence.metric, evidence.metric.capitalize())
    head = "Decided by" if verdict is statuses.Outcome.FAIL else "Closest to harm:"
    over = f" over {evidence.edge}" if evidence.edge else ""
    if evidence.metric == "hangs":
        over = " (who completed the requests)"
    canary, stable = _hits(evidence.canary_over, evidence.canary_total), _hits(evidence.stable_over, evidence.stable_total)
    needs = f"; e-value {evidence.e_value}, needs {evidence.threshold}" if evidence.e_value else ""
    return f"{head} {name}{over}: canary {canary}, stable {stable}{needs}"


def meaning(evidence: statuses.EvidenceRecord) -> str:
    """What the e-value means, in plain words; empty where there is none."""
    if not evidence.e_value:
        return ""
    limit = evidence.threshold
    chance = f" A harmless canary reaches {limit} in at most 1 of {limit} steps, however often one looks." if limit else ""
    return f"The e-value is how strongly the numbers speak for harm; 1 says nothing.{chance}"


def passing(evidence: statuses.EvidenceRecord, verdict: statuses.Outcome | None) -> str:
    """How far the numbers prove that there is no harm; empty where there is no such number, or harm."""
    if not evidence.pass_e_value or verdict is statuses.Outcome.FAIL:
        return ""
    needs = f", needs {evidence.pass_threshold} for a Pass" if evidence.pass_threshold else ""
    return f"Evidence that the canary is not worse: {evidence.pass_e_value}{needs}"


def steps(decisions: tuple[statuses.Decision, ...], started: str | None, told: str) -> list[Step]:
    """One line per decision; a sentence that was `told` above is not told again."""
    return [_step(decision, started, told) for decision in decisions]


def edge_ms(evidence: statuses.EvidenceRecord) -> float | None:
    """The deciding edge in milliseconds; None where it is no time."""
    found = _EDGE.fullmatch(evidence.edge)
    if found is None:
        return None
    try:
        value = float(found[1])
    except ValueError:
        return None
    return value if found[2] == "ms" else value * 1000


def _step(decision: statuses.Decision, started: str | None, told: str) -> Step:
    after = views.duration(views.moment(decision.time) - views.moment(started)) if started else decision.time
    requests = str(decision.evidence.canary.requests) if decision.evidence else "-"
    why = decision.reason if decision.message in ("", told) else decision.message
    return Step(after, str(decision.step + 1), f"{decision.weight} %", str(decision.verdict), requests, views.e_value(decision.evidence), why)


def _latency(evidence: statuses.EvidenceRecord, name: str, field: str, span: str) -> Row:
    before, after = getattr(evidence.stable, field), getattr(evidence.canary, field)
    ranges = [getattr(side, span) if span else "" for side in (evidence.stable, evidence.canary)]
    cells = [_number(side, field, "ms") + (f" ({within})" if within else "") for side, within in zip((evidence.stable, evidence.canary), ranges, strict=True)]
    return Row(f"{name} (95 % range)" if any(ranges) else name, cells[0], cells[1], _change(before, after))


def _any(evidence: statuses.EvidenceRecord, field: str) -> bool:
    return any(getattr(side, field) is not None for side in (evidence.stable, evidence.canary))


def _number(side: statuses.TrackEvidence, field: str, unit: str) -> str:
    value = getattr(side, field)
    return "-" if value is None else f"{value} {unit}"


def _change(before: float | None, after: float | None) -> str:
    return f"x {after / before:.2f}" if before and after else ""


def _per_replica(side: statuses.TrackEvidence) -> str:
    return f"{side.requests / side.replicas:.0f}" if side.replicas else "-"


def _share(side: statuses.TrackEvidence) -> float | None:
    return side.errors / side.requests if side.requests else None


def _errors(side: statuses.TrackEvidence) -> str:
    share = _share(side)
    hidden = f", {side.hidden_errors} hidden by a retry" if side.hidden_errors else ""
    return f"{side.errors}" + (f" ({shares.percent(share)}{hidden})" if share is not None else "")


def _hits(over: int, total: int) -> str:
    return f"{over} of {total} ({shares.percent(over / total)})" if total else "without requests"
