"""When a step holds, goes on, ends."""

import dataclasses
from typing import Any

import pytest
from tests.unit.rollout import views

from fairlane.api import status as statuses
from fairlane.core.judge import types as judging
from fairlane.core.rollout import phases, view

PHASE, OUTCOME = statuses.Phase, statuses.Outcome


def _judged(
    outcome: statuses.Outcome, spent: float, requests: float = 100, stable: float = 100, status: dict[str, Any] | None = None, **rollout: Any
) -> view.Move:
    sides = judging.TrackSamples(views.STABLE, stable, replicas=2), judging.TrackSamples(views.CANARY, requests, replicas=1)
    evidence = judging.Evidence(views.NOW, views.NOW, *sides)
    since = {"step_since": views.ago(spent), "phase_since": views.ago(spent)}
    steps = [{"weight": 10, "duration": "100s"}, {"weight": 50, "duration": "100s"}]
    seen = views.lane(since | (status or {}), rollout={"steps": steps} | rollout)
    return phases.advance(dataclasses.replace(seen, evidence=evidence, judge=lambda *_, **__: judging.Verdict(outcome, "Reason", "numbers")))


LAST = {"step": 1}


@pytest.mark.parametrize(
    ("made", "phase", "step", "reason"),
    [
        (_judged(OUTCOME.FAIL, 1), PHASE.ROLLING_BACK, 0, "Reason"),
        (_judged(OUTCOME.PASS, 40), PHASE.ANALYZING, 0, "Analyzing"),
        (_judged(OUTCOME.PASS, 50), PHASE.ANALYZING, 1, "Analyzing"),
        (_judged(OUTCOME.INSUFFICIENT, 99), PHASE.ANALYZING, 0, "Analyzing"),
        (_judged(OUTCOME.INSUFFICIENT, 100), PHASE.ANALYZING, 1, "Analyzing"),
        (_judged(OUTCOME.INSUFFICIENT, 100, requests=49), PHASE.ANALYZING, 0, "Holding"),
        (_judged(OUTCOME.INSUFFICIENT, 100, onInsufficient="Hold"), PHASE.ANALYZING, 0, "Holding"),
        (_judged(OUTCOME.INSUFFICIENT, 100, onInsufficient="Rollback"), PHASE.ROLLING_BACK, 0, "InsufficientEvidence"),
        (_judged(OUTCOME.UNAVAILABLE, 1000), PHASE.ANALYZING, 0, "MetricsUnavailable"),
        (_judged(OUTCOME.UNAVAILABLE, 10), PHASE.ANALYZING, 0, "Analyzing"),
        (_judged(OUTCOME.INSUFFICIENT, 150, status={"held_seconds": 60}), PHASE.ANALYZING, 0, "Analyzing"),
        (_judged(OUTCOME.INSUFFICIENT, 160, status={"held_seconds": 60}), PHASE.ANALYZING, 1, "Analyzing"),
        (_judged(OUTCOME.INSUFFICIENT, 1000, status={"paused": True}), PHASE.ANALYZING, 0, "Paused"),
        (_judged(OUTCOME.FAIL, 1000, status={"paused": True}), PHASE.ROLLING_BACK, 0, "Reason"),
        (_judged(OUTCOME.PASS, 60, status=LAST), PHASE.PROMOTING, 1, "Promoting"),
        (_judged(OUTCOME.PASS, 60, requests=30, status=LAST), PHASE.ANALYZING, 1, "Analyzing"),
        (_judged(OUTCOME.PASS, 100, requests=30, status=LAST), PHASE.ANALYZING, 1, "Holding"),
        (_judged(OUTCOME.INSUFFICIENT, 100, status=LAST), PHASE.PROMOTING, 1, "Promoting"),
        (_judged(OUTCOME.FAIL, 100, status={"phase": PHASE.PROMOTING}), PHASE.ROLLING_BACK, 0, "Reason"),
        (_judged(OUTCOME.FAIL, 100, status={"phase": PHASE.LOADING, "step": 1}), PHASE.ROLLING_BACK, 1, "Reason"),
    ],
    ids=[
        "a Fail ends it at once", "a Pass waits for half the step", "and then goes on", "Insufficient waits for the whole step", "and then goes on",
        "with too few requests it holds",
        "onInsufficient Hold holds", "onInsufficient Rollback rolls back", "no numbers hold for ever", "a step that has just begun has none yet",
        "time without numbers does not count", "but the rest does", "a pause holds", "a pause does not keep a failing canary",
        "a Pass at the last step promotes",
        "a Pass without the lane's load is none", "and ends as Insufficient does", "no harm at the last step promotes",
        "a Fail counts while promoting", "and while more replicas load",
    ],
)
def test_steps(made: view.Move, phase: statuses.Phase, step: int, reason: str) -> None:
    assert (phase, step, reason) == (made.status.phase, made.status.step, made.status.reason)


def test_a_fail_takes_the_weight_and_keeps_the_numbers() -> None:
    made = _judged(OUTCOME.FAIL, 30)
    assert (made.status.weight, made.status.rejected, made.status.decisions[-1].weight) == (0, ["bbbbbbbb"], 10)
    assert made.status.message == "bbbbbbbb-1 was rolled back at 10 %, 30s into the step: numbers"
    assert [event.reason for event in made.events] == ["RollingBack"]


def test_advancing_without_a_pass_is_recorded_as_no_evidence_of_harm() -> None:
    decision = _judged(OUTCOME.INSUFFICIENT, 100).status.decisions[-1]
    assert (decision.verdict, decision.reason) == (OUTCOME.INSUFFICIENT, "NoEvidenceOfHarm")
    assert decision.message.startswith("no evidence of harm, which is no Pass: numbers")


def test_a_last_step_with_too_little_load_says_so() -> None:
    made = _judged(OUTCOME.INSUFFICIENT, 100, requests=60, stable=300, status=LAST)
    assert made.status.decisions[-1].message.endswith("; requests per replica were 40% of the stable's")
