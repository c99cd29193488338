"""Arithmetic on bucket counts. All edges in seconds.

A `types.Histogram` is cumulative, as Prometheus has it. The judge's sums are counts per bucket over a grid of finite edges, with one more for what lies above.
"""

import bisect
import itertools
import math
from collections.abc import Iterable, Mapping

from . import types

TAIL_SHARE = 0.10       # of the reference's observations that lie over the first tail edge at most
TAIL_EDGES = 6
TAIL_STEP = 1.25        # from one tail edge to the next at least

_CLOSE = 1e-9           # 0.1 + 0.2 is the edge 0.3


def total(histogram: types.Histogram) -> float:
    """Number of observations."""
    return histogram.counts[-1] if histogram.counts else 0.0


def grid(known: Iterable[float] | None, *histograms: types.Histogram) -> tuple[float, ...]:
    """Return the finite edges that all of them have: two engine versions may differ in their buckets."""
    sets = [{edge for edge in histogram.edges if math.isfinite(edge)} for histogram in histograms]
    return tuple(sorted(set.intersection(*sets, *([] if known is None else [set(known)])))) if sets else tuple(known or ())


def buckets(histogram: types.Histogram, edges: tuple[float, ...]) -> tuple[float, ...]:
    """Return its counts per bucket of a grid whose edges it has; the last one is above all of them."""
    below = dict(zip(histogram.edges, histogram.counts, strict=True))
    cumulative = [0.0, *(below[edge] for edge in edges), total(histogram)]
    return tuple(max(after - before, 0.0) for before, after in itertools.pairwise(cumulative))


def cumulative(edges: tuple[float, ...], counts: Iterable[float]) -> types.Histogram:
    """The cumulative form of counts per bucket."""
    return types.Histogram((*edges, math.inf), tuple(itertools.accumulate(counts)))


def merged(histograms: Iterable[types.Histogram]) -> types.Histogram | None:
    """Their sum, over the edges that all have; None of none."""
    known = list(histograms)
    if not known:
        return None
    edges = grid(None, *known)
    return cumulative(edges, [sum(counts) for counts in zip(*(buckets(histogram, edges) for histogram in known), strict=True)])


def tail_edges(histogram: types.Histogram, share: float = TAIL_SHARE) -> tuple[float, ...]:
    """The first six edges that at most a `share` of the observations exceed, each at least a quarter above the last; else the last edge. () without data."""
    seen, found = total(histogram), list[float]()
    finite = [(edge, count) for edge, count in zip(histogram.edges, histogram.counts, strict=True) if math.isfinite(edge)]
    if seen <= 0 or not finite:
        return ()
    for edge, count in finite:
        if 1 - count / seen <= share and len(found) < TAIL_EDGES and (not found or edge >= TAIL_STEP * found[-1] * (1 - _CLOSE)):
            found.append(edge)
    return tuple(found) or (finite[-1][0],)


def around(edges: tuple[float, ...], limit: float) -> tuple[float | None, float | None]:
    """The largest edge not above a limit, and the smallest not below: what lies over the latter lies over the limit for certain. None where there is none."""
    above = bisect.bisect_left(edges, limit * (1 - _CLOSE))
    below = bisect.bisect_right(edges, limit * (1 + _CLOSE)) - 1
    return edges[below] if below >= 0 else None, edges[above] if above < len(edges) else None


def quantile(histogram: types.Histogram, rank: float) -> float | None:
    """The quantile, linear inside its bucket as Prometheus' histogram_quantile has it; the last finite edge where it lies beyond. None without observations."""
    seen = total(histogram)
    if seen <= 0:
        return None
    wanted = rank * seen
    position = bisect.bisect_left(histogram.counts, wanted)
    below = histogram.counts[position - 1] if position else 0.0
    start, end = bucket(histogram, rank)
    if not math.isfinite(end):
        return start
    inside = histogram.counts[position] - below
    return start + (end - start) * ((wanted - below) / inside if inside else 1.0)


def bucket(histogram: types.Histogram, rank: float) -> tuple[float, float]:
    """The edges of the bucket that a quantile lies in. The histogram has observations."""
    position = min(bisect.bisect_left(histogram.counts, min(rank, 1.0) * total(histogram)), len(histogram.edges) - 1)
    return histogram.edges[position - 1] if position else 0.0, histogram.edges[position]


def quantile_range(histogram: types.Histogram, rank: float) -> tuple[float, float] | None:
    """An interval that holds the quantile with 95 % confidence, from the order statistics of ranks q +- 1.96 sqrt(q (1 - q) / n) (the normal approximation in
    David & Nagaraja, "Order Statistics", 7.1), widened to their buckets; open (infinity) where the observations are too few to bound it. None without any."""
    seen = total(histogram)
    if seen <= 0:
        return None
    margin = 1.96 * math.sqrt(rank * (1 - rank) / seen)
    low = bucket(histogram, rank - margin)[0] if rank > margin else 0.0
    return low, bucket(histogram, rank + margin)[1] if rank + margin <= 1 else math.inf


def of_pods(pods: Iterable[types.PodSamples]) -> Mapping[str, types.Histogram]:
    """Sum each metric over the pods that have it."""
    parts: dict[str, list[types.Histogram]] = {}
    for pod in pods:
        for metric, histogram in pod.histograms.items():
            parts.setdefault(metric, []).append(histogram)
    return {metric: found for metric, histograms in parts.items() if (found := merged(histograms)) is not None}
