"""Latencies of the simulated engine, as its histograms show them: a log-normal body and one slow request in a hundred.

TTFT: median 0.25 s, the slow ones 3 s. E2E: median 4 s, the slow ones 25 s. Edges are those of vLLM's histograms.
"""

import dataclasses
import functools
import math

import numpy

from fairlane.core.judge import types

from .arrays import Floats

METRICS = ("ttft", "e2e")
SLOW = 0.01             # share of requests that are slow
ERRORS = 0.001          # share that fail
EDGES_PER_METRIC = 6    # the judge takes that many
COLUMNS = 2 * EDGES_PER_METRIC + 1    # exceedances of the TTFT edges, of the E2E edges, errors
_TAIL = 0.10            # of the requests exceed the lowest edge at most
_REFERENCE = 1_000_000  # requests in the hour before


@dataclasses.dataclass(frozen=True)
class Shape:
    """One metric: medians in seconds and sigmas of body and slow requests, and vLLM's bucket edges."""

    body: tuple[float, float]
    slow: tuple[float, float]
    edges: tuple[float, ...]

    def exceedance(self, limit: float, slow: float = SLOW) -> float:
        """Share of requests that take longer than `limit` seconds."""
        return (1 - slow) * _survival(limit, *self.body) + slow * _survival(limit, *self.slow)

    def quantile(self, rank: float) -> float:
        """Seconds; bisected on the logarithm."""
        low, high = 1e-3, 1e3
        for _ in range(60):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self.exceedance(middle) > 1 - rank else (low, middle)
        return low

    @functools.cached_property
    def tail(self) -> tuple[float, ...]:
        """The first six edges that at most a tenth of the requests exceed."""
        return tuple(edge for edge in self.edges if self.exceedance(edge) <= _TAIL)[:EDGES_PER_METRIC]

    def reference(self) -> types.Histogram:
        """The histogram of the hour before, from which the judge picks its edges."""
        counts = tuple(round(_REFERENCE * (1 - self.exceedance(edge))) for edge in self.edges)
        return types.Histogram((*self.edges, math.inf), tuple(map(float, (*counts, _REFERENCE))))


SHAPES = {
    "ttft": Shape((0.25, 0.5), (3.0, 0.7), (
        0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
    )),
    "e2e": Shape((4.0, 0.5), (25.0, 0.5), (0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0)),
}


@functools.cache
def cells(metric: str, stretch: float = 1.0) -> tuple[Floats, Floats]:
    """Probabilities of the buckets between the tail edges, for body and slow requests. `stretch` lengthens all beyond the p90, the p99 by that factor."""
    shape = SHAPES[metric]
    p90, p99 = shape.quantile(0.9), shape.quantile(0.99)
    power = math.log(stretch * p99 / p90) / math.log(p99 / p90)
    limits = [edge if edge <= p90 else p90 * (edge / p90) ** (1 / power) for edge in shape.tail]
    return _between(limits, shape.body), _between(limits, shape.slow)


def _survival(limit: float, median: float, sigma: float) -> float:
    """P(log-normal > limit)."""
    return 0.5 * math.erfc((math.log(limit) - math.log(median)) / sigma / math.sqrt(2))


def _between(limits: list[float], part: tuple[float, float]) -> Floats:
    above = numpy.array([1.0, *(_survival(limit, *part) for limit in limits), 0.0])
    cells = numpy.clip(above[:-1] - above[1:], 0.0, 1.0)
    return numpy.asarray(cells / cells.sum())
