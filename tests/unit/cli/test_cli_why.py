"""What `why` tells: the whole text of one rollback against a golden file, and the sentences one by one.

`UPDATE_GOLDEN=1 pytest tests/unit/cli/test_cli_why.py` writes the golden file anew; read its diff before committing it.
"""

import copy
import io
import os
import pathlib
from typing import Any

import pytest
import rich.console
from tests.unit.cli import served
from typer import testing

from fairlane.api import generated
from fairlane.api import status as statuses
from fairlane.cli import failures, figures, main, telling, why

GOLDEN = pathlib.Path(__file__).parent / "golden" / "why.txt"
FAILED_GOLDEN = GOLDEN.with_name("why_failed_load.txt")
IDLE = {"phase": "Idle", "canary": "", "evidence": None, "message": "", "expected": ""}


def answer(**lane: Any) -> why.Answer:
    """The answer for chat, whose status differs by these fields."""
    service = served.service()
    service["status"]["lanes"][0] |= lane
    return why.answers(service, "chat")[0]


def told(of: why.Answer) -> str:
    """The text in 80 columns without colour."""
    out = io.StringIO()
    telling.show(of, rich.console.Console(file=out, width=80, color_system=None, highlight=False))
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def evidence(**fields: Any) -> statuses.EvidenceRecord:
    """The rollback's evidence with other fields; those of a side are merged into it."""
    merged = copy.deepcopy(served.EVIDENCE)
    for name, value in fields.items():
        merged[name] = merged[name] | value if isinstance(value, dict) else value
    return statuses.EvidenceRecord.model_validate(merged)


def test_a_rollback_is_told_as_the_golden_file_has_it() -> None:
    text = told(answer(**IDLE))
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert GOLDEN.read_text(encoding="utf-8") == text


def failed_load(**fields: Any) -> why.Answer:
    """The answer for chat, whose last rollout is a load that failed, but for these fields."""
    return why.answers(served.service(lanes=[{**served.CHAT, **IDLE}], history=[{**served.FAILED_LOAD, **fields}]), "chat")[0]


def test_a_failed_load_is_told_as_the_golden_file_has_it() -> None:
    text = told(failed_load())
    if os.environ.get("UPDATE_GOLDEN"):
        FAILED_GOLDEN.write_text(text, encoding="utf-8")
    assert FAILED_GOLDEN.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(("page", "golden"), [("read-a-rollback.md", GOLDEN), ("read-a-failed-load.md", FAILED_GOLDEN)])
def test_the_guide_shows_what_the_command_prints(page: str, golden: pathlib.Path) -> None:
    guide = generated.repository() / "docs" / "how-to" / page
    assert golden.read_text(encoding="utf-8").rstrip() in guide.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("message", "reason", "lines"),
    [
        pytest.param("not ready in 30m; what to do: wait", "LoadDeadlineExceeded", ["What failed: LoadDeadlineExceeded", "What to do: wait"], id="a deadline"),
        pytest.param(served.WHY, "TailWorse", [], id="a verdict has no remedy"),
    ],
)
def test_what_failed_and_what_to_do_are_told_of_loads_alone(message: str, reason: str, lines: list[str]) -> None:
    assert list(telling.advice(failed_load(message=message, reason=reason))) == lines


def test_a_canary_that_rolls_back_now_says_what_failed_too() -> None:
    found = answer(phase="RollingBack", reason="KVCacheTooSmall", message=served.FAILED, evidence=None, decisions=[])
    assert next(telling.advice(found)).startswith("What failed: KVCacheTooSmall: one sequence of 29,000 tokens")


def test_a_lane_whose_first_revision_fails_to_load_says_what_failed_too() -> None:
    message = served.FAILED.replace("7c1f0a2b-1 was rolled back before it had any traffic", "revision 7c1f0a2b-1 is not ready yet")
    first = {**served.CHAT, **IDLE, "message": message, "reason": "Starting"}
    found = why.answers(served.service(lanes=[first], history=[]), "chat")[0]
    assert next(telling.advice(found)) == "What failed: one sequence of 29,000 tokens needs 3.54 GiB of KV cache, the GPU has 2.56 GiB left"


def test_a_first_revision_that_cannot_start_has_what_to_do_alone() -> None:
    waits = {**served.CHAT, **IDLE, "message": "revision a-1 is not ready yet: pod p: ImagePullBackOff; what to do: check the image", "reason": "Starting"}
    found = why.answers(served.service(lanes=[waits], history=[]), "chat")[0]
    assert list(telling.advice(found)) == ["What to do: check the image"]


def test_machines_get_the_reason_and_the_remedy_by_themselves() -> None:
    dumped = failed_load().dump()
    assert dumped["reason"] == "KVCacheTooSmall"
    assert dumped["remedy"].startswith("largest maxModelLen that fits: 20,970 (set spec.lanes[chat].scheduler.maxModelLen")


def test_no_line_is_wider_than_80_columns_even_where_the_plot_ends_in_a_label() -> None:
    wide = {"edgesMs": [1, 20000], "stable": [0, 9, 9], "canary": [0, 9, 9]}
    text = told(answer(evidence=evidence(distribution=wide | {"metric": "router_duration"}).dump()))
    assert max(map(len, text.splitlines())) <= 80
    assert "Share of requests with Duration at the router up to x" in text


@pytest.mark.parametrize(
    ("fields", "verdict", "sentence"),
    [
        pytest.param({}, "Fail", "Decided by TTFT over 0.75 s: canary 10 of 21 (48 %), stable 3 of 190 (1.6 %); e-value 1.2e4, needs 200", id="a rollback"),
        pytest.param(
            {"eValue": "3.1"}, "Insufficient", "Closest to harm: TTFT over 0.75 s: canary 10 of 21 (48 %), stable 3 of 190 (1.6 %); e-value 3.1, needs 200",
            id="undecided",
        ),
        pytest.param(
            {"metric": "errors", "edge": "", "canaryOver": 5, "canaryTotal": 24, "stableOver": 0, "stableTotal": 193}, "Fail",
            "Decided by Errors: canary 5 of 24 (21 %), stable 0 of 193 (0.0 %); e-value 1.2e4, needs 200", id="errors have no edge",
        ),
        pytest.param(
            {"metric": "hangs", "edge": "", "canaryOver": 0, "canaryTotal": 190, "stableOver": 190, "stableTotal": 190}, "Fail",
            "Decided by Hangs (who completed the requests): canary 0 of 190 (0.0 %), stable 190 of 190 (100 %); e-value 1.2e4, needs 200",
            id="a canary that completes nothing",
        ),
        pytest.param(
            {"canaryOver": 0, "canaryTotal": 0, "eValue": ""}, "Insufficient",
            "Closest to harm: TTFT over 0.75 s: canary without requests, stable 3 of 190 (1.6 %)", id="a canary without requests, no e-value",
        ),
        pytest.param({"metric": ""}, "Insufficient", "", id="no metric"),
    ],
)  # fmt: skip
def test_the_deciding_line_names_metric_counts_and_certainty(fields: dict[str, Any], verdict: str, sentence: str) -> None:
    assert figures.deciding(evidence(**fields), statuses.Outcome(verdict)) == sentence


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        pytest.param(
            {}, "The e-value is how strongly the numbers speak for harm; 1 says nothing. "
            "A harmless canary reaches 200 in at most 1 of 200 steps, however often one looks.", id="with a threshold",
        ),
        pytest.param({"threshold": ""}, "The e-value is how strongly the numbers speak for harm; 1 says nothing.", id="without one"),
        pytest.param({"eValue": ""}, "", id="no e-value needs no words"),
    ],
)  # fmt: skip
def test_the_e_value_is_explained_in_plain_words(fields: dict[str, Any], sentence: str) -> None:
    assert figures.meaning(evidence(**fields)) == sentence


@pytest.mark.parametrize(
    ("fields", "verdict", "sentence"),
    [
        pytest.param({"passEValue": "31"}, "Pass", "Evidence that the canary is not worse: 31, needs 20 for a Pass", id="a pass"),
        pytest.param({"passEValue": "31", "passThreshold": ""}, "Pass", "Evidence that the canary is not worse: 31", id="no threshold"),
        pytest.param({}, "Fail", "", id="of no interest after a rollback"),
        pytest.param({"passEValue": ""}, "Pass", "", id="not measured"),
    ],
)
def test_evidence_of_no_harm_is_told_unless_there_is_harm(fields: dict[str, Any], verdict: str, sentence: str) -> None:
    assert figures.passing(evidence(**fields), statuses.Outcome(verdict)) == sentence


@pytest.mark.parametrize(
    ("fields", "row"),
    [
        pytest.param({"canary": {"errors": 3, "hiddenErrors": 2}}, ("errors", "1 (0.5 %)", "3 (12 %, 2 hidden by a retry)", "x 24.12"), id="hidden errors"),
        pytest.param({"canary": {"requests": 0}}, ("errors", "1 (0.5 %)", "0", ""), id="no requests, no share"),
        pytest.param({"canary": {"replicas": 0}, "loadRatio": ""}, ("requests per replica", "96", "-", ""), id="no replica, no load"),
        pytest.param({"canary": {"ttftP50Ms": None}}, ("TTFT p50", "90 ms", "-", ""), id="a quantile of one side"),
        pytest.param({"stable": {"ttftP50Ms": 0}}, ("TTFT p50", "0 ms", "688 ms", ""), id="no factor of nothing"),
        pytest.param({"stable": {"tpotP99Ms": 31}, "canary": {"tpotP99Ms": 62}}, ("TPOT p99", "31 ms", "62 ms", "x 2.00"), id="TPOT where there is one"),
        pytest.param({"canary": {"gpuUtilizationPercent": 0}}, ("GPU utilisation", "-", "0 %", ""), id="a GPU at rest is measured"),
        pytest.param({"stable": {"gpuMemoryPercent": 91}}, ("GPU memory in use", "91 %", "-", ""), id="GPU memory of one side"),
    ],
)
def test_a_row_has_both_sides_and_the_factor(fields: dict[str, Any], row: tuple[str, ...]) -> None:
    assert figures.Row(*row) in figures.rows(evidence(**fields))


def test_rows_without_numbers_are_left_out() -> None:
    bare = {"revision": "a", "requests": 1, "replicas": 1}
    found = statuses.EvidenceRecord.model_validate({**served.EVIDENCE, "stable": bare, "canary": bare})
    assert [row.name for row in figures.rows(found)] == ["revision", "requests", "requests per replica", "errors"]


@pytest.mark.parametrize(
    ("edge", "milliseconds"),
    [("0.75 s", 750.0), ("25 ms", 25.0), ("1e+03 s", 1e6), ("", None), ("a while", None), ("1.2.3 s", None)],
)
def test_the_edge_is_read_from_its_words(edge: str, milliseconds: float | None) -> None:
    assert figures.edge_ms(evidence(edge=edge)) == milliseconds


@pytest.mark.parametrize(
    ("lane", "headline"),
    [
        pytest.param(IDLE, "7c1f0a2b-1 was rolled back after 34m30s, at 2026-01-01T12:02:30Z, on 85 canary requests; 5d2e9c41-1 serves", id="ended"),
        pytest.param({"phase": "Waiting", "canary": ""}, "Waiting: stable 5d2e9c41-1", id="waiting for a GPU"),
        pytest.param(
            {"trial": True, "baseline": "5d2e9c41-2"}, "Analyzing: canary new-2 beside stable 5d2e9c41-1, 10 % of the requests; "
            "a trial of the unchanged revision, never promoted; compared with 5d2e9c41-2, a fresh baseline", id="a trial with a fresh baseline",
        ),
    ],
)  # fmt: skip
def test_the_headline_says_where_the_rollout_stands(lane: dict[str, Any], headline: str) -> None:
    assert answer(**lane).headline == headline


def test_the_headline_says_how_many_requests_no_user_sent() -> None:
    found = why.answers(served.service(lanes=[{**served.CHAT, **IDLE}], history=[{**served.RECORD, "syntheticRequests": 1033}]), "chat")[0]
    assert "on 85 canary requests (1033 of both tracks' were synthetic); 5d2e9c41-1 serves" in found.headline


def test_a_lane_without_rollouts_says_what_serves() -> None:
    found = why.answers(served.service(history=[]), "documents")[0]
    assert told(found) == "documents: doc-1 serves; no rollout has ended yet\n\n"


def test_words_of_others_are_no_markup() -> None:
    assert told(answer(message="[red]flags[/red] [0]", evidence=None, decisions=[])).startswith("chat: [red]flags[/red] [0]\n")


@pytest.mark.usefixtures("fake")
class TestPage:
    """Where the page of `--html` goes."""

    def test_it_is_written_to_a_file(self, tmp_path: pathlib.Path) -> None:
        file = tmp_path / "why.html"
        done = testing.CliRunner().invoke(main.app, ["why", "assistant", "chat", "--html", str(file)])
        assert (done.exit_code, done.output) == (0, "")
        assert file.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")

    def test_a_dash_is_standard_output(self) -> None:
        done = testing.CliRunner().invoke(main.app, ["why", "assistant", "--html", "-"])
        assert (done.exit_code, done.stdout.splitlines()[0]) == (0, "<!DOCTYPE html>")

    @pytest.mark.parametrize(
        ("args", "sentence"),
        [
            pytest.param(
                ("--html", "/does/not/exist/why.html"),
                "error: /does/not/exist/why.html cannot be written (No such file or directory): name a file in a directory that you may write to\n",
                id="no such directory",
            ),
            pytest.param(("--html", "x.html", "-o", "json"), "error: --html x.html and -o json exclude each other: leave one out\n", id="two forms at once"),
        ],
    )
    def test_where_it_cannot_go_is_told(self, args: tuple[str, ...], sentence: str) -> None:
        done = testing.CliRunner().invoke(main.app, ["why", "assistant", *args])
        assert (done.exit_code, done.stderr) == (failures.USAGE, sentence)
