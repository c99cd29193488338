"""Pauses between tokens: what the product's judge says of engines simulated step by step."""

import pytest
from bench.judge import pauses

CALM, SPELLS = pauses.Lane(4.0, 0.5, 1), pauses.Lane(4.0, 0.5, 1, spells=True)


@pytest.mark.parametrize(
    ("lane", "chunk", "expected"),
    [
        pytest.param(CALM, pauses.WHOLE, "Fail", id="a canary that takes long prompts in one step is rolled back"),
        pytest.param(CALM, pauses.CHUNK, "kept", id="a healthy one is not"),
        pytest.param(SPELLS, pauses.CHUNK, "kept", id="nor one whose pod has slow spells of its own"),
    ],
)
def test_pauses(lane: pauses.Lane, chunk: int, expected: str) -> None:
    found = [pauses.run(lane, seed, chunk) for seed in range(2)]
    assert ["Fail" if one.verdict == "Fail" else "kept" for one in found] == [expected] * 2, found[0].message


def test_a_rollback_for_pauses_tells_how_many_steps_took_how_long() -> None:
    message = pauses.run(CALM, 0, pauses.WHOLE).message
    assert message.startswith("ITL: ")
    assert "canary engine steps" in message
