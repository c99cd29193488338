"""Arithmetic on buckets."""

import math

import pytest

from fairlane.core.judge import histograms, types

INF = math.inf
SAMPLE = types.Histogram((0.1, 0.5, 1.0, INF), (50.0, 90.0, 99.0, 100.0))
EMPTY = types.Histogram((0.1, INF), (0.0, 0.0))


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
    ("histogram", "expected"),
    [
        pytest.param(SAMPLE, (0.5, INF), id="a hundred observations do not bound a p99 from above"),
        pytest.param(types.Histogram(SAMPLE.edges, (500_000.0, 900_000.0, 995_000.0, 1_000_000.0)), (0.5, 1.0), id="a million do, to the bucket"),
        pytest.param(EMPTY, None, id="no observations, no range"),
    ],
)
def test_quantile_range(histogram: types.Histogram, expected: tuple[float, float] | None) -> None:
    assert histograms.quantile_range(histogram, 0.99) == expected


@pytest.mark.parametrize(
    ("edges", "over", "expected"),
    [
        pytest.param((0.1, 0.5, 1.0), (50, 10, 1), (0.5, 1.0), id="from the first edge that a tenth exceeds at most"),
        pytest.param((1.0, 1.2, 1.25, 1.5, 1.6), (9, 8, 7, 6, 5), (1.0, 1.25, 1.6), id="each a quarter above the last"),
        pytest.param(tuple(2.0**power for power in range(9)), (9,) * 9, tuple(2.0**power for power in range(6)), id="six at most"),
        pytest.param((0.1, 0.5), (90, 50), (0.5,), id="the last edge where all are exceeded too often"),
        pytest.param((), (), (), id="none without buckets"),
    ],
)
def test_tail_edges(edges: tuple[float, ...], over: tuple[float, ...], expected: tuple[float, ...]) -> None:
    assert histograms.tail_edges(types.Histogram((*edges, INF), (*(100.0 - x for x in over), 100.0))) == expected


def test_without_observations_there_is_no_tail() -> None:
    assert histograms.tail_edges(EMPTY) == ()


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        pytest.param(0.5, (0.5, 0.5), id="on an edge"),
        pytest.param(0.1 + 0.4 + 1e-16, (0.5, 0.5), id="on an edge but for rounding"),
        pytest.param(0.2, (0.1, 0.5), id="between edges"),
        pytest.param(0.05, (None, 0.1), id="below all"),
        pytest.param(2.0, (1.0, None), id="beyond the buckets"),
    ],
)
def test_around(limit: float, expected: tuple[float | None, float | None]) -> None:
    assert histograms.around((0.1, 0.5, 1.0), limit) == expected


def test_pods_with_other_buckets_add_up_where_both_have_an_edge() -> None:
    other = types.Histogram((0.5, 2.0, INF), (3.0, 4.0, 5.0))
    assert histograms.merged([SAMPLE, other]) == types.Histogram((0.5, INF), (93.0, 105.0))
    assert histograms.merged([]) is None


def test_buckets_and_their_cumulative_form_are_each_other_s_inverse() -> None:
    counts = histograms.buckets(SAMPLE, (0.1, 0.5, 1.0))
    assert counts == (50.0, 40.0, 9.0, 1.0)
    assert histograms.cumulative((0.1, 0.5, 1.0), counts) == SAMPLE


def test_a_grid_is_what_all_have() -> None:
    assert histograms.grid((0.1, 0.5), SAMPLE, types.Histogram((0.5, 1.0, INF), (0.0, 0.0, 0.0))) == (0.5,)
