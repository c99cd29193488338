"""Commands to the operator."""

from typing import Any

import pytest
from typer import testing

from fairlane.cli import failures, main

RUNNER = testing.CliRunner()


def run(*args: str, given: str | None = None) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    done = RUNNER.invoke(main.app, list(args), input=given)
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("args", "command", "lane", "revision"),
    [
        pytest.param(("pause", "assistant", "chat"), "pause", "chat", "new-2", id="pause is for the canary"),
        pytest.param(("abort", "assistant", "--lane", "chat"), "abort", "chat", "new-2", id="the lane may be an option"),
        pytest.param(("resume", "assistant"), "resume", "chat", "new-2", id="the only lane on trial needs no name"),
        pytest.param(("retry", "assistant", "documents"), "retry", "documents", "bad", id="retry is for what the spec asks for"),
        pytest.param(("retry", "assistant", "chat", "--revision", "abc"), "retry", "chat", "abc", id="a revision may be named"),
        pytest.param(("promote", "assistant", "chat"), "promote", "chat", "new-2", id="promoting a trial asks nothing"),
    ],
)
def test_an_order_names_command_lane_and_revision(fake: Any, args: tuple[str, ...], command: str, lane: str, revision: str) -> None:
    code, out, _ = run(*args)
    assert code == 0
    assert [{key: order[key] for key in ("command", "lane", "revision")} for order in fake.orders] == [
        {"command": command, "lane": lane, "revision": revision}
    ]
    assert out.splitlines()[0] == f"{command} assistant {lane} {revision}: the weight stays"


def test_every_order_has_an_id_of_its_own(fake: Any) -> None:
    run("pause", "assistant", "chat")
    run("pause", "assistant", "chat")
    assert len({order["id"] for order in fake.orders}) == 2


@pytest.mark.usefixtures("fake")
def test_after_the_order_the_lane_is_told() -> None:
    told = run("pause", "assistant", "chat")[1].splitlines()
    assert told[1:] == ["chat: Analyzing, stable 5d2e9c41-1, canary new-2 at 10 %; no harm seen in 61 canary requests"]


def test_an_order_that_did_nothing_is_told_with_the_reason(fake: Any) -> None:
    fake.answer = {"reason": "CommandIgnored", "message": "no revision is on trial"}
    code, out, err = run("abort", "assistant", "chat")
    assert (code, out, err.splitlines()[-1]) == (failures.NO, "", "error: abort assistant chat new-2 did nothing: no revision is on trial")


def test_without_rights_to_read_events_an_order_is_still_handled(fake: Any) -> None:
    fake.answer = None
    assert run("abort", "assistant", "chat")[1].splitlines()[0] == "abort assistant chat new-2: handled"


def test_an_operator_that_is_away_is_waited_for_until_the_deadline(fake: Any) -> None:
    fake.away = True
    code, _, err = run("pause", "assistant", "chat", "--timeout", "5")
    sentence = "error: pause chat was not handled within 5 s: is the operator running? The order stays and is followed once (fairlane status)"
    assert (code, err.splitlines()[-1]) == (failures.LATE, sentence)


def test_no_wait_sends_and_goes(fake: Any) -> None:
    fake.away = True
    code, out, _ = run("pause", "assistant", "chat", "--no-wait")
    assert (code, out) == (0, f"pause assistant chat new-2: sent as {fake.orders[0]['id']}\n")


def waiting(fake: Any, replicas: int = 1, weight: int = 0) -> None:
    """Let chat wait for a GPU."""
    fake.kept[0]["status"]["lanes"][0] |= {"phase": "Waiting", "canary": "", "weight": weight, "replicas": replicas, "message": "0/1 nodes are available"}


@pytest.mark.parametrize(
    ("args", "given", "code", "orders"),
    [
        pytest.param((), "y\n", 0, 1, id="a yes sends it"),
        pytest.param((), "n\n", 1, 0, id="a no does not"),
        pytest.param((), "", 1, 0, id="nobody to ask does not"),
        pytest.param(("--yes",), None, 0, 1, id="--yes does not ask"),
    ],
)
def test_promoting_in_place_is_confirmed(fake: Any, args: tuple[str, ...], given: str | None, code: int, orders: int) -> None:
    waiting(fake)
    found, _, err = run("promote", "assistant", "chat", *args, given=given)
    assert (found, len(fake.orders)) == (code, orders)
    assert ("no replica serves the lane while the new revision loads" in err) == (not args)


def test_the_cost_of_promoting_in_place_counts_replicas(fake: Any) -> None:
    waiting(fake, replicas=4)
    err = run("promote", "assistant", "chat", given="n\n")[2]
    assert "Lane chat waits for a GPU for its canary (0/1 nodes are available)." in err
    assert "3 of 4 replicas serve meanwhile" in err


def test_promoting_a_canary_that_has_traffic_costs_nothing_and_is_not_asked(fake: Any) -> None:
    waiting(fake, replicas=4, weight=10)
    found, _, err = run("promote", "assistant", "chat")
    assert (found, len(fake.orders), "Promote in place?" in err) == (0, 1, False)


def test_a_lane_that_several_can_be_meant_by_must_be_named(fake: Any) -> None:
    fake.kept[0]["status"]["lanes"][0] |= {"phase": "Idle", "canary": ""}
    assert run("pause", "assistant") == (failures.USAGE, "", "error: name the lane of assistant: chat, documents\n")
