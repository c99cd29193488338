"""Arithmetic on cumulative buckets."""

import math

import pytest

from fairlane.core.judge import histograms, types

INF = math.inf
SAMPLE = types.Histogram((0.1, 0.5, 1.0, INF), (50.0, 90.0, 99.0, 100.0))
EMPTY = types.Histogram((0.1, INF), (0.0, 0.0))
LATE = types.Histogram((0.1, INF), (90.0, 100.0))


@pytest.mark.parametrize(
    ("histogram", "rank", "expected"),
    [
        pytest.param(SAMPLE, 0.5, 0.1, id="the median lies on an edge"),
        pytest.param(SAMPLE, 0.25, 0.05, id="the first bucket starts at zero"),
        pytest.param(SAMPLE, 0.7, 0.3, id="linear inside its bucket"),
        pytest.param(SAMPLE, 0.995, 1.0, id="beyond the last finite edge it is that edge"),
        pytest.param(types.Histogram((1.0, 2.0, INF), (0.0, 4.0, 4.0)), 0.5, 1.5, id="an empty first bucket is passed over"),
        pytest.param(EMPTY, 0.5, None, id="no observations, no quantile"),
        pytest.param(types.Histogram((), ()), 0.5, None, id="no buckets, no quantile"),
    ],
)
def test_quantile(histogram: types.Histogram, rank: float, expected: float | None) -> None:
    assert histograms.quantile(histogram, rank) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("histogram", "limit", "expected"),
    [
        pytest.param(SAMPLE, 0.5, 0.5, id="an objective on an edge keeps it"),
        pytest.param(SAMPLE, 0.2, 0.5, id="an objective between edges takes the next above"),
        pytest.param(SAMPLE, 2.0, None, id="an objective beyond the buckets cannot be judged"),
    ],
)
def test_edge_above(histogram: types.Histogram, limit: float, expected: float | None) -> None:
    assert histograms.edge_above(histogram, limit) == expected


@pytest.mark.parametrize(
    ("histogram", "expected"),
    [
        pytest.param(SAMPLE, 1.0, id="the edge that one in a hundred exceeds"),
        pytest.param(EMPTY, None, id="no observations, no edge"),
        pytest.param(LATE, None, id="a tail beyond the last bucket has no edge"),
    ],
)
def test_tail_edge(histogram: types.Histogram, expected: float | None) -> None:
    assert histograms.tail_edge(histogram) == expected


def test_over_counts_what_lies_above_an_edge() -> None:
    assert histograms.over(SAMPLE, 0.5) == 10.0


def test_over_refuses_what_is_no_edge() -> None:
    with pytest.raises(ValueError, match=r"0\.3 is no edge"):
        histograms.over(SAMPLE, 0.3)
