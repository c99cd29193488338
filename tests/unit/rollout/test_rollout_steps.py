"""When a step holds, goes on, ends."""

import dataclasses
from typing import Any

import pytest
from tests.unit.rollout import views

from fairlane.api import status as statuses
from fairlane.core.judge import types as judging
from fairlane.core.rollout import phases, verdict, view

PHASE, OUTCOME = statuses.Phase, statuses.Outcome


def _judged(
    outcome: statuses.Outcome, spent: float, requests: int = 100, stable: int = 100, status: dict[str, Any] | None = None, **rollout: Any
) -> view.Move:
    said = judging.Verdict(outcome, "Reason", "numbers", views.record(stable, requests), "memory")
    since = {"step_since": views.ago(spent), "phase_since": views.ago(spent)}
    steps = [{"weight": 10, "duration": "100s"}, {"weight": 50, "duration": "100s"}]
    seen = views.lane(since | (status or {}), rollout={"steps": steps} | rollout)
    return phases.advance(dataclasses.replace(seen, evidence=views.tick(), judge=lambda _evidence, _trial: said))


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
        "onInsufficient Hold holds", "onInsufficient Rollback rolls back", "no numbers hold for ever",
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


UNAVAILABLE = judging.Unavailable("PrometheusUnreachable", "connection refused")
HEARD = {"phase_since": views.ago(60), "step_since": views.ago(60), "evidence": views.record(100, 10, until=10), "judge_state": "old", "reason": "Analyzing"}


def _heard(said: judging.Verdict, status: dict[str, Any] | None = None) -> statuses.LaneStatus:
    known = HEARD | {"verdict": OUTCOME.INSUFFICIENT} | (status or {})
    return phases.advance(dataclasses.replace(views.lane(known), evidence=views.tick(), judge=lambda _evidence, _trial: said)).status


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (_heard(judging.Verdict(OUTCOME.INSUFFICIENT, "R", "m", views.record(120, 12), "new")), ("new", 12)),
        (_heard(judging.Verdict(OUTCOME.INSUFFICIENT, "R", "m", views.record(120, 12, until=8), "new")), ("old", 10)),
        (_heard(judging.Verdict(OUTCOME.PASS, "R", "m", views.record(120, 12, until=8), "new")), ("new", 12)),
        (_heard(judging.Verdict(OUTCOME.INSUFFICIENT, "R", "m", views.record(120, 12, until=500), "new")), ("new", 12)),
        (_heard(judging.Verdict(OUTCOME.UNAVAILABLE, "HistoryLost", "m", None, "moved on"), {"verdict": OUTCOME.UNAVAILABLE}), ("moved on", 10)),
        (_heard(judging.Verdict(OUTCOME.UNAVAILABLE, "NoSeries", "m", None, "old"), {"verdict": OUTCOME.UNAVAILABLE}), ("old", 10)),
    ],
    ids=[
        "after an interval", "not before", "another verdict is kept at once", "a clock of Prometheus that was set back does not stop it",
        "a memory that moved on without numbers", "no numbers, no news",
    ],
)
def test_numbers_and_memory_are_kept_together_once_an_interval(made: statuses.LaneStatus, expected: tuple[str, int]) -> None:
    assert made.evidence is not None
    assert expected == (made.judge_state, made.evidence.canary.requests)


@pytest.mark.parametrize(
    ("evidence", "status", "asked"),
    [
        (None, {"judge_state": "old"}, []),
        (None, {}, ["NotMeasured"]),
        (UNAVAILABLE, {"judge_state": "old"}, ["PrometheusUnreachable"]),
        (views.tick(canary="cccccccc-1"), {"judge_state": "old"}, []),
        (views.tick(stable="cccccccc-1"), {"judge_state": "old"}, []),
        (views.tick(), {"judge_state": "old"}, ["numbers"]),
        (views.tick(), {"weight": 0}, []),
    ],
    ids=[
        "a pass without news", "none ever came", "no numbers", "numbers of another canary", "numbers of another stable", "numbers", "a canary without traffic",
    ],
)
def test_when_the_judge_is_asked(evidence: judging.Evidence | judging.Unavailable | None, status: dict[str, Any], asked: list[str]) -> None:
    heard: list[str] = []

    def judge(evidence: judging.Evidence | judging.Unavailable, trial: judging.Trial) -> judging.Verdict:
        heard.append(evidence.reason if isinstance(evidence, judging.Unavailable) else "numbers")
        return judging.Verdict(OUTCOME.INSUFFICIENT, "R", "m")

    verdict.of(dataclasses.replace(views.lane(status), evidence=evidence, judge=judge))
    assert heard == asked


def test_a_pass_without_news_changes_nothing() -> None:
    seen = views.lane(HEARD | {"verdict": OUTCOME.UNAVAILABLE, "reason": "MetricsUnavailable", "held_since": views.ago(20), "message": "held"})
    made = phases.advance(seen)
    assert (made.status.reason, made.status.message, made.status.held_since, made.events) == ("MetricsUnavailable", "held", views.ago(20), ())


def test_what_the_judge_is_told() -> None:
    status = {"step": 1, "held_seconds": 15, "step_since": views.ago(60), "judge_state": "old"}
    steps = [{"weight": 10, "duration": "100s"}, {"weight": 50, "duration": "10m"}]
    told = verdict.trial(views.lane(status, weight=50, rollout={"steps": steps}))
    assert (told.steps, told.weight, told.duration, told.elapsed, told.latencies, told.state) == (2, 50, 600.0, 45.0, True, "old")


def test_a_baseline_shares_what_is_compared_equally() -> None:
    assert verdict.trial(views.lane({"baseline": "aaaaaaaa-2"}, weight=10)).weight == 50


@pytest.mark.parametrize(
    ("reason", "spent", "state", "expected"),
    [
        ("NoSeries", 10, "", "Analyzing"),
        ("NotMeasured", 10, "", "Analyzing"),
        ("NoSeries", 40, "", "MetricsUnavailable"),
        ("NoSeries", 10, "old", "MetricsUnavailable"),
        ("PrometheusUnreachable", 10, "", "MetricsUnavailable"),
        ("HistoryLost", 10, "old", "MetricsUnavailable"),
    ],
    ids=[
        "nothing was scraped yet", "nothing was asked yet", "not after two scrapes", "not when there were numbers",
        "a store that does not answer is said at once", "and one that forgot",
    ],
)
def test_a_young_step_excuses_only_what_its_youth_explains(reason: str, spent: float, state: str, expected: str) -> None:
    seen = views.lane({"phase_since": views.ago(spent), "step_since": views.ago(spent), "judge_state": state, "reason": "Analyzing"})
    said = judging.Verdict(OUTCOME.UNAVAILABLE, reason, "m", None, state)
    made = phases.advance(dataclasses.replace(seen, evidence=judging.Unavailable(reason, "m"), judge=lambda _evidence, _trial: said))
    assert expected == made.status.reason


@pytest.mark.parametrize(
    ("before", "reason", "state", "told"),
    [
        ("Analyzing", "PrometheusUnreachable", "old", 1),
        ("MetricsUnavailable", "PrometheusUnreachable", "old", 0),
        ("Analyzing", "HistoryLost", "moved on", 1),
        ("MetricsUnavailable", "HistoryLost", "moved on", 1),
        ("MetricsUnavailable", "HistoryLost", "old", 0),
    ],
    ids=[
        "a store that goes away", "one that stays away", "one that forgot", "one that comes back without its history", "what is not kept yet is told later",
    ],
)
def test_that_numbers_are_left_out_is_told_once_each_time(before: str, reason: str, state: str, told: int) -> None:
    seen = views.lane(HEARD | {"reason": before, "verdict": OUTCOME.UNAVAILABLE, "held_since": views.ago(20)})
    said = judging.Verdict(OUTCOME.UNAVAILABLE, reason, "m", None, state)
    made = phases.advance(dataclasses.replace(seen, evidence=judging.Unavailable(reason, "m"), judge=lambda _evidence, _trial: said))
    assert [event.reason for event in made.events] == ["MetricsUnavailable"] * told


def test_the_warm_up_is_judged_by_errors_alone() -> None:
    assert verdict.trial(views.lane({"phase": PHASE.WARMING})).latencies is False
