"""What part of a side's requests exceeded an edge or failed, with its bounds, and the words for it."""

import dataclasses
import math

from . import histograms, types, wilson

NAMES = {
    "ttft": "TTFT",
    "router_ttft": "TTFT at the router",
    "itl": "ITL",
    "tpot": "TPOT",
    "queue": "Queue time",
    "e2e": "E2E",
    "router_duration": "Duration at the router",
    "errors": "Errors",
}
TAILS = ("ttft", "router_ttft", "itl", "tpot", "queue", "e2e", "router_duration")   # in the order in which they are told


@dataclasses.dataclass(frozen=True)
class Share:
    """`hits` of `total` requests."""

    hits: float
    total: float

    @property
    def value(self) -> float:
        """The share itself; 0 without requests."""
        return self.hits / self.total if self.total > 0 else 0.0

    @property
    def lower(self) -> float:
        """Its 99 % lower bound."""
        return wilson.lower(self.hits, self.total)

    @property
    def upper(self) -> float:
        """Its 99 % upper bound."""
        return wilson.upper(self.hits, self.total)


def of_errors(samples: types.TrackSamples) -> Share:
    """The failed tries."""
    return Share(min(samples.errors, samples.requests), samples.requests)


def over(samples: types.TrackSamples, metric: str, edge: float) -> Share:
    """The requests over an edge. ITL counts gaps, hundreds per request that stall together: the share is theirs, the number is that of the requests."""
    histogram = samples.histograms[metric]
    share = Share(histograms.over(histogram, edge), histograms.total(histogram))
    return _per_request(share, samples) if metric == "itl" else share


def _per_request(gaps: Share, samples: types.TrackSamples) -> Share:
    ttft = samples.histograms.get("ttft")
    requests = min(histograms.total(ttft) if ttft else samples.requests, gaps.total)
    return Share(gaps.value * requests, requests)


def percent(share: float) -> str:
    """A share as people read it."""
    value = share * 100
    return f"{value:.0f} %" if value >= 9.95 else f"{value:.1f} %"


def percent_down(share: float) -> str:
    """A lower bound as people read it, never rounded up."""
    scale = 1.0 if share >= 0.1 else 10.0
    value = math.floor(share * 100 * scale + 1e-9) / scale
    return f"{value:.0f} %" if scale == 1.0 else f"{value:.1f} %"


def seconds(value: float) -> str:
    """A time as people read it."""
    return f"{value:g} s" if value >= 0.1 else f"{value * 1000:g} ms"
