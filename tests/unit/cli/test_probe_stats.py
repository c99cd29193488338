"""Samples in, numbers out."""

import pytest

from fairlane.cli.probe import results, stats


def sample(ttft: float | None = 0.1, e2e: float = 1.0, kind: str = "ok", gaps: tuple[float, ...] = (), track: str = "") -> results.Sample:
    return results.Sample(at=0.0, kind=kind, status=200, ttft=ttft, e2e=e2e, gaps=gaps, output_tokens=len(gaps) + 1, track=track)


def run(*samples: results.Sample) -> results.Run:
    return results.Run("2026-01-01T00:00:00Z", 10.0, {}, samples)


@pytest.mark.parametrize(
    ("count", "share", "expected"),
    [
        pytest.param(1, 0.99, 1, id="of one value every quantile is that value"),
        pytest.param(100, 0.5, 50, id="the median of a hundred is the fiftieth"),
        pytest.param(100, 0.99, 99, id="the p99 of a hundred is the ninety-ninth"),
        pytest.param(101, 0.99, 100, id="the p99 of a hundred and one is the hundredth"),
        pytest.param(40, 0.99, 40, id="the p99 of forty is the greatest"),
        pytest.param(10, 0.0, 1, id="the rank never falls below the first"),
    ],
)
def test_rank(count: int, share: float, expected: float) -> None:
    assert stats.rank([float(value) for value in range(1, count + 1)], share) == expected


def test_rank_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no values, no quantile"):
        stats.rank([], 0.5)


def test_only_whole_answers_count_for_latencies_and_all_errors_by_kind() -> None:
    samples = [sample(gaps=(0.02, 0.04)), sample(None, 9.0, "timeout"), sample(None, 0.0, "429"), sample(None, 0.0, "429"), sample(None, 2.0)]
    summary = stats.summarise(samples, 10.0)
    assert summary == stats.Summary(
        requests=5,
        errors={"429": 2, "timeout": 1},
        refused=0,
        seconds=10.0,
        output_tokens=7,
        latencies={
            "ttft": stats.Quantiles(1, 0.1, 0.1, 0.1, 0.1),
            "itl": stats.Quantiles(2, 0.02, 0.04, 0.04, 0.04),
            "e2e": stats.Quantiles(2, 1.0, 2.0, 2.0, 2.0),
        },
    )
    assert (summary.failed, summary.error_share) == (3, 0.6)


def test_no_requests_have_no_latencies_and_no_errors() -> None:
    summary = stats.summarise([], 0.0)
    assert (summary.latencies, summary.error_share) == ({}, 0.0)


def test_samples_are_grouped_by_track() -> None:
    groups = stats.by_track([sample(track="canary"), sample(track="stable"), sample(track="canary")])
    assert {names: len(samples) for names, samples in groups.items()} == {("", "canary", ""): 2, ("", "stable", ""): 1}


BEFORE = run(*(sample(value / 100) for value in range(1, 101)))


@pytest.mark.parametrize(
    ("after", "broken"),
    [
        pytest.param(run(*(sample(min(value / 100, 0.6)) for value in range(1, 101))), [], id="a cut tail is narrower"),
        pytest.param(run(*(sample(min(value / 100 + 0.16, 0.7)) for value in range(1, 101))), [], id="a median up by less than a third may be the price"),
        pytest.param(run(*(sample(min(value / 100 + 0.18, 0.7)) for value in range(1, 101))), ["p50"], id="a median up by more than a third is none"),
        pytest.param(BEFORE, ["p99", "p95"], id="the same run is not narrower"),
        pytest.param(run(*(sample(0.6) for _ in range(98)), sample(5.0), sample(5.0)), ["p99"], id="a lower p95 alone is not enough"),
        pytest.param(run(*(sample(0.1) for _ in range(99)), sample(kind="5xx")), ["errors"], id="more errors undo it"),
    ],
)
def test_compare(after: results.Run, broken: list[str]) -> None:
    comparison = stats.compare(BEFORE, after, "ttft")
    assert [check.name for check in comparison.checks if not check.held] == broken
    assert comparison.narrowed == (not broken)


def test_a_run_without_the_latency_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="the second run has no TTFT: 1 requests, 1 failed"):
        stats.compare(BEFORE, run(sample(kind="5xx")), "ttft")


@pytest.mark.parametrize(
    ("values", "buckets"),
    [
        pytest.param([], 0, id="nothing has no edges"),
        pytest.param([0.0], 0, id="zeros have no logarithm"),
        pytest.param([2.0, 2.0], 1, id="equal values have one"),
        pytest.param([0.01, 0.1, 1.0, 10.0], 12, id="others have twelve"),
    ],
)
def test_every_value_is_in_a_bucket(values: list[float], buckets: int) -> None:
    edges = stats.edges(values)
    assert len(edges) == buckets
    if edges:
        assert sum(stats.histogram(values, edges)) == len(values)
