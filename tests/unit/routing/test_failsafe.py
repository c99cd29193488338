"""No judge, no canary: when an agent stops to trust a split."""

from fairlane.core.routing import document, failsafe


def route(weight: int) -> document.RouteDocument:
    tracks = (document.Track(role="stable", revision="r-1", weight=100 - weight), document.Track(role="canary", revision="r-2", weight=weight))
    lane = document.LaneRoute(name="chat", tracks=tracks)
    return document.RouteDocument(namespace="n", service="s", model="m", default_lane="chat", fail_safe_after_seconds=60, lanes=(lane,))


def test_without_canary_weight_nothing_is_watched() -> None:
    state = failsafe.judge(failsafe.FailSafe(renewed="old"), route(0), 10_000)
    assert (state.active, state.since, failsafe.wake_at(state, route(0))) == (False, None, None)


def test_the_clock_starts_when_the_canary_gets_weight() -> None:
    state = failsafe.judge(failsafe.FailSafe(renewed="a day ago"), route(10), 1_000)
    assert (state.active, failsafe.wake_at(state, route(10))) == (False, 1_060)
    assert not failsafe.judge(state, route(10), 1_059.9).active
    overdue = failsafe.judge(state, route(10), 1_060)
    assert (overdue.active, overdue.count, failsafe.wake_at(overdue, route(10))) == (True, 1, None)


def test_each_beat_gives_the_whole_time_anew() -> None:
    state = failsafe.judge(failsafe.FailSafe(), route(10), 0)
    state = failsafe.judge(failsafe.beat(state, "t1", 50), route(10), 50)
    assert failsafe.wake_at(state, route(10)) == 110


def test_a_lease_that_stands_still_is_no_beat() -> None:
    state = failsafe.beat(failsafe.judge(failsafe.FailSafe(), route(10), 0), "t1", 10)
    assert failsafe.beat(state, "t1", 30) == state
    assert failsafe.beat(state, "", 30) == state


def test_it_counts_each_time_once_and_ends_with_the_next_beat() -> None:
    state = failsafe.judge(failsafe.FailSafe(), route(10), 0)
    state = failsafe.judge(failsafe.judge(state, route(10), 60), route(10), 61)
    assert state.count == 1
    state = failsafe.judge(failsafe.beat(state, "t2", 70), route(10), 70)
    assert (state.active, state.count) == (False, 1)
    state = failsafe.judge(state, route(10), 130)
    assert (state.active, state.count) == (True, 2)


def test_a_beat_before_any_weight_does_not_start_the_clock() -> None:
    state = failsafe.beat(failsafe.FailSafe(), "t1", 5)
    assert state.since is None
