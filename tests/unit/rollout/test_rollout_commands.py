"""Commands: what each does where, and what it says where it does nothing."""

from typing import Any

import pytest
from tests.unit.rollout import views

from fairlane.api import status as statuses
from fairlane.core import observed, revisions
from fairlane.core.rollout import commands, view

PHASE = statuses.Phase
IDLE = {"phase": PHASE.IDLE, "canary": "", "weight": 0}
SAME = revisions.Rendered(lane="chat", inputs={}, template={}, gpus=1, hash="aaaaaaaa")
STUCK = (views.pod(ready=False, scheduled_at=None, unschedulable="no GPU"),)


def _said(command: str, status: dict[str, Any] | None = None, revision: str = "", **fields: Any) -> view.Move:
    return commands.follow(views.lane(status, **fields), observed.Command(command, "chat", revision, "1"))


@pytest.mark.parametrize(
    ("made", "phase"),
    [
        (_said("promote"), PHASE.PROMOTING),
        (_said("promote", {"phase": PHASE.WARMING}), PHASE.PROMOTING),
        (_said("promote", {"phase": PHASE.WAITING, "step": 1}, pods=(views.pod(), *STUCK)), PHASE.PROMOTING),
        (_said("promote", revision=views.CANARY), PHASE.PROMOTING),
        (_said("promote", revision="bbbbbbbb"), PHASE.PROMOTING),
        (_said("promote", {"paused": True}), PHASE.PROMOTING),
        (_said("abort"), PHASE.ROLLING_BACK),
        (_said("abort", {"phase": PHASE.WAITING, "weight": 0}), PHASE.ROLLING_BACK),
        (_said("abort", {"phase": PHASE.PROMOTING}), PHASE.ROLLING_BACK),
    ],
    ids=[
        "promote while analyzing", "promote in the warm-up", "promote while a later step waits for a GPU", "promote that names the revision",
        "promote that names the hash",
        "promote ends a pause", "abort while analyzing", "abort while waiting", "abort while promoting",
    ],
)
def test_what_moves_the_lane(made: view.Move, phase: statuses.Phase) -> None:
    assert phase is made.status.phase


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (_said("promote", IDLE), "no revision is on trial"),
        (_said("abort", IDLE), "no revision is on trial"),
        (_said("abort", {"phase": PHASE.ROLLING_BACK}), "the lane is rolling back already"),
        (_said("promote", {"phase": PHASE.PROMOTING}), "the lane is Promoting already"),
        (_said("promote", revision="cccccccc-1"), "it names revision cccccccc-1, but bbbbbbbb-1 is on trial"),
        (_said("abort", revision="bbbbbbbb-2"), "it names revision bbbbbbbb-2, but bbbbbbbb-1 is on trial"),
        (_said("pause", {"paused": True}), "the lane is paused already"),
        (_said("resume"), "the lane is not paused"),
        (_said("retry"), "revision bbbbbbbb is not rejected"),
        (_said("trial"), "bbbbbbbb-1 is on trial already"),
        (_said("trial", IDLE), "the spec asks for bbbbbbbb and aaaaaaaa-1 serves: a trial is of an unchanged revision; end the rollout or revert the spec"),
        (_said("trial", IDLE | {"paused": True}, rendered=SAME), "the lane is paused; `fairlane resume` first"),
        (_said("trial", IDLE, rendered=SAME, waits_for="batch"), "lane batch comes first: its canary has no node yet"),
        (_said("trial", IDLE, rendered=SAME, pods=()), "aaaaaaaa-1 has no ready replica to compare with"),
        (_said("trial", IDLE, revision="cccccccc-1", rendered=SAME), "it names revision cccccccc-1, but no revision is on trial"),
        (_said("promote", {"trial": True}), "it is the same revision: a trial by `fairlane trial` ends by itself or by `fairlane abort`"),
        (_said("explode"), "there is no such command; use one of pause, resume, promote, abort, retry, trial"),
        (_said("pause", {"stable": "", **IDLE}), "the lane has no revision yet"),
    ],
    ids=[
        "promote in an idle lane", "abort in an idle lane", "abort twice", "promote twice", "promote of another revision",
        "abort of the next trial of the same hash",
        "pause twice", "resume of what runs", "retry of what was not rejected",
        "a trial beside a canary", "a trial of what changed", "a trial in a paused lane", "a trial while another lane waits",
        "a trial of a dead stable", "a trial of another revision", "promote of a trial", "no such command", "a lane without a revision",
    ],
)
def test_what_does_nothing_says_why(made: view.Move, words: str) -> None:
    assert [event.reason for event in made.events] == ["CommandIgnored"]
    assert made.events[0].message.endswith(f"did nothing: {words}")
    assert made.record is None


def test_promote_without_a_gpu_says_what_it_costs() -> None:
    made = _said("promote", {"phase": PHASE.WAITING, "weight": 0}, replicas=1, weight=0, pods=STUCK)
    assert (made.status.in_place, made.status.promote_when_ready) == (True, True)
    assert made.events[0].message == (
        "chat: promote without a free GPU: aaaaaaaa-1 gives one replica up first; "
        "the lane answers nothing until bbbbbbbb-1 is ready, at the latest after 30m, when aaaaaaaa-1 comes back"
    )


def test_promote_while_loading_waits_for_the_canary() -> None:
    made = _said("promote", {"phase": PHASE.LOADING, "weight": 0}, weight=0, pods=(views.pod(ready=False),))
    assert (made.status.phase, made.status.promote_when_ready, made.status.in_place) == (PHASE.LOADING, True, False)


def test_retry_forgets_the_rejection() -> None:
    made = _said("retry", {**IDLE, "rejected": ["cccccccc", "bbbbbbbb"]}, revision="bbbbbbbb-1")
    assert made.status.rejected == ["cccccccc"]


@pytest.mark.parametrize(("handled", "expected"), [([], True), (["1"], False), (["0"], True)], ids=["new", "handled", "another was handled"])
def test_a_command_is_handled_once(handled: list[str], expected: bool) -> None:
    assert expected == (commands.due(observed.Command("pause", "chat", "", "1"), handled) is not None)


def test_only_the_last_twenty_ids_are_kept() -> None:
    kept = commands.remembered([str(number) for number in range(20)], observed.Command("pause", "chat", "", "new"))
    assert (len(kept), kept[0], kept[-1]) == (20, "1", "new")
