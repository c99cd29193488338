"""`fairlane trial`: what it orders, what keeps it from it, and what it says at the end."""

import copy
from typing import Any

import pytest
from tests.unit.cli import served
from typer import testing

from fairlane.cli import failures, main

RUNNER = testing.CliRunner()
PASSED = served.DECISIONS[0] | {"verdict": "Insufficient"}
ALARM = served.DECISIONS[1]


def run(*args: str) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    done = RUNNER.invoke(main.app, ["trial", "assistant", *args])
    return done.exit_code, done.stdout, done.stderr


def lane(fake: Any, **fields: Any) -> None:
    """Let chat be idle and unchanged, but for these fields."""
    idle = {"phase": "Idle", "canary": "", "weight": 0, "desiredHash": "5d2e9c41", "message": "", "evidence": None, "expected": ""}
    fake.kept[0]["status"]["lanes"][0] |= idle | fields


def course(fake: Any, *states: dict[str, Any], **record: Any) -> None:
    """Let the lane go through these states, one a look once the order was followed, then let the trial have ended."""
    coming = list(states)
    follow = fake._operate

    def operate(item: dict[str, Any]) -> None:
        status = item["status"]
        if status["handledCommands"] and coming:
            status["lanes"][0] |= coming.pop(0)
        elif status["handledCommands"]:
            status["lanes"][0] |= {"phase": "Idle", "canary": ""}
            ended = {"canary": "5d2e9c41-2", "result": "Tried", "startedAt": "2026-01-01T13:00:00Z", "endedAt": "2026-01-01T13:40:00Z"}
            status["history"] = [copy.deepcopy(served.RECORD) | ended | record, served.RECORD]
        follow(item)

    fake._operate = operate


def test_a_trial_is_ordered_for_the_revision_that_serves(fake: Any) -> None:
    lane(fake)
    code, out, _ = run("chat")
    assert code == 0
    assert [{key: order[key] for key in ("command", "lane", "revision")} for order in fake.orders] == [
        {"command": "trial", "lane": "chat", "revision": "5d2e9c41-1"}
    ]
    assert out.splitlines()[0] == "trial assistant chat 5d2e9c41-1: the weight stays"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        pytest.param(
            {"phase": "Analyzing", "canary": "new-2"},
            "the lane is Analyzing (canary new-2); wait until it is Idle (fairlane status assistant), or `fairlane abort assistant chat`",
            id="a running rollout",
        ),
        pytest.param(
            {"phase": "Waiting"}, "the lane is Waiting; wait until it is Idle (fairlane status assistant), or `fairlane abort assistant chat`",
            id="no canary yet",
        ),
        pytest.param({"stable": ""}, "the lane serves no revision yet; wait until it is ready (fairlane status assistant)", id="a new lane"),
        pytest.param(
            {"desiredHash": "7c1f0a2b"}, "the spec asks for 7c1f0a2b, but 5d2e9c41-1 serves, and a trial needs an unchanged spec; "
            "change the spec back, or let it roll out first (`fairlane retry assistant chat`)", id="a changed spec",
        ),
        pytest.param({"paused": True}, "the lane is paused; `fairlane resume assistant chat` first", id="a paused lane"),
    ],
)  # fmt: skip
def test_a_lane_that_cannot_be_tried_is_told_with_the_remedy(fake: Any, fields: dict[str, Any], sentence: str) -> None:
    lane(fake, **fields)
    assert run("chat") == (failures.NO, "", f"error: trial assistant chat did nothing: {sentence}\n")
    assert fake.orders == []


def test_a_trial_that_the_operator_refuses_is_told(fake: Any) -> None:
    lane(fake)
    fake.answer = {"reason": "CommandIgnored", "message": "no GPU is free"}
    code, _, err = run("chat", "--wait")
    assert (code, err.splitlines()[-1]) == (failures.NO, "error: trial assistant chat 5d2e9c41-1 did nothing: no GPU is free")


def test_a_lane_that_is_not_there_is_told_with_those_that_are(fake: Any) -> None:
    assert run("x") == (failures.MISSING, "", "error: no lane 'x' in service assistant; there is chat, documents\n")


def test_waiting_tells_each_step_and_then_what_the_judge_would_have_said(fake: Any) -> None:
    lane(fake)
    running = {"phase": "Analyzing", "canary": "5d2e9c41-2", "weight": 10}
    course(fake, {"phase": "Loading"}, {"phase": "Loading"}, running, running, {"weight": 50}, message="the judge would have promoted it", decisions=[PASSED])
    code, out, err = run("chat", "--wait")
    assert code == 0
    assert [line for line in err.splitlines() if line.startswith("chat: ")][-2:] == ["chat: Analyzing, 10 %", "chat: Analyzing, 50 %"]
    assert "chat: the judge would have promoted it" in out.splitlines()
    assert "5d2e9c41-2 was tried after 40m, at 2026-01-01T13:40:00Z, on 85 canary requests; 5d2e9c41-1 serves" in out.splitlines()


@pytest.mark.parametrize(
    ("record", "code"),
    [
        pytest.param({"decisions": [PASSED]}, 0, id="nothing to object to"),
        pytest.param({"decisions": []}, 0, id="no decision"),
        pytest.param({"decisions": [PASSED, ALARM]}, failures.NO, id="the judge would have rolled it back"),
        pytest.param({"decisions": [PASSED], "result": "Superseded"}, failures.NO, id="a change came in between"),
        pytest.param({"decisions": [PASSED], "result": "RolledBack"}, failures.NO, id="aborted or crashed"),
    ],
)
def test_the_exit_code_says_whether_the_unchanged_revision_got_through(fake: Any, record: dict[str, Any], code: int) -> None:
    lane(fake)
    course(fake, {"phase": "Loading"}, **record)
    assert run("chat", "--wait")[0] == code


def test_a_trial_that_takes_too_long_goes_on(fake: Any) -> None:
    lane(fake)
    course(fake, *[{"phase": "Loading"}] * 50)
    code, _, err = run("chat", "--wait", "--limit", "60")
    sentence = "error: the trial of chat has not ended within 60 s: it goes on; `fairlane why assistant chat` tells how it stands"
    assert (code, err.splitlines()[-1]) == (failures.LATE, sentence)
