"""What the history keeps, and that it stays small."""

from typing import Any

import pytest
from tests.unit.rollout import views

from fairlane.api import status as statuses
from fairlane.core.rollout import history, record

LONG = "x" * 1000
BIG = 10_000_000
EDGES = 128


def _track(revision: str) -> statuses.TrackEvidence:
    """A side of a busy lane with every number there is."""
    numbers = {name: BIG for name, field in statuses.TrackEvidence.model_fields.items() if field.annotation in (int, int | None)}
    return statuses.TrackEvidence(revision=revision, ttft_p99_range="100000-1000000", e2e_p99_range="100000-1000000", **numbers)


def _evidence(edges: int = EDGES) -> statuses.EvidenceRecord:
    counts = [BIG + number for number in range(edges + 1)]
    words: dict[str, Any] = dict.fromkeys(("load_ratio", "edge", "e_value", "threshold", "pass_e_value", "pass_threshold"), "1.234567e+123")
    numbers: dict[str, Any] = dict.fromkeys(("canary_over", "canary_total", "stable_over", "stable_total"), BIG)
    distribution = statuses.Distribution(metric="router_duration", edges_ms=counts[:edges], stable=counts, canary=counts)
    return statuses.EvidenceRecord(
        since=views.ago(60), until=views.ago(0), stable=_track(views.STABLE), canary=_track(views.CANARY), metric="router_duration", rule="r" * 200,
        distribution=distribution, **words, **numbers,
    )


def _decision(step: int, message: str = LONG, evidence: statuses.EvidenceRecord | None = None) -> statuses.Decision:
    return statuses.Decision(
        time=views.ago(0), step=step, weight=10, verdict=statuses.Outcome.INSUFFICIENT, reason="NoEvidenceOfHarm", message=message, evidence=evidence
    )


def _ended(decisions: list[statuses.Decision]) -> statuses.RolloutRecord:
    status = {"decisions": decisions, "started_at": views.ago(600)}
    lane = views.lane(status)
    return record.ended(lane, lane.status, statuses.Result.PROMOTED, "Promoted", LONG)


@pytest.mark.parametrize(
    "decisions",
    [
        [_decision(number, evidence=_evidence()) for number in range(10)],
        [_decision(number, "\u20ac" * 1000, _evidence()) for number in range(10)],
        [_decision(number, "m", _evidence()) for number in range(10)],
        [_decision(0, "\u20ac" * 4096, _evidence())],
    ],
    ids=["ten steps of a busy lane", "in words of three bytes a letter", "in few words", "one step with too much to say"],
)
def test_no_record_is_larger_than_eight_kibibytes(decisions: list[statuses.Decision]) -> None:
    assert history.size(_ended(decisions)) <= 8192


def test_what_fits_is_kept_whole() -> None:
    decisions = [_decision(0, "first", _evidence(5)), _decision(1, "second", _evidence(5))]
    assert _ended(decisions).decisions == decisions


def test_the_last_decision_keeps_its_numbers_and_their_distribution() -> None:
    kept = _ended([_decision(number, evidence=_evidence(40)) for number in range(10)]).decisions
    assert [item.evidence is not None for item in kept] == [False] * 9 + [True]
    assert kept[-1] == _decision(9, evidence=_evidence(40))


def test_only_the_latest_numbers_keep_their_distribution() -> None:
    seen = views.lane({"decisions": [_decision(0, "first", _evidence())]})
    decisions = record.added(seen.status, _decision(1, "second", _evidence()))
    assert [item.evidence is not None and item.evidence.distribution is not None for item in decisions] == [False, True]
    commanded = record.added(views.lane({"decisions": decisions}).status, _decision(1, "aborted"))
    assert [item.evidence is not None and item.evidence.distribution is not None for item in commanded] == [False, True, False]


def test_the_history_keeps_ten_rollouts_the_latest_first() -> None:
    before = [_ended([_decision(number, "old")]) for number in range(10)]
    new = _ended([_decision(11, "new")])
    assert history.remembered(before, [new]) == [new, *before[:9]]
