"""Evidence and verdict: the judge's input and output, free of PromQL and of Kubernetes."""

import dataclasses
import datetime
from collections.abc import Mapping

from ...api import status


@dataclasses.dataclass(frozen=True)
class Histogram:
    """Cumulative counts at bucket edges: `counts[i]` observations were <= `edges[i]`; the last edge is infinity. Seconds."""

    edges: tuple[float, ...]
    counts: tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class TrackSamples:
    """One revision's increments in the window.

    Metrics: ttft, itl, tpot, queue, e2e (vLLM), router_ttft, router_duration (Envoy); those without data are absent.
    """

    revision: str
    requests: float = 0.0             # tries that reached an engine of the revision, as Envoy counts them
    errors: float = 0.0               # of those: 5xx, resets, refused connections, also where a retry hid them from the client
    histograms: Mapping[str, Histogram] = dataclasses.field(default_factory=dict)
    replicas: int = 0                 # ready replicas now


@dataclasses.dataclass(frozen=True)
class Evidence:
    """One lane's window: both sides at the same time."""

    since: datetime.datetime
    until: datetime.datetime
    stable: TrackSamples
    canary: TrackSamples


@dataclasses.dataclass(frozen=True)
class Unavailable:
    """The numbers could not be had. No data is not failure."""

    reason: str                       # PascalCase: PrometheusUnreachable, PrometheusError, NoSeries, NotConfigured
    message: str


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What the numbers say, with the sentence people read."""

    outcome: status.Outcome
    reason: str
    message: str
    record: status.EvidenceRecord | None = None
