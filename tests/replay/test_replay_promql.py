"""The stand-in for Prometheus answers as Prometheus does."""

import pytest
from tests.replay import promql, series

A, B = {"__name__": "m", "pod": "a"}, {"__name__": "m", "pod": "b"}


@pytest.fixture
def database() -> series.Database:
    """Two pods: a counts 1, 2, 3 every ten seconds until 30; b counts 5, then starts again and is gone at 25."""
    made = series.Database()
    for time, value in ((10.0, 1.0), (20.0, 2.0), (30.0, 3.0)):
        made.write(time, (("pod", "a"),), [((("__name__", "m"),), value)])
    for time, value in ((10.0, 5.0), (20.0, 1.0)):
        made.write(time, (("pod", "b"),), [((("__name__", "m"),), value)])
    made.stale(25.0, (("pod", "b"),))
    return made


@pytest.mark.parametrize(
    ("query", "time", "expected"),
    [
        pytest.param("m", 20.0, [(A, 2.0), (B, 1.0)], id="an instant sees the last sample"),
        pytest.param("m", 30.0, [(A, 3.0)], id="a target that is gone is stale"),
        pytest.param("m", 329.0, [(A, 3.0)], id="for five minutes"),
        pytest.param("m", 331.0, [], id="and no longer"),
        pytest.param('{__name__=~"m|n",pod!="a"}', 20.0, [(B, 1.0)], id="matchers"),
        pytest.param('m{pod=~"a|b",pod!~"b"}', 20.0, [(A, 2.0)], id="patterns are anchored"),
        pytest.param("last_over_time(m[15000ms])", 30.0, [(A, 3.0), (B, 1.0)], id="a range knows no staleness"),
        pytest.param("last_over_time(m[10s])", 30.0, [(A, 3.0)], id="a range is open on its left"),
        pytest.param("sum by (pod) (resets(m[1m]))", 30.0, [({"pod": "a"}, 0.0), ({"pod": "b"}, 1.0)], id="resets"),
        pytest.param("max by (pod) (timestamp(m))", 24.0, [({"pod": "a"}, 20.0), ({"pod": "b"}, 20.0)], id="the time of the last sample"),
        pytest.param('m{pod="a"} or m{pod="b"}', 20.0, [(A, 2.0), (B, 1.0)], id="either"),
        pytest.param("sum(m)", 20.0, [({}, 3.0)], id="a sum of all"),
        pytest.param("vector(time())", 17.0, [({}, 17.0)], id="the time"),
        pytest.param("m @ 10", 30.0, [(A, 1.0), (B, 5.0)], id="at another time"),
        pytest.param("m offset 10s", 30.0, [(A, 2.0), (B, 1.0)], id="some time ago"),
    ],
)
def test_a_query_is_answered(database: series.Database, query: str, time: float, expected: promql.Vector) -> None:
    assert promql.evaluate(query, database, time) == expected


@pytest.mark.parametrize("query", ["rate(m[1m])", "m + m", "last_over_time(m)", "m{pod}", 'm{pod="a"', "m[1m]", "sum(m))", "m?"])
def test_what_is_not_known_is_refused(database: series.Database, query: str) -> None:
    with pytest.raises(promql.RefusedError):
        promql.evaluate(query, database, 30.0)


def test_a_sample_that_is_not_newer_is_dropped(database: series.Database) -> None:
    database.write(30.0, (("pod", "a"),), [((("__name__", "m"),), 9.0)])
    assert promql.evaluate("m", database, 30.0) == [(A, 3.0)]
