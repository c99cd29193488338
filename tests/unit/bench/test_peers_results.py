"""The table of the trials: only what was measured, and where it stands."""
from __future__ import annotations

from typing import Any

import pytest
from bench.peers import results

NOT = {"seconds": None, "requests": None, "bad": None}


def row(trial: str = "errors", kind: str = "change", **judges: dict[str, Any]) -> dict[str, Any]:
    every = dict.fromkeys(results.JUDGES, NOT) | {name.replace("_", "-"): said for name, said in judges.items()}
    return {
        "trial": trial, "kind": kind, "what": "500s", "exposure": "10 %", "result": "RolledBack", "loading": 60, "seconds": 96, "requests": 20, "bad": 4,
        "edge": 0.75, "interval": 10, "judges": every,
    }


BACK = {"seconds": 96, "requests": 20, "bad": 4, "metric": "errors"}


def test_a_rollback_has_its_numbers_and_the_others_have_nothing_left() -> None:
    text = results.markdown([row(fairlane=BACK, flagger={"seconds": 70, "requests": 14, "bad": 3})])
    own, flagger = "**rolled back**: 96 s, 20 requests, 4 bad, by errors", "**rolled back**: 70 s, 14 requests, 3 bad"
    assert text.splitlines()[-1] == f"| 500s | 10 % | {own} | not by then (96 s) | not by then (96 s) | {flagger} |"


def test_an_a_a_trial_says_what_was_kept() -> None:
    text = results.markdown([row(kind="a/a", argo_0=BACK)])
    cell = "kept (96 s, 20 requests)"
    assert text.splitlines()[-1] == f"| 500s | 10 % | {cell} | **rolled back**: 96 s, 20 requests, 4 bad, by errors | {cell} | {cell} |"
    assert "Bad changes" not in text


def test_without_a_measurement_there_is_no_table() -> None:
    assert "|" not in results.markdown([])


def test_a_new_row_replaces_the_old_one_and_rows_are_in_the_order_of_the_plan() -> None:
    rows = [row("b"), row("b", "a/a"), row("a", "a/a")]
    new = {**row("a"), "seconds": 1}
    kept = results.with_row(results.with_row(rows, row("a"), ["a", "b"]), new, ["a", "b"])
    assert [(each["trial"], each["kind"]) for each in kept] == [("a", "change"), ("b", "change"), ("a", "a/a"), ("b", "a/a")]
    assert kept[0]["seconds"] == 1


def test_the_text_goes_between_the_markers() -> None:
    document = f"before\n{results.BEGIN}\nold \\1\n{results.END}\nafter\n"
    assert results.filled(document, r"new \1") == f"before\n{results.BEGIN}\nnew \\1\n{results.END}\nafter\n"


@pytest.mark.parametrize("document", ["", results.BEGIN, results.END + results.END + results.BEGIN])
def test_a_document_without_its_markers_is_refused(document: str) -> None:
    with pytest.raises(ValueError, match="needs the markers"):
        results.filled(document, "text")
