"""The numbers of a run, and whether one run's tail is narrower than another's. Pure."""

import collections
import dataclasses
import math
from collections.abc import Iterable, Sequence

from .results import Run, Sample

METRICS = ("ttft", "itl", "e2e")
P50_MAY_GROW = 4 / 3


@dataclasses.dataclass(frozen=True)
class Quantiles:
    """Of one latency, seconds; nearest rank, so that each is a time that was measured."""

    count: int
    p50: float
    p95: float
    p99: float
    max: float


@dataclasses.dataclass(frozen=True)
class Summary:
    """A run in numbers."""

    requests: int
    errors: dict[str, int]                  # by kind, those that occurred
    refused: int                            # 429 answers that were waited out
    seconds: float
    output_tokens: int
    latencies: dict[str, Quantiles]         # by metric, those measured

    @property
    def failed(self) -> int:
        """All errors."""
        return sum(self.errors.values())

    @property
    def error_share(self) -> float:
        """Errors of all requests; 0 without requests."""
        return self.failed / self.requests if self.requests else 0.0


def rank(ordered: Sequence[float], share: float) -> float:
    """The smallest measured value that at least `share` of them do not exceed; ValueError without values."""
    if not ordered:
        raise ValueError("no values, no quantile")
    return ordered[max(math.ceil(share * len(ordered) - 1e-9), 1) - 1]


def quantiles(values: Iterable[float]) -> Quantiles | None:
    """None without values."""
    ordered = sorted(values)
    if not ordered:
        return None
    return Quantiles(len(ordered), rank(ordered, 0.5), rank(ordered, 0.95), rank(ordered, 0.99), ordered[-1])


def values(samples: Iterable[Sample], metric: str) -> list[float]:
    """One latency of all whole answers: `ttft`, `itl` (every gap) or `e2e`."""
    good = [sample for sample in samples if sample.ok]
    if metric == "itl":
        return [gap for sample in good for gap in sample.gaps]
    if metric == "ttft":
        return [sample.ttft for sample in good if sample.ttft is not None]
    return [sample.e2e for sample in good]


def summarise(samples: Sequence[Sample], seconds: float) -> Summary:
    """Return the numbers of samples that took so long together."""
    measured = {metric: quantiles(values(samples, metric)) for metric in METRICS}
    return Summary(
        requests=len(samples),
        errors=dict(collections.Counter(sample.kind for sample in samples if not sample.ok).most_common()),
        refused=sum(sample.refused for sample in samples),
        seconds=seconds,
        output_tokens=sum(sample.output_tokens for sample in samples),
        latencies={metric: found for metric, found in measured.items() if found is not None},
    )


def by_track(samples: Iterable[Sample]) -> dict[tuple[str, str, str], list[Sample]]:
    """Samples by lane, track and revision, as the router named them."""
    groups: dict[tuple[str, str, str], list[Sample]] = {}
    for sample in samples:
        groups.setdefault((sample.lane, sample.track, sample.revision), []).append(sample)
    return dict(sorted(groups.items()))


@dataclasses.dataclass(frozen=True)
class Check:
    """One thing that must hold for a narrower tail."""

    name: str
    before: float
    after: float
    held: bool
    wanted: str


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Whether the tail narrowed from one run to the other."""

    metric: str
    checks: tuple[Check, ...]

    @property
    def narrowed(self) -> bool:
        """All checks held."""
        return all(check.held for check in self.checks)


def compare(before: Run, after: Run, metric: str) -> Comparison:
    """Return what became of the tail; ValueError where a run has no such latency."""
    first, second = (summarise(run.samples, run.seconds) for run in (before, after))
    for name, summary in (("first", first), ("second", second)):
        if metric not in summary.latencies:
            raise ValueError(f"the {name} run has no {metric.upper()}: {summary.requests} requests, {summary.failed} failed")
    old, new = first.latencies[metric], second.latencies[metric]
    checks = (
        Check("p99", old.p99, new.p99, new.p99 < old.p99, "down"),
        Check("p95", old.p95, new.p95, new.p95 < old.p95, "down"),
        Check("p50", old.p50, new.p50, new.p50 <= old.p50 * P50_MAY_GROW, "not up by more than a third"),
        Check("errors", first.error_share, second.error_share, second.error_share <= first.error_share, "not up"),
    )
    return Comparison(metric, checks)


def edges(values: Sequence[float], count: int = 12) -> list[float]:
    """Logarithmic edges over the values, for a plot; empty without values above zero."""
    positive = [value for value in values if value > 0]
    if not positive:
        return []
    low, high = min(positive), max(positive)
    step = (high / low) ** (1 / count) if high > low else 1.0
    return [low * step ** (index + 1) for index in range(count - 1)] + [high] if step > 1 else [high]


def histogram(values: Sequence[float], at: Sequence[float]) -> list[int]:
    """How many values lie in each bucket up to its edge; the last takes what is above."""
    counts = [0] * len(at)
    for value in values:
        index = next((position for position, edge in enumerate(at) if value <= edge), len(at) - 1)
        counts[index] += 1
    return counts
