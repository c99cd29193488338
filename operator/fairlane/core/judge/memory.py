"""What the judge keeps between two ticks: sums since the evidence began, as a text in the status. Times in seconds."""

import dataclasses
import datetime
import json
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import pydantic

from . import types

LIMIT = 30_000      # characters of the text
GROUPS = 16         # of stable pods, whose differences are measured
_DIGITS = 3         # counts are whole but for those that were scaled or capped
_T = TypeVar("_T")


class Minutes(NamedTuple):
    """How much the canary's part of both sides' exceedances varies from minute to minute; minutes without any are passed over."""

    spread: float = 0.0             # sum of the squared differences of two successive ones
    expected: float = 0.0           # what that sum is if each exceedance is for itself
    canary: float = 0.0             # the canary's in the last one
    both: float = 0.0               # both sides' in it; 0: there was none
    canary_before: float = 0.0      # the canary's until this minute
    both_before: float = 0.0        # both sides' until this minute


class Tail(NamedTuple):
    """One key: requests over an edge, or failed ones (no edge). The canary's exceedances, capped per tick, and how they vary over time."""

    edge: float | None
    capped: float = 0.0
    last: float | None = None       # the stable's exceedances in the last tick
    spread: float = 0.0             # sum of squared differences of successive ticks
    mean: float = 0.0               # sum of the sums of successive ticks
    minutes: Minutes = Minutes()


class Limit(NamedTuple):
    """An objective: its bound, the grid's edges at or around it, the canary's capped exceedances of `high`, and the stable's dispersion at `low`."""

    bound: float
    low: float | None = None
    high: float | None = None
    capped: float = 0.0
    total: float = 0.0              # the canary's observations since the bound is what it is
    last: float | None = None
    spread: float = 0.0
    mean: float = 0.0


class Over(NamedTuple):
    """Exceedances of one edge: the stable's, the canary's, and the canary's capped."""

    stable: float = 0.0
    canary: float = 0.0
    capped: float = 0.0


class Counts(NamedTuple):
    """One metric's observations and, per tail edge, those over it."""

    stable: float
    canary: float
    over: tuple[Over, ...]


class Snapshot(NamedTuple):
    """The counts at a restart of the evidence: the `number`-th, `seconds` after the beginning. A metric that is missing had none."""

    number: int
    seconds: float
    counts: dict[str, Counts]


class Group(NamedTuple):
    """What some stable pods counted of a metric: observations and, per tail edge, those over it."""

    total: float
    over: tuple[float, ...]


class Busy(NamedTuple):
    """For how long the canary's engines have had requests without a break, and what both sides completed in that time."""

    seconds: float = 0.0
    stable: float = 0.0
    canary: float = 0.0


class Finding(NamedTuple):
    """What the numbers show most clearly: by which metric over which edge (seconds), on which counts, how strong, and the words for it."""

    reason: str
    message: str
    metric: str
    edge: float | None
    canary_over: float
    canary_total: float
    stable_over: float
    stable_total: float
    log_e: float
    rule: str


@dataclasses.dataclass(frozen=True)
class Side:
    """One side's sums, and its gauges at the last tick. Histograms: observations per bucket of the metric's grid, the last one above it."""

    revision: str
    requests: float = 0.0
    errors: float = 0.0
    histograms: Mapping[str, tuple[float, ...]] = dataclasses.field(default_factory=dict)
    gaps: float = 0.0               # between tokens, behind the scaled ITL histogram
    steps: float = 0.0              # of the engines behind those; 0 where their version does not count them
    first_tokens: float = 0.0       # requests behind those
    prefix_queries: float = 0.0
    prefix_hits: float = 0.0
    preemptions: float = 0.0
    hidden: float = 0.0
    aborted: float = 0.0
    generated: float = 0.0
    replicas: int = 0
    kv_use: float | None = None
    gpu_utilization: float | None = None
    gpu_memory: float | None = None

    def total(self, metric: str) -> float:
        """Observations of a metric."""
        return rounded(sum(self.histograms.get(metric, ())))

    def restarted(self, metrics: tuple[str, ...]) -> "Side":
        """Return it with the sums of these metrics at zero."""
        kept = dataclasses.replace(self, histograms=_without(self.histograms, metrics))
        return dataclasses.replace(kept, gaps=0.0, steps=0.0, first_tokens=0.0) if "itl" in metrics else kept

    @property
    def hit_rate(self) -> float | None:
        """Share of the prompt tokens that were found in the prefix cache; None where none was looked up."""
        return self.prefix_hits / self.prefix_queries if self.prefix_queries > 0 else None


@dataclasses.dataclass(frozen=True)
class Memory:
    """All of it."""

    cursor: types.Cursor
    since: datetime.datetime
    stable: Side
    canary: Side
    grids: Mapping[str, tuple[float, ...]] = dataclasses.field(default_factory=dict)     # finite edges that both sides have, by metric
    tails: Mapping[str, tuple[Tail, ...]] = dataclasses.field(default_factory=dict)
    limits: Mapping[str, Limit] = dataclasses.field(default_factory=dict)                # by metric
    snapshots: tuple[Snapshot, ...] = ()
    pods: tuple[str, ...] = ()                                                           # ends of the stable pods' names, in the order of their first sight
    groups: tuple[Mapping[str, Group], ...] = ()                                         # of those pods
    busy: Busy = Busy()
    seconds: float = 0.0
    minute: float = 0.0                                                                  # seconds at which this one began
    slowest: float = 0.0                                                                 # p99 of a request's time in the reference
    failed: Finding | None = None                                                        # a Fail stands

    def text(self) -> str:
        """Return it as JSON within the limit: the oldest restarts are forgotten first, which only lowers the evidence."""
        kept = self
        while len(text := _text(kept)) > LIMIT and kept.snapshots:
            kept = dataclasses.replace(kept, snapshots=kept.snapshots[1:])
        return text

    @property
    def by_steps(self) -> bool:
        """Whether gaps between tokens count as the engine steps that they lay in, which both sides' versions count."""
        return self.stable.steps > 0 and self.canary.steps > 0

    def over(self, metric: str, edge: float | None) -> tuple[float, float]:
        """The stable's and the canary's exceedances of one of the grid's edges; of errors: the failed."""
        if edge is None:
            return min(self.stable.errors, self.stable.requests), min(self.canary.errors, self.canary.requests)
        first = self.grids[metric].index(edge) + 1
        stable, canary = (rounded(sum(side.histograms.get(metric, ())[first:])) for side in (self.stable, self.canary))
        return stable, canary

    def totals(self, metric: str) -> tuple[float, float]:
        """The stable's and the canary's observations."""
        if metric == "errors":
            return self.stable.requests, self.canary.requests
        return self.stable.total(metric), self.canary.total(metric)

    def counts(self, metric: str) -> Counts:
        """The sums of a metric as a snapshot keeps them."""
        over = tuple(Over(*self.over(metric, tail.edge), tail.capped) for tail in self.tails[metric])
        return Counts(*self.totals(metric), over)

    def restarted(self, *metrics: str) -> "Memory":
        """Return it with the sums of these metrics at zero, as if they began now; their edges stay."""
        stable, canary = (side.restarted(metrics) for side in (self.stable, self.canary))
        tails = {metric: tuple(Tail(tail.edge) for tail in found) if metric in metrics else found for metric, found in self.tails.items()}
        limits = {name: Limit(limit.bound, limit.low, limit.high) if name in metrics else limit for name, limit in self.limits.items()}
        snapshots = tuple(snapshot._replace(counts=_without(snapshot.counts, metrics)) for snapshot in self.snapshots)
        groups = tuple(_without(group, metrics) for group in self.groups)
        return dataclasses.replace(self, stable=stable, canary=canary, tails=tails, limits=limits, snapshots=snapshots, groups=groups)


_ADAPTER = pydantic.TypeAdapter(Memory)


def read(text: str) -> Memory | None:
    """Return what a text keeps; None for an empty or unreadable one: the evidence starts again, nothing is invented."""
    try:
        return _ADAPTER.validate_json(text)
    except pydantic.ValidationError:
        return None


def cursor(text: str) -> types.Cursor | None:
    """Return where the next tick begins; None at the start of the evidence."""
    known = read(text)
    return known.cursor if known else None


def rounded(value: float) -> float:
    """A number as the text keeps it: what is read again continues in the same way."""
    return round(value, _DIGITS)


def _text(memory: Memory) -> str:
    return json.dumps(_compact(_ADAPTER.dump_python(memory, mode="json", exclude_defaults=True)), separators=(",", ":"))


def _compact(value: Any) -> Any:
    """Whole numbers without their `.0`."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _compact(item) for name, item in value.items()}
    return [_compact(item) for item in value] if isinstance(value, list | tuple) else value


def _without(mapping: Mapping[str, _T], names: tuple[str, ...]) -> dict[str, _T]:
    return {name: value for name, value in mapping.items() if name not in names}
