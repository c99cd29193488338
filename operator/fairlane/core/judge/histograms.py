"""Arithmetic on cumulative bucket counts. All edges in seconds."""

import bisect
import math

from . import types


def total(histogram: types.Histogram) -> float:
    """Number of observations."""
    return histogram.counts[-1] if histogram.counts else 0.0


def over(histogram: types.Histogram, edge: float) -> float:
    """Number of observations above `edge`, which is one of the histogram's edges; ValueError where it is none."""
    return max(total(histogram) - histogram.counts[_index(histogram, edge)], 0.0)


def edge_above(histogram: types.Histogram, limit: float) -> float | None:
    """The smallest finite edge not below `limit`: what lies over it lies over the limit for certain. None where the buckets end before it."""
    position = bisect.bisect_left(histogram.edges, limit * (1 - 1e-9))   # 0.1 + 0.2 is the edge 0.3
    edge = histogram.edges[position] if position < len(histogram.edges) else math.inf
    return edge if math.isfinite(edge) else None


def tail_edge(histogram: types.Histogram, share: float = 0.01) -> float | None:
    """The smallest finite edge that at most `share` of the observations exceed (0.01: the p99's bucket). None where there is none."""
    seen = total(histogram)
    if seen <= 0:
        return None
    for edge in histogram.edges:
        if math.isfinite(edge) and over(histogram, edge) <= share * seen:
            return edge
    return None


def shared(first: types.Histogram, second: types.Histogram, edge: float) -> bool:
    """Whether both have this edge: two engine versions may differ in their buckets."""
    return edge in first.edges and edge in second.edges


def quantile(histogram: types.Histogram, rank: float) -> float | None:
    """The quantile, linear inside its bucket as Prometheus' histogram_quantile has it; the last finite edge where it lies beyond. None without observations."""
    seen = total(histogram)
    if seen <= 0:
        return None
    wanted = rank * seen
    position = bisect.bisect_left(histogram.counts, wanted)
    below = histogram.counts[position - 1] if position else 0.0
    start = histogram.edges[position - 1] if position else 0.0
    end = histogram.edges[position]
    if not math.isfinite(end):
        return start
    inside = histogram.counts[position] - below
    return start + (end - start) * ((wanted - below) / inside if inside else 1.0)


def _index(histogram: types.Histogram, edge: float) -> int:
    position = bisect.bisect_left(histogram.edges, edge)
    if position == len(histogram.edges) or histogram.edges[position] != edge:
        raise ValueError(f"{edge} is no edge of a histogram with the edges {histogram.edges}")
    return position
