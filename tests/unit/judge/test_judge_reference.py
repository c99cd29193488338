"""The whole rule against an independent implementation of the same method, on the same streams."""

import dataclasses
import json
import math
import pathlib
from typing import Any

import pytest
from tests.unit.judge import streams

from fairlane.api import spec as specs
from fairlane.core.judge import bets

TICKS = 120         # of the streams that never fail
RATE = "0.0111"     # 0.9 of it is the reference's alpha
CASES = json.loads((pathlib.Path(__file__).parent / "data" / "reference.json").read_text(encoding="utf-8"))["streams"]
QUICK = specs.Analysis(false_rollback_rate=RATE)


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in CASES])
def test_the_first_fail_falls_on_the_reference_s_tick(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bets, "OWN_PRIOR", 1e9)   # the reference does not look at how the canary's part varies
    fails = None
    for tick, said in enumerate(streams.verdicts(streams.evidences(streams.Stream(**case["stream"]), case["fails"] or TICKS), streams.trial(analysis=QUICK))):
        if said.outcome == "Fail":
            fails = tick
            break
        expected = case["eValues"].get(str(tick)) if case["stream"].get("pods", 1) == 1 else None   # the reference knows errors by pod, the router does not
        if expected is not None:
            assert said.record is not None
            harm, no_harm = (float(text) for text in (said.record.e_value, said.record.pass_e_value))
            assert (harm, no_harm) == (pytest.approx(0.9 * float(expected[0]), rel=0.011), pytest.approx(float(expected[1]), rel=0.011))
    assert fails == case["fails"]


def test_the_expected_ticks_tell_streams_apart() -> None:
    fails = [case["fails"] for case in CASES]
    assert (len(fails), fails.count(None)) == (14, 4)
    assert all(math.isfinite(tick) for tick in fails if tick)


def test_what_comes_after_a_fail_does_not_undo_it() -> None:
    bad = streams.Stream(2, slow=10)
    said = list(streams.verdicts(streams.evidences(bad, 10), streams.trial(analysis=QUICK)))
    first = next(index for index, item in enumerate(said) if item.outcome == "Fail")
    healthy = (dataclasses.replace(item, reference={}) for item in streams.evidences(streams.Stream(1), 30))
    next(healthy)
    later = list(streams.verdicts(healthy, streams.trial(analysis=QUICK, state=said[first].state)))
    assert {(item.outcome, item.message) for item in later} == {(said[first].outcome, said[first].message)}
