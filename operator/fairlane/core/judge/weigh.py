"""The evidence that the memory holds: that the canary is worse, and that it is not.

    E = 0.9 [ 0.8 sum_k w_k (0.4 E_k(start) + sum_i 0.4 / (i (i + 1)) E_k(since restart i) + 0.2 E_k(raw)) + 0.2 mean_o E_o(objective) ]

over the keys k: the tail edges of each metric, and errors. A weighted mean of e-values is one whatever depends on what; the missing tenth is the hang test's.
Without objectives the first factor is 1. Exact for independent requests given what both sides share; capping and tempering make it hold under bursts.
"""

import dataclasses
import math
from collections.abc import Iterator

from ...api import spec as specs
from . import absorb, bets, memory, shares

SHARE = 0.9             # of the budget that is for metrics; the rest is the hang test's
OBJECTIVES = 0.2        # weight of the objectives where there are any
ERRORS = 1 / 3          # weight of the errors
START, RESTART, RAW = 0.4, 0.4, 0.2     # weights of a key's parts
RAW_PHI = 8.0           # tempers what is not capped: only an outage at a high rate speaks through it
RAW_PHI_SCALE = 1.5

_PODS_OF = {"router_ttft": "ttft", "router_duration": "e2e"}    # the router does not count by pod: the engine's own metric shows how far pods differ
_LEAST_SHARE = 1e-6     # objective of errors that is tested; 0 cannot be bet on
_MOST_SHARE = 0.95

_Phis = tuple[float, float]     # dispersion for the test of harm, and for a Pass
_Sums = tuple[float, memory.Snapshot | None, tuple[float, float, memory.Over], float]     # weight, restart, counts, dispersion


@dataclasses.dataclass(frozen=True)
class Part:
    """One e-value of the mean, with its weight in it; since a restart, since the start (None), or of an objective."""

    log_e: float
    metric: str
    edge: float | None
    since: memory.Snapshot | None = None
    objective: bool = False


@dataclasses.dataclass(frozen=True)
class Weighed:
    """Both sums."""

    parts: tuple[Part, ...]
    passing: tuple[Part, ...]           # each metric's and edge's evidence for a Pass
    missed: tuple[str, ...]             # objectives that both sides miss

    @property
    def log_e(self) -> float:
        """The logarithm of E."""
        return bets.log_sum_exp(part.log_e for part in self.parts)

    @property
    def worst(self) -> Part:
        """The strongest part."""
        return max(self.parts, key=lambda part: part.log_e)

    @property
    def slowest(self) -> Part:
        """What shows least that the canary is no worse."""
        return min(self.passing, key=lambda part: part.log_e)


def weighed(known: memory.Memory, analysis: specs.Analysis, log_threshold: float) -> Weighed:
    """Weigh all that is known. `log_threshold`: from which an objective counts as missed."""
    judged, missed = latencies(known), []
    limits = [(metric, limit) for metric, limit in known.limits.items() if _testable(known, metric, limit, limit.high)]
    relative = 1 - OBJECTIVES if limits else 1.0
    weights = {"errors": ERRORS, **{metric: (1 - ERRORS) / len(judged) for metric in judged}} if judged else {"errors": 1.0}
    phis = {metric: [dispersion(known, metric, index) for index in range(len(known.tails[metric]))] for metric in weights}
    parts = [part for metric, weight in weights.items() for part in _relative(known, metric, SHARE * relative * weight, analysis, phis[metric])]
    for metric, limit in limits:
        log_e = bets.log_e_above(min(limit.capped, limit.total), limit.total, _bound(metric, limit))
        if _stable_misses(known, metric, limit.high, _bound(metric, limit)):
            missed += [metric] if log_e >= log_threshold else []
            continue
        parts.append(Part(math.log(SHARE * OBJECTIVES / len(limits)) + log_e, metric, limit.high, objective=True))
    # pauses come in clusters, a long prompt's chunks: that there are no more of them would take for ever to show, and TPOT shows the pace
    shown = [metric for metric in weights if metric != "itl" or "tpot" not in weights]
    passing = [part for metric in shown for part in _passing(known, metric, analysis, phis[metric])] + list(_kept(known))
    return Weighed(tuple(parts), tuple(passing), tuple(missed))


def latencies(known: memory.Memory) -> list[str]:
    """The latencies that are judged: those of both sides with tail edges; gaps between tokens by the engines' steps, or where requests' means are not there."""
    found = [metric for metric in shares.TAILS if known.tails.get(metric) and metric in known.stable.histograms and metric in known.canary.histograms]
    return [metric for metric in found if metric != "itl" or known.by_steps or "tpot" not in found]


def _relative(known: memory.Memory, metric: str, weight: float, analysis: specs.Analysis, phis: list[_Phis]) -> Iterator[Part]:
    """A metric's parts of the mean: each edge's since the start, uncapped, and since every restart."""
    counts, allowed, tails = known.counts(metric), absorb.allowed_of(known, metric, analysis), known.tails[metric]
    for index, (tail, over) in enumerate(zip(tails, counts.over, strict=True)):
        here, phi = weight / len(tails), phis[index][0]
        whole = counts.stable, counts.canary, over
        raw = counts.stable, counts.canary, over if metric == "itl" else over._replace(capped=over.canary)
        sums: list[_Sums] = [(START, None, whole, phi), (RAW, None, raw, max(RAW_PHI, RAW_PHI_SCALE * phi))]
        sums += [(RESTART / (item.number * (item.number + 1)), item, since(counts, item, metric, index), phi) for item in known.snapshots]
        for share, snapshot, (n_s, n_c, x), tempered in sums:
            log_e = bets.log_e_fail(x.capped, x.stable, n_c, n_s, allowed.tau, allowed.delta, tempered)
            yield Part(math.log(here * share) + log_e, metric, tail.edge, snapshot)


def since(counts: memory.Counts, snapshot: memory.Snapshot | None, metric: str, index: int) -> tuple[float, float, memory.Over]:
    """The stable's and the canary's observations since a restart, and those over the metric's `index`-th edge."""
    before = snapshot.counts.get(metric) if snapshot else None
    now = counts.over[index]
    if before is None:
        return counts.stable, counts.canary, now
    old = before.over[index]
    over = memory.Over(now.stable - old.stable, now.canary - old.canary, now.capped - old.capped)
    return counts.stable - before.stable, counts.canary - before.canary, over


def dispersion(known: memory.Memory, metric: str, index: int) -> _Phis:
    """By how much exceedances vary more than independent requests' would, the stable's and the canary's part of all: for the test of harm, and, more careful,
    for a Pass."""
    tail, source = known.tails[metric][index], _PODS_OF.get(metric, metric)
    groups = [group[source] for group in known.groups if source in group]
    edges = [index] if source == metric else range(len(known.tails.get(source, ())))
    pods = max((bets.between_pods([(group.over[edge], group.total) for group in groups]) for edge in edges), default=1.0)
    own = bets.between_minutes(tail.minutes.spread, tail.minutes.expected)
    phi = max(1.0, pods, own, bets.over_time(tail.spread, tail.mean))
    return phi, max(phi, bets.over_time(tail.spread, tail.mean, bets.PASS_DISPERSION))


def _passing(known: memory.Memory, metric: str, analysis: specs.Analysis, phis: list[_Phis]) -> Iterator[Part]:
    """A metric's evidence for a Pass, by edge: of all the canary's exceedances, uncapped."""
    counts, allowed = known.counts(metric), absorb.allowed_of(known, metric, analysis)
    for tail, over, (_, phi) in zip(known.tails[metric], counts.over, phis, strict=True):
        log_e = bets.log_e_pass(over.canary, over.stable, counts.canary, counts.stable, allowed.tau_pass, allowed.delta_pass, phi)
        yield Part(log_e, metric, tail.edge)


def _kept(known: memory.Memory) -> Iterator[Part]:
    """Evidence that the canary keeps the objectives that the stable keeps."""
    for metric, limit in known.limits.items():
        p0 = _bound(metric, limit)
        if _testable(known, metric, limit, limit.low) and not _stable_misses(known, metric, limit.low, p0):
            phi = max(1.0, bets.over_time(limit.spread, limit.mean, bets.PASS_DISPERSION))
            yield Part(bets.log_e_below(known.over(metric, limit.low)[1], known.totals(metric)[1], p0, phi), metric, limit.low, objective=True)


def _testable(known: memory.Memory, metric: str, limit: memory.Limit, edge: float | None) -> bool:
    """Whether requests over this edge of an objective can be bet on: a latency's edge is one of the grid's."""
    return _bound(metric, limit) < _MOST_SHARE and (metric == "errors" or (edge is not None and metric in known.grids))


def _bound(metric: str, limit: memory.Limit) -> float:
    return max(absorb.share_of(metric, limit), _LEAST_SHARE)


def _stable_misses(known: memory.Memory, metric: str, edge: float | None, p0: float) -> bool:
    return known.over(metric, edge)[0] > p0 * known.totals(metric)[0]
