"""Wilson's bounds against values computed independently: the roots of (p̂ - p)² = z² p (1 - p) / n."""

import math

import pytest

from fairlane.core.judge import wilson

Z = 2.3263478740408408


@pytest.mark.parametrize(
    ("hits", "total"),
    [
        pytest.param(0, 1, id="one request without a hit"),
        pytest.param(1, 1, id="one request, a hit"),
        pytest.param(23, 61, id="the example of the documentation"),
        pytest.param(5, 100_000, id="a rare hit in many"),
        pytest.param(60, 60, id="every request a hit"),
    ],
)
def test_both_bounds_solve_the_score_equation(hits: float, total: float) -> None:
    share = hits / total
    for bound in (wilson.lower(hits, total), wilson.upper(hits, total)):
        assert abs(share - bound) == pytest.approx(Z * math.sqrt(bound * (1 - bound) / total), abs=1e-9)
    assert wilson.lower(hits, total) <= share <= wilson.upper(hits, total)


def test_without_samples_nothing_is_known() -> None:
    assert (wilson.lower(0, 0), wilson.upper(0, 0)) == (0.0, 1.0)


def test_more_hits_than_requests_by_rounding_is_every_request() -> None:
    assert wilson.upper(10.4, 10) == 1.0
