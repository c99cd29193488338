"""What the steps can show, said beforehand."""

import dataclasses
from typing import Any

import pytest
from tests.unit.rollout import views

from fairlane.api import spec as specs
from fairlane.api import status as statuses
from fairlane.core.rollout import expectation, phases

PHASE = statuses.Phase
LOADING = {"phase": PHASE.LOADING, "weight": 0, "step_since": None}


def _words(rate: float, weight: int = 10, duration: str = "30m", **rollout: Any) -> str:
    return expectation.words(rate, specs.Rollout.model_validate({"steps": [{"weight": weight, "duration": duration}], **rollout}))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (_words(2), "at 2 requests/s, the mean of the last hour; 10 % for 30m brings about 360 canary requests ("),
        (_words(2), "(seen: half of the requests fail, 1 in 5 is slow, 5 % fail. not seen: 1 in 20 is slow, the p99 is five times as long, 1 % fail)"),
        (_words(2), "a Pass needs about 2400 canary requests: 10 % takes 3h20m;"),
        (_words(7), "10 % takes 57m9s or 20 % for 30m;"),
        (_words(3.0), "perhaps: 1 in 20 is slow, the p99 is five times as long. not seen: 1 % fail"),
        (_words(0.2, onInsufficient="Hold"), "a step without a Pass waits for `fairlane promote` or `abort` (rollout.onInsufficient: Hold)"),
        (_words(0.2, onInsufficient="Rollback"), "a step without a Pass rolls the canary back (rollout.onInsufficient: Rollback)"),
        (_words(0.2), "goes on as no evidence of harm when 50 canary requests are in, which takes 41m40s at 10 % (rollout.onInsufficient: Advance)"),
        (_words(2), "goes on as no evidence of harm when 50 canary requests are in (rollout.onInsufficient: Advance)"),
        (_words(0.005), "bring about 1 canary requests: not even that half of them fail would be seen in time (about 14 needed); a Pass needs"),
        (_words(0), "the lane had no request in the last hour: no step can show anything, and a step without a Pass goes on"),
        (_words(0.1, analysis={"syntheticLoad": {"requestsPerSecond": "2"}}), "at 2 requests/s, with synthetic load, as long as its 5000 requests last; "),
        (_words(5, analysis={"syntheticLoad": {"requestsPerSecond": "2"}}), "at 5 requests/s, the mean of the last hour; "),
    ],
    ids=[
        "requests of a step", "what they show and what not", "the time to a Pass", "the weight too, where the stable keeps half", "between the medians",
        "Hold", "Rollback", "Advance, and how long minRequests take", "Advance in time", "a rate that shows nothing", "no traffic at all",
        "synthetic load fills up", "but not what users bring",
    ],
)
def test_the_words(said: str, expected: str) -> None:
    assert expected in said


def test_where_a_pass_can_be_earned_nothing_is_said_of_what_happens_without() -> None:
    said = _words(20)
    assert said.endswith("the p99 is five times as long, 1 % fail, a Pass can be earned)")
    assert "without a Pass" not in said


@pytest.mark.parametrize("rate", [0, 0.003, 0.2, 2, 200])
def test_it_fits_into_an_event_for_many_steps(rate: float) -> None:
    rollout = specs.Rollout.model_validate({"steps": [{"weight": weight, "duration": "10m"} for weight in (5, 10, 50)]})
    assert len(expectation.words(rate, rollout)) < 1000


@pytest.mark.parametrize(
    ("status", "rate", "told"),
    [
        (LOADING, 2.0, True),
        (LOADING | {"phase": PHASE.WAITING}, 2.0, True),
        (LOADING, None, False),
        (LOADING | {"expected": "said"}, 2.0, False),
        (LOADING | {"promote_when_ready": True}, 2.0, False),
        ({"phase": PHASE.LOADING, "weight": 10, "step": 1}, 2.0, False),
        ({}, 2.0, False),
    ],
    ids=["while it loads", "while it waits", "not without a rate", "not twice", "not before a promotion", "not at a later step", "not when it is judged"],
)
def test_it_is_said_once_before_the_canary_has_traffic(status: dict[str, Any], rate: float | None, told: bool) -> None:
    pods = (views.pod(views.STABLE, name="s"), views.pod(ready=False))
    made = phases.advance(dataclasses.replace(views.lane(status, pods=pods), rate=rate))
    assert told == (made.status.expected not in ("", "said"))
    assert told == ("EvidenceExpected" in [event.reason for event in made.events])
