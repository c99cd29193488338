"""What the commands print of a service."""

import json
from typing import Any

import pytest
import yaml
from tests.unit.cli import served
from typer import testing

from fairlane.cli import failures, main

RUNNER = testing.CliRunner()


def fairlane(*args: str, code: int = 0) -> str:
    """Standard output, or standard error where the command is to fail."""
    done = RUNNER.invoke(main.app, list(args))
    assert done.exit_code == code, f"{done.output}{done.exception!r}"
    return done.stdout if code == 0 else done.stderr


def rows(text: str) -> list[list[str]]:
    """The words of each line."""
    return [line.split() for line in text.splitlines() if line.strip()]


@pytest.mark.usefixtures("fake")
class TestReading:
    """One cluster with one service: chat on trial, documents idle."""

    def test_status_lists_the_services(self) -> None:
        found = rows(fairlane("status"))
        assert found[0] == ["NAME", "MODEL", "READY", "LANES", "ROLLOUT", "AGE"]
        assert found[1][:-1] == ["assistant", "default", "True", "2/2", "chat", "10%", "canary"]

    def test_status_of_all_namespaces_names_them(self) -> None:
        assert rows(fairlane("status", "-A"))[1][:2] == ["prod", "assistant"]

    def test_status_of_a_namespace_without_services_says_so(self) -> None:
        done = RUNNER.invoke(main.app, ["status", "-n", "empty"])
        assert (done.exit_code, done.stdout, done.stderr) == (0, "", "no services in namespace empty\n")

    def test_status_of_one_service_shows_conditions_lanes_and_sentences(self) -> None:
        text = fairlane("status", "assistant", "-n", "prod")
        found = rows(text)
        assert ["Ready", "True", "Serving", "all", "lanes", "serve"] in found
        chat = next(row for row in found if row[:2] == ["chat", "Analyzing"])
        assert chat[2:8] == ["5d2e9c41-1", "2/2", "new-2", "1/1", "10", "%"]
        assert "chat: no harm seen in 61 canary requests" in text

    def test_status_shows_what_a_running_rollout_can_be_expected_to_show(self) -> None:
        assert "chat: expected: at 0.5 requests/s: 90 canary requests in step 1" in fairlane("status", "assistant").splitlines()

    def test_why_of_a_running_rollout_tells_both_sides_and_what_to_expect(self) -> None:
        text = fairlane("why", "assistant", "chat")
        assert text.splitlines()[:3] == [
            "chat: no harm seen in 61 canary requests",
            "Analyzing: canary new-2 beside stable 5d2e9c41-1, 10 % of the requests",
            "Expected: at 0.5 requests/s: 90 canary requests in step 1",
        ]
        assert ["TTFT", "p50", "90", "ms", "688", "ms", "x", "7.64"] in rows(text)
        assert ["requests", "193", "24"] in rows(text)

    def test_why_for_machines_keeps_everything(self) -> None:
        told = json.loads(fairlane("why", "assistant", "chat", "-o", "json"))
        assert [(answer["lane"], answer["verdict"], answer["startedAt"]) for answer in told] == [("chat", "Insufficient", "2026-01-01T11:58:00Z")]
        assert told[0]["expected"] == "at 0.5 requests/s: 90 canary requests in step 1"
        kept = told[0]["evidence"]
        assert (kept["eValue"], kept["canaryOver"], kept["canary"]["ttftP99Range"]) == ("1.2e4", 10, "2600-5000")
        assert kept["distribution"] == served.DISTRIBUTION

    def test_why_without_a_lane_tells_all(self) -> None:
        assert [answer["lane"] for answer in json.loads(fairlane("why", "assistant", "-o", "json"))] == ["chat", "documents"]

    def test_history_says_how_rollouts_ended(self) -> None:
        found = rows(fairlane("history", "assistant"))
        assert found[0] == ["ENDED", "LANE", "FROM", "TO", "RESULT", "TOOK", "REQUESTS", "E-VALUE", "WHY"]
        ended = ["2026-01-01T12:02:30Z", "chat", "5d2e9c41-1", "7c1f0a2b-1", "RolledBack", "34m30s", "85", "1.2e4", "of", "200", "7c1f0a2b-1"]
        assert found[1][:11] == ended

    def test_history_of_a_lane_without_one_says_so(self) -> None:
        done = RUNNER.invoke(main.app, ["history", "assistant", "documents"])
        assert (done.exit_code, done.stderr) == (0, "no rollout has ended yet\n")

    def test_status_for_machines_is_the_status(self) -> None:
        assert yaml.safe_load(fairlane("status", "assistant", "-o", "yaml"))["status"]["lanes"][0]["canary"] == "new-2"
        assert [item["name"] for item in json.loads(fairlane("status", "-o", "json"))] == ["assistant"]

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            pytest.param(("status", "other"), "error: no service 'other' in namespace prod; there is assistant\n", id="no such service"),
            pytest.param(("why", "assistant", "x"), "error: no lane 'x' in service assistant; there is chat, documents\n", id="no such lane"),
            pytest.param(("history", "assistant", "x"), "error: no lane 'x' in service assistant; there is chat, documents\n", id="no history of no lane"),
        ],
    )
    def test_what_is_not_there_is_told_with_what_is(self, args: tuple[str, ...], message: str) -> None:
        assert fairlane(*args, code=failures.MISSING) == message


@pytest.mark.parametrize(
    ("fields", "sentences"),
    [
        pytest.param({"trial": True}, ["chat: a trial of the unchanged revision, never promoted"], id="a trial"),
        pytest.param({"baseline": "5d2e9c41-2"}, ["chat: compared with 5d2e9c41-2, a fresh baseline"], id="a fresh baseline"),
        pytest.param({"expected": "few [of] them"}, ["chat: expected: few [of] them"], id="an expectation, its brackets no markup"),
        pytest.param({"phase": "RollingBack", "expected": "much"}, [], id="nothing is expected of what is over"),
    ],
)
def test_status_says_what_is_special_about_a_rollout(fake: Any, fields: dict[str, Any], sentences: list[str]) -> None:
    fake.kept[0]["status"]["lanes"][0] |= {"message": "", "expected": "", **fields}
    assert [line for line in fairlane("status", "assistant").splitlines() if line.startswith("chat: ")] == sentences


def test_history_of_a_trial_has_no_e_value_where_none_was_told(fake: Any) -> None:
    fake.kept[0]["status"]["history"][0] |= {"result": "Tried", "decisions": []}
    assert rows(fairlane("history", "assistant"))[1][4:8] == ["Tried", "34m30s", "85", "-"]


def test_a_status_before_the_first_pass_is_no_error(fake: Any) -> None:
    del fake.kept[0]["status"]
    assert rows(fairlane("status"))[1][:4] == ["assistant", "default", "Unknown", "-"]
    assert fairlane("why", "assistant") == ""


def test_a_status_of_another_version_is_told(fake: Any) -> None:
    fake.kept[0]["status"]["lanes"][0]["phase"] = "Dancing"
    assert fairlane("status", code=failures.NO).startswith("error: the status is not this version's; is `fairlane` older than the operator?")


def test_no_kubeconfig_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    text = fairlane("status", "--kubeconfig", "/does/not/exist", code=failures.ACCESS)
    assert text.startswith("error: no cluster is configured (")
    assert text.endswith("set KUBECONFIG or --kubeconfig to a file that kubectl can use\n")


def test_help_documents_the_exit_codes() -> None:
    assert "Exit codes:" in fairlane("--help")


def test_version_is_printed() -> None:
    assert fairlane("version").strip().count(".") == 2
