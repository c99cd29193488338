"""How exceedances vary from minute to minute, and what that takes from the evidence."""

from collections.abc import Callable, Iterator

import pytest
from tests.unit.judge import streams

from fairlane.core.judge import bets, memory, types, variation

Both = tuple[int, int]      # exceedances of a minute, the stable's and the canary's
MINUTE = 6                  # ticks
SPELL = 5                   # of the ten requests in each tick of a slow minute are slow


def minutes(counts: list[Both]) -> memory.Minutes:
    """What is kept after these."""
    known, stable, canary = memory.Minutes(), 0, 0
    for more in counts:
        stable, canary = stable + more[0], canary + more[1]
        known = variation.next_minute(known, memory.Over(stable, canary))
    return known


@pytest.mark.parametrize(
    ("counts", "spread", "expected"),
    [
        pytest.param([(3, 9)], 0.0, 0.0, id="one minute shows nothing"),
        pytest.param([(1, 1), (10, 10), (2, 2)], 0.0, 2 * (4 * 0.25 * 20 * 2 / 21 / 4 + 0.25 * 4 * 20 / 23), id="a spell of both sides"),
        pytest.param([(0, 5), (0, 20)], 0.0, 0.0, id="what the canary alone has, however it comes"),
        pytest.param([(10, 0), (0, 10)], 2 * 5.0**2, 2 * 0.25 * 100 / 19, id="each side in its turn"),
        pytest.param([(10, 0), (0, 0), (0, 10)], 2 * 5.0**2, 2 * 0.25 * 100 / 19, id="a minute without any is passed over"),
        pytest.param([(1, 0), (0, 1)], 2 * 0.5**2, 2 * 0.25, id="two exceedances cannot be more unlike than chance makes them"),
    ],
)
def test_minutes(counts: list[Both], spread: float, expected: float) -> None:
    known = minutes(counts)
    assert (known.spread, known.expected) == pytest.approx((spread, expected), abs=0.002)


def test_the_dispersion_starts_at_one_and_grows_with_what_is_not_shared() -> None:
    assert (bets.between_minutes(0, 0), bets.between_minutes(10, 10), bets.between_minutes(50, 5)) == (1.0, 1.0, 7.0)


def own(minute: int) -> tuple[bool, bool]:
    """Spells of each side's own, more of them the canary's."""
    return minute in (4, 16, 27), minute in (1, 6, 9, 12, 14, 19, 21, 24)


def spells(slow: Callable[[int], tuple[bool, bool]]) -> Iterator[types.Evidence]:
    """Half an hour of one pod beside another, each with ten requests a tick; `slow` says which of them is slow in a minute."""
    yield streams.baseline()
    for tick in range(1, 30 * MINUTE + 1):
        stable, canary = (_tick(spell) for spell in slow((tick - 1) // MINUTE))
        yield streams.evidence(tick, streams.side("old-1", [stable], 1), streams.side("new-1", [canary], 1))


def _tick(slow: bool) -> dict[str, int]:
    over = {streams.key(metric, edge): SPELL * slow for metric in streams.EDGES for edge in streams.EDGES[metric]}
    return {"n": 10, "errors": 0, **over}


@pytest.mark.parametrize(
    ("slow", "outcome"),
    [
        pytest.param(own, "Insufficient", id="spells of each side's own, the canary with more of them"),
        pytest.param(lambda minute: (False, minute % 3 == 1), "Fail", id="spells of the canary alone"),
        pytest.param(lambda minute: (minute % 10 == 1, True), "Fail", id="a slow canary beside spells of the stable"),
    ],
)
def test_a_canary_with(slow: Callable[[int], tuple[bool, bool]], outcome: str) -> None:
    asked = streams.trial(weight=50)
    said = [str(verdict.outcome) for verdict in streams.verdicts(spells(slow), asked)]
    assert ("Fail" if "Fail" in said else said[-1]) == outcome


def test_without_it_spells_of_its_own_speak_against_the_canary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bets, "OWN_PRIOR", 1e9)
    said = streams.verdicts(spells(own), streams.trial(weight=50))
    assert "Fail" in {str(verdict.outcome) for verdict in said}
