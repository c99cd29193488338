"""The formulas against values computed by hand, and what they must do whatever the counts."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlane.core.judge import bets

COUNTS = st.integers(0, 5_000)
MANY = st.integers(1, 100_000)


def by_hand(x_c: int, x_s: int, n_c: int, n_s: int, tau: float, delta: float) -> float:
    """The mean over the bets, without logarithms."""
    ratio = tau * n_c / n_s
    stakes = [(psi - 1) / (1 + ratio * psi) for psi in (1.5, 2.5, 5, 12, 50)]
    return sum((1 + a) ** x_c * (1 - ratio * a) ** x_s * math.exp(-delta * n_c * a) for a in stakes) / 5


@pytest.mark.parametrize(
    ("counts", "tau", "delta"),
    [
        pytest.param((1, 0, 10, 90), 1.25, 0.001, id="one failed request of the canary alone"),
        pytest.param((10, 3, 21, 190), 1.25, 0.001, id="half of the canary's requests are slow"),
        pytest.param((2, 20, 100, 900), 1.0, 0.0, id="no difference"),
    ],
)
def test_evidence_of_harm_is_the_mean_of_the_bets(counts: tuple[int, int, int, int], tau: float, delta: float) -> None:
    assert math.exp(bets.log_e_fail(*counts, tau, delta)) == pytest.approx(by_hand(*counts, tau, delta))


def test_one_request_alone_is_worth_the_mean_of_the_bets_at_most() -> None:
    worth = math.exp(bets.log_e_fail(1, 0, 1, 1_000_000, 1.0, 0.0))
    assert worth == pytest.approx((1.5 + 2.5 + 5 + 12 + 50) / 5, rel=1e-3)


def test_evidence_of_no_harm_by_hand() -> None:
    ratio = 1.5 * 100 / 900
    expected = sum((1 - g) ** 1 * (1 + g * ratio) ** 30 * math.exp(0.005 * 100 * g) for g in (0.1, 0.25, 0.5, 0.8)) / 4
    assert math.exp(bets.log_e_pass(1, 30, 100, 900, 1.5, 0.005)) == pytest.approx(expected)


def test_an_objective_is_tested_by_likelihood_ratios() -> None:
    above = sum((q / 0.01) ** 3 * ((1 - q) / 0.99) ** 7 for q in (0.015, 0.025, 0.05, 0.12, 0.5)) / 5
    below = sum((q / 0.01) ** 0 * ((1 - q) / 0.99) ** 500 for q in (0.0075, 0.005, 0.002, 0.0002)) / 4
    assert (math.exp(bets.log_e_above(3, 10, 0.01)), math.exp(bets.log_e_below(0, 500, 0.01))) == (pytest.approx(above), pytest.approx(below))


def test_missing_completions_by_hand() -> None:
    share = 0.05
    expected = sum(((1 - share * lack) / (1 - share)) ** 200 for lack in (1e-6, 0.1, 0.4)) / 3
    assert math.exp(bets.log_e_starved(0, 200, share)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param([(3, 100)], 1.0, id="one pod shows no difference"),
        pytest.param([(0, 100), (0, 100)], 1.0, id="without exceedances nothing is told"),
        pytest.param([(10, 100), (10, 100)], 0.0, id="equal pods"),
        pytest.param([(5, 100), (15, 100)], 2 * 5**2 / (100 * 0.1 * 0.9), id="Pearson's chi-square of two pods"),
        pytest.param([(5, 100), (15, 100), (0, 0)], 2 * 5**2 / (100 * 0.1 * 0.9), id="a pod without requests counts for nothing"),
    ],
)
def test_dispersion_between_pods(pods: list[tuple[float, float]], expected: float) -> None:
    assert bets.between_pods(pods) == pytest.approx(expected)


def test_dispersion_over_time_starts_at_its_prior_and_grows_with_bursts() -> None:
    assert (bets.over_time(0, 0), bets.over_time(0, 0, 2.0), bets.over_time(90, 10)) == (1.0, 2.0, 5.0)


@given(COUNTS, COUNTS, MANY, MANY, st.integers(1, 500))
def test_a_worse_stable_is_less_evidence_against_the_canary(x_c: int, x_s: int, n_c: int, n_s: int, more: int) -> None:
    assert bets.log_e_fail(x_c, x_s + more, n_c, n_s, 1.25, 0.001) < bets.log_e_fail(x_c, x_s, n_c, n_s, 1.25, 0.001)


@given(COUNTS, COUNTS, MANY, MANY, st.floats(0, 1))
def test_a_cap_only_lowers_the_evidence(x_c: int, x_s: int, n_c: int, n_s: int, part: float) -> None:
    assert bets.log_e_fail(part * x_c, x_s, n_c, n_s, 1.25, 0.001) <= bets.log_e_fail(x_c, x_s, n_c, n_s, 1.25, 0.001)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(50, 500)), min_size=2, max_size=8))
def test_the_order_of_the_pods_does_not_matter(pods: list[tuple[float, float]]) -> None:
    assert bets.between_pods(sorted(pods)) == pytest.approx(bets.between_pods(pods))


@pytest.mark.parametrize("counts", [(0.0, 0.0, 0.0, 0.0), (5.0, 0.0, 5.0, 0.0), (0.0, 5.0, 0.0, 5.0)])
def test_a_side_without_requests_shows_nothing(counts: tuple[float, float, float, float]) -> None:
    assert (bets.log_e_fail(*counts, 1.25, 0.001), bets.log_e_pass(*counts, 1.5, 0.005)) == (0.0, 0.0)


def test_large_counts_stay_finite() -> None:
    assert math.isfinite(bets.log_e_fail(1e7, 0, 1e8, 1e9, 100.0, 1.0))
    assert math.isfinite(bets.log_e_starved(1e8, 1e9, 0.5))


@pytest.mark.parametrize("p", [0.02, 0.2])
def test_the_mean_under_the_hypothesis_is_at_most_one(p: float) -> None:
    """Exactly, by summing over all outcomes of 5 canary and 12 stable requests at the edge of what is allowed."""
    tau, delta, n_c, n_s = 1.25, 0.001, 5, 12
    q = tau * p + delta

    def chance(x: int, n: int, share: float) -> float:
        return math.comb(n, x) * share**x * (1 - share) ** (n - x)

    mean = sum(
        chance(x, n_c, q) * chance(y, n_s, p) * math.exp(bets.log_e_fail(x, y, n_c, n_s, tau, delta)) for x in range(n_c + 1) for y in range(n_s + 1)
    )
    assert mean <= 1 + 1e-12
