"""What the judge keeps, and that nothing depends on when it is written down."""

import dataclasses
import datetime
import itertools

import pytest
from tests.unit.judge import streams

from fairlane.core.judge import absorb, memory, types


def test_a_run_that_is_written_down_at_every_tick_equals_one_that_is_not() -> None:
    ticks = list(streams.evidences(streams.Stream(3, pods=3, burst=2), 70))
    straight = written = absorb.begun(ticks[0])
    asked = streams.trial()
    for item in ticks[1:]:
        straight = absorb.absorbed(straight, item, asked)
        again = memory.read(written.text())
        assert again is not None
        written = absorb.absorbed(again, item, asked)
    assert (straight, straight.text()) == (memory.read(written.text()), written.text())


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"cursor": 1}', "\x00", '{"since": "yesterday"}'])
def test_what_cannot_be_read_is_no_memory(text: str) -> None:
    assert (memory.read(text), memory.cursor(text)) == (None, None)


def test_the_cursor_is_the_last_tick_s() -> None:
    cursor = types.Cursor(streams.START + datetime.timedelta(milliseconds=1234), ("a", "b"), (1.5, 2.5, 3.5))
    kept = absorb.begun(streams.baseline(cursor=cursor)).text()
    assert memory.cursor(kept) == cursor


METRICS = ("ttft", "itl", "tpot", "queue", "e2e", "router_ttft", "router_duration")
FINE = tuple(0.01 * 1.2**step for step in range(62))


def spread(total: float) -> types.Histogram:
    return types.Histogram((*FINE, float("inf")), (*(total * (1 - 0.8 ** (step + 1)) // 1 for step in range(62)), total))


PODS = tuple(types.PodSamples(f"assistant-chat-old-1-7f9c8d7b6-{index:05d}", {name: spread(6_000 + index) for name in METRICS[:5]}) for index in range(50))
ROUTER = ("router_ttft", "router_duration")
STABLE = types.TrackSamples("old-1", 300_000, 300, {name: spread(300_000) for name in ROUTER}, PODS, 50)
CANARY = types.TrackSamples("new-1", 30_000, 30, {name: spread(30_000) for name in ROUTER}, (dataclasses.replace(PODS[0], pod="new-1-x"),), 5)


def crowded(tick: int) -> types.Evidence:
    """Five minutes of fifty pods with every metric, finer buckets than vLLM's and a thousand requests a second."""
    since, until = (streams.START + datetime.timedelta(minutes=5 * at) for at in (max(tick - 1, 0), tick))
    cursor = types.Cursor(until, tuple(pod.pod for pod in PODS))
    return types.Evidence(since, until, STABLE, CANARY, cursor, reference={} if tick else {metric: spread(10_000) for metric in METRICS})


def test_six_hours_of_a_large_lane_fit_into_the_status() -> None:
    said = list(streams.verdicts((crowded(tick) for tick in range(73)), streams.trial(duration=21_600.0)))
    kept = memory.read(said[-1].state)
    assert kept is not None
    assert max(len(item.state) for item in said) <= memory.LIMIT
    assert (kept.seconds, len(kept.groups), kept.snapshots[-1].number) == (21_600.0, 16, 72)
    assert all(first.number + 1 == second.number for first, second in itertools.pairwise(kept.snapshots))


def test_a_text_that_grows_too_long_loses_its_oldest_restarts_first() -> None:
    kept = absorb.begun(streams.baseline())
    counts = {f"metric{index}": memory.Counts(1e6 + index, 1e5, (memory.Over(1.0, 2.0, 3.0),) * 6) for index in range(20)}
    long = dataclasses.replace(kept, snapshots=tuple(memory.Snapshot(number, 300.0 * number, counts) for number in range(1, 20)))
    again = memory.read(long.text())
    assert again is not None
    numbers = [snapshot.number for snapshot in again.snapshots]
    assert len(long.text()) <= memory.LIMIT
    assert 0 < len(numbers) < 19
    assert numbers == list(range(20 - len(numbers), 20))


def test_pods_keep_their_group() -> None:
    names: list[str] = []
    groups = [absorb._group(names, f"old-1-{pod}") for pod in ("b", "a", "b", "c", "a")]
    assert groups == [0, 1, 0, 2, 1]
