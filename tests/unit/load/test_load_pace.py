"""When synthetic requests may go out, and of what lengths."""

import itertools
import random
from collections.abc import Sequence

import pytest

from fairlane.core.load import lengths, pace


def sent(rate: float, seconds: float, look: float, seed: int = 1, begin: pace.Pace | None = None) -> list[float]:
    """The times at which requests go out, by a clock that is looked at every so often."""
    chance, now, state = random.Random(seed), 0.0, begin or pace.Pace()
    times = []
    while now < seconds:
        state = pace.at(state, now, rate, chance.random())
        if pace.due(state, now):
            times.append(now)
            state = pace.over(state, now, chance.random())
        now += look
    return times


@pytest.mark.parametrize("rate", [0.05, 0.5, 2.0, 20.0])
def test_the_rate_is_kept_and_never_exceeded(rate: float) -> None:
    times = sent(rate, 600 / rate, 0.01 / rate)
    assert 598 <= len(times) <= 601
    for window in (2 / rate, 10 / rate, 100 / rate):
        assert max(sum(begin <= one < begin + window for one in times) for begin in times) <= window * rate + 2


def test_what_was_missed_is_not_made_up_for() -> None:
    busy = sent(2.0, 60.0, 10.0)     # looked at every ten seconds, as by a process that gets no processor
    assert len(busy) == 5, "one for each look after the first, not twenty"


def test_requests_are_not_in_step() -> None:
    times = sent(1.0, 200.0, 0.001)
    gaps = sorted(round(after - before, 2) for before, after in itertools.pairwise(times))
    assert (gaps[0] < 0.4, gaps[-1] > 1.6) == (True, True)


CHANGES = {
    "none before, a slot begins at once": (pace.Pace(), 2.0, (10.0, 10.5)),
    "a slower rate waits for the old slot": (pace.Pace(2.0, due=10.1, end=10.4), 1.0, (10.4, 11.4)),
    "a faster rate does not wait for a long slot": (pace.Pace(0.01, due=90.0, end=100.0), 2.0, (10.5, 11.0)),
}


@pytest.mark.parametrize(("before", "rate", "expected"), CHANGES.values(), ids=CHANGES.keys())
def test_a_new_rate(before: pace.Pace, rate: float, expected: tuple[float, float]) -> None:
    dues = [pace.at(before, 10.0, rate, chance).due for chance in (0.0, 0.999999)]
    assert dues == pytest.approx(expected, abs=1e-4)


def test_a_rate_of_nothing_sends_nothing() -> None:
    begun = pace.at(pace.Pace(), 0.0, 2.0, 0.0)
    assert sent(0.0, 100.0, 0.1, begin=begun) == []


PAUSES = {
    "an answer": (200, 0.0), "the lane is full": (429, 30.0), "the mark is not taken": (403, 5.0), "the engine failed": (500, 5.0), "no router": (0, 5.0),
}


@pytest.mark.parametrize(("code", "expected"), PAUSES.values(), ids=PAUSES.keys())
def test_a_refusal_pauses(code: int, expected: float) -> None:
    after = pace.answered(pace.Pace(), 100.0, code)
    assert [pace.paused(after, 100.0 + expected - 0.01), pace.paused(after, 100.0 + expected)] == [expected > 0, False]


def test_a_short_pause_does_not_end_a_long_one() -> None:
    full = pace.answered(pace.Pace(), 100.0, 429)
    assert pace.paused(pace.answered(pace.answered(full, 101.0, 500), 102.0, 200), 129.0)


DRAWS = {
    "the lowest": ((10, 20, 40), 0.0, 10),
    "the one in the middle": ((10, 20, 40), 0.5, 20),
    "between two": ((10, 20, 40), 0.75, 30),
    "next to the highest": ((10, 20, 40), 0.9999, 40),
    "the only one": ((7,), 0.6, 7),
}


@pytest.mark.parametrize(("given", "chance", "expected"), DRAWS.values(), ids=DRAWS.keys())
def test_a_length_is_drawn(given: Sequence[int], chance: float, expected: int) -> None:
    assert lengths.drawn(given, chance) == expected


def test_lengths_are_bounded_and_never_nothing() -> None:
    assert lengths.bounded((1, 50, 900), 64.5) == (1, 50, 64)
    assert lengths.bounded((1, 50), 0.3) == (1, 1)
    assert lengths.bounded((1, 50), float("inf")) == (1, 50)
