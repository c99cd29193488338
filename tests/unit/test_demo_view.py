"""The demo is never silent for long, whatever it waits for."""

import time

import pytest
from e2e.demo import view as views


def test_who_waits_is_told_what_for_until_it_is_over(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(views, "QUIET", 0.01)
    view, said, deadline = views.View(), "", time.monotonic() + 20
    with view.telling(), view.busy("loading"):
        while said.count("loading …") < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
            said += capsys.readouterr().out
    assert said.count("loading …") >= 2


def test_what_is_said_ends_what_was_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    view = views.View()
    view.act("An act")
    view.show([], "waiting: ready")
    view.say("it is ready")
    assert view.doing == "An act …"
