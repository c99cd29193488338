"""Whoever waits for the local cluster is told so."""
from __future__ import annotations

import re
import time

import pytest
from e2e.cluster.progress import telling


@pytest.mark.parametrize(("what", "lasts_for_lines", "expected"), [
    ("loading images", 2, ["loading images: 0 s", "loading images: 0 s"]),
    ("a step that is over at once", 0, []),
])
def test_a_step_that_lasts_says_so_again_and_again_until_it_is_over(
    what: str, lasts_for_lines: int, expected: list[str], capsys: pytest.CaptureFixture[str],
) -> None:
    said = ""
    deadline = time.monotonic() + 30
    with telling(what, every=0.01 if lasts_for_lines else 30):
        while said.count("\n") < lasts_for_lines and time.monotonic() < deadline:
            said += capsys.readouterr().out
    lines = [re.sub(r"^\[[\d:]+\] ", "", line) for line in said.splitlines()]

    assert lines[:lasts_for_lines] == expected


def test_a_step_that_fails_says_nothing_more(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="no room"), telling("loading images", every=30):
        raise ValueError("no room")

    assert capsys.readouterr().out == ""
