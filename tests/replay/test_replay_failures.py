"""Failed loads of real vLLM, recorded by `make bench-failures` as the API server said them: each is read as it must be, at the first look that shows it."""

import dataclasses
import datetime
import json
import pathlib
from typing import Any

import pytest
from bench.failures import kinds
from tests.unit.rollout import views

from fairlane.api import status as statuses
from fairlane.core.rollout import advice, phases, view
from fairlane.shell import convert_pods

RECORDINGS = pathlib.Path(kinds.__file__).with_name("recordings")
each = pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.what) for kind in kinds.KINDS])


def recorded(kind: kinds.Kind) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RECORDINGS / f"{kind.name}.json").read_text())
    return found


def looked_at(pod: dict[str, Any], log: str) -> view.Move:
    """What a pass makes of the canary's pod, and of its log where it reads that; the stable serves beside it."""
    canary = dataclasses.replace(convert_pods.engine(pod), revision=views.CANARY, lane="chat")
    if canary.container.exit_code == 1:
        canary = dataclasses.replace(canary, container=dataclasses.replace(canary.container, log=log))
    now = max(views.NOW, canary.created + datetime.timedelta(seconds=1))
    loading = {"phase": statuses.Phase.LOADING, "weight": 0}
    return phases.advance(views.lane(loading, weight=0, now=now, pods=(views.pod(views.STABLE, name="s-0"), canary), evidence=None))


@each
def test_it_is_rolled_back_at_the_first_look_at_the_dead_container(kind: kinds.Kind) -> None:
    kept = recorded(kind)
    moves = [looked_at(pod, kept["log"]) for pod in kept["states"]]
    ended = [move.status.phase is statuses.Phase.ROLLING_BACK for move in moves]
    assert (ended.count(True) > 0, sorted(ended) == ended) == (True, True)
    first = moves[ended.index(True)]
    assert (first.status.reason, first.status.weight) == (kind.reason, 0)
    assert advice.parts(first.status.message).remedy


@each
def test_the_live_run_was_in_time_and_no_user_noticed(kind: kinds.Kind) -> None:
    row = recorded(kind)["row"]
    assert (row["reason"], row["canaryRequests"], row["failedAnswers"]) == (kind.reason, 0, 0)
    assert row["seconds"] <= 20
