"""Bets against "the canary is no worse" (and against "it is worse"), on counts alone. Pure formulas; logarithms are natural.

Each returns the logarithm of an e-value: a nonnegative statistic whose expectation is at most 1 while its hypothesis holds, at every look together, so that it
reaches 1/a with probability at most a, however often it is looked at (Ville 1939). The relative bets are in the spirit of Turner, Ly & Grünwald, "Generic
E-variables for exact sequential k-sample tests" (arXiv 2106.02693) and of Lindon & Malek, "Anytime-valid inference for multinomial count data"
(arXiv 2011.03567): both sides share one time-varying rate, so slow spells that are common to both cancel out.

Names as in the literature: x exceedances of n requests, of the canary (`_c`) and of the stable (`_s`); p their probabilities.
"""

import math
from collections.abc import Iterable, Sequence

WORSE = (1.5, 2.5, 5.0, 12.0, 50.0)         # the canary's share over the one that is allowed: one bet each, averaged
NO_WORSE = (0.1, 0.25, 0.5, 0.8)            # part of a bet that a canary's exceedance costs
LESS = (0.75, 0.5, 0.2, 0.02)               # the canary's share over the objective's
PRIOR = 10.0                                # weight of the prior in the dispersion over time, exceedances
OWN_PRIOR = 2.5                             # the same in that between minutes: the variance of ten exceedances that either side is as likely to have
PASS_DISPERSION = 2.0                       # that prior's dispersion for a Pass: nothing calm is trusted before it has shown itself
LACKING = (1e-6, 0.1, 0.4)                  # the canary's share of the completions over the one that is due

_LARGEST_SHARE = 0.95                       # of requests over an objective that a bet assumes


def log_e_fail(x_c: float, x_s: float, n_c: float, n_s: float, tau: float, delta: float, phi: float = 1.0) -> float:
    """Evidence against p_c <= tau p_s + delta. E[exp L] <= exp(n_c a (p_c - tau p_s - delta)) for each bet, hence at most 1; phi >= 1 tempers (Jensen)."""
    if n_c <= 0 or n_s <= 0:
        return 0.0
    ratio, logs = tau * n_c / n_s, []
    for psi in WORSE:
        stake = (psi - 1) / (1 + ratio * psi)       # a canary's exceedance multiplies by 1 + stake, a stable's by 1 - ratio * stake > 0
        logs.append((x_c * math.log1p(stake) + x_s * math.log1p(-ratio * stake) - delta * n_c * stake) / phi)
    return log_mean_exp(logs)


def log_e_pass(x_c: float, x_s: float, n_c: float, n_s: float, tau: float, delta: float, phi: float = 1.0) -> float:
    """Evidence against p_c >= tau p_s + delta; the same proof with the signs exchanged."""
    if n_c <= 0 or n_s <= 0:
        return 0.0
    ratio = tau * n_c / n_s
    return log_mean_exp([(x_c * math.log1p(-g) + x_s * math.log1p(g * ratio) + delta * n_c * g) / phi for g in NO_WORSE])


def log_e_above(x: float, n: float, p0: float) -> float:
    """Evidence against p <= p0: likelihood ratios of one sample, averaged. 0 < p0 < 0.95."""
    return log_mean_exp([_likelihood(x, n, min(_LARGEST_SHARE, p0 * psi), p0) for psi in WORSE])


def log_e_below(x: float, n: float, p0: float, phi: float = 1.0) -> float:
    """Evidence against p >= p0. 0 < p0 < 1."""
    return log_mean_exp([_likelihood(x, n, p0 * less, p0) / phi for less in LESS])


def log_e_starved(n_c: float, n_s: float, share: float) -> float:
    """Evidence that fewer than `share` of all completions are the canary's. 0 < share < 1."""
    return log_mean_exp([_likelihood(n_c, n_c + n_s, share * lack, share) for lack in LACKING])


def _likelihood(x: float, n: float, p1: float, p0: float) -> float:
    return x * math.log(p1 / p0) + (n - x) * (math.log1p(-p1) - math.log1p(-p0))


def over_time(spread: float, mean: float, dispersion: float = 1.0) -> float:
    """The stable's dispersion from tick to tick: `spread` is the sum of (dx_t - dx_t-1)^2, `mean` that of dx_t + dx_t-1; 1 is Poisson. Sees bursts."""
    return (dispersion * PRIOR + spread) / (PRIOR + mean)


def between_minutes(spread: float, expected: float) -> float:
    """The dispersion of the canary's part of all exceedances from minute to minute, which what both sides share leaves as it is. Sees spells of one's own."""
    return (OWN_PRIOR + spread) / (OWN_PRIOR + expected)


def between_pods(pods: Sequence[tuple[float, float]]) -> float:
    """The dispersion of exceedances between pods, (x, n) each: Pearson's chi-square by its degrees of freedom; 1 where it cannot be told."""
    used = [(x, n) for x, n in pods if n > 0]
    over, total = sum(x for x, _ in used), sum(n for _, n in used)
    if len(used) < 2 or not 0 < over < total:
        return 1.0
    p = over / total
    return sum((x - n * p) ** 2 / (n * p * (1 - p)) for x, n in used) / (len(used) - 1)


def log_mean_exp(logs: Sequence[float]) -> float:
    """The logarithm of the mean of exponentials."""
    return log_sum_exp(logs) - math.log(len(logs))


def log_sum_exp(logs: Iterable[float]) -> float:
    """The logarithm of the sum of exponentials; minus infinity of none."""
    known = list(logs)
    largest = max(known, default=-math.inf)
    return largest if math.isinf(largest) else largest + math.log(sum(math.exp(value - largest) for value in known))
