"""Evidence and verdict: the judge's input and output, free of PromQL and of Kubernetes."""

import dataclasses
import datetime
from collections.abc import Mapping

from ...api import spec as specs
from ...api import status

HISTORY_LOST = "HistoryLost"    # Unavailable: what was counted since the last tick is not known any more, and left out


@dataclasses.dataclass(frozen=True)
class Histogram:
    """Cumulative counts at bucket edges: `counts[i]` observations were <= `edges[i]`; the last edge is infinity. Seconds."""

    edges: tuple[float, ...]
    counts: tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class PodSamples:
    """What one engine pod counted in the tick. Metrics: ttft, itl, tpot, queue, e2e; those without data are absent."""

    pod: str
    histograms: Mapping[str, Histogram] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Context:
    """What explains a tick and decides nothing by itself, summed over the side's pods; None: not measured."""

    running: float | None = None             # requests in the engines now, running and waiting
    prefix_queries: float = 0.0              # prompt tokens looked up in the prefix cache in the tick
    prefix_hits: float = 0.0                 # of those: found
    preemptions: float = 0.0                 # in the tick
    generated: float = 0.0                   # tokens generated in the tick
    steps: float = 0.0                       # of the engines in the tick: a pause is one step, however many requests it meets
    finished: Mapping[str, float] = dataclasses.field(default_factory=dict)    # requests in the tick by vLLM's finished_reason
    kv_use: float | None = None              # mean share of the KV cache in use now, 0 to 1
    gpu_utilization: float | None = None     # mean of DCGM_FI_DEV_GPU_UTIL now, 0 to 1
    gpu_memory: float | None = None          # mean share of the framebuffer in use now, 0 to 1
    hidden: float = 0.0                      # failed tries in the tick that a retry hid from the client
    aborted: float = 0.0                     # requests in the tick that the client left


@dataclasses.dataclass(frozen=True)
class TrackSamples:
    """One revision's increments in the tick."""

    revision: str
    requests: float = 0.0             # tries that reached an engine of the revision, as Envoy counts them
    errors: float = 0.0               # of those: 5xx, resets, refused connections, broken streams, also where a retry hid them from the client
    histograms: Mapping[str, Histogram] = dataclasses.field(default_factory=dict)   # Envoy's: router_ttft, router_duration
    pods: tuple[PodSamples, ...] = ()
    replicas: int = 0                 # ready replicas now
    context: Context = Context()


@dataclasses.dataclass(frozen=True)
class Cursor:
    """Where the next tick begins, in the clock of Prometheus, and what had been seen by then."""

    until: datetime.datetime
    pods: tuple[str, ...] = ()        # engine and router pods that had series by `until`, sorted
    sampled: tuple[float, float, float] = (0.0, 0.0, 0.0)    # newest sample (Unix seconds) of the stable's engines, the canary's, the routers
    began: datetime.datetime | None = None                   # `until` of the first tick: a pod created later counts from zero


@dataclasses.dataclass(frozen=True)
class Evidence:
    """One lane's tick: what both sides counted between two reads. The first tick of a trial counts nothing: it is the baseline."""

    since: datetime.datetime
    until: datetime.datetime
    stable: TrackSamples
    canary: TrackSamples
    cursor: Cursor
    fresh: bool = True                # all have new samples since the last tick; else this one is empty and is not absorbed
    latencies: tuple[bool, bool] = (True, True)     # whether the stable's and the canary's engines were scraped lately
    reference: Mapping[str, Histogram] = dataclasses.field(default_factory=dict)
    """The stable's latencies before the rollout began, by metric (also router_*): picks the tail edges. Read on a trial's first tick only."""


@dataclasses.dataclass(frozen=True)
class Unavailable:
    """The numbers could not be had. No data is not failure."""

    reason: str                       # PascalCase: PrometheusUnreachable, PrometheusError, NoSeries, DuplicateSeries, ClockSkew, HistoryLost, NotConfigured
    message: str
    cursor: Cursor | None = None      # HistoryLost: where to go on from; what was lost is not counted


@dataclasses.dataclass(frozen=True)
class Trial:
    """What the judge is told of a trial beside its numbers."""

    objectives: specs.Objectives
    analysis: specs.Analysis
    steps: int                        # of the rollout; they share the budget of false rollbacks
    weight: int                       # the canary's share of the lane's requests now, percent
    duration: float                   # of the step, seconds
    elapsed: float                    # of the step, without the time in which nothing could be decided, seconds
    latencies: bool = True            # False in the warm-up: errors and hangs alone
    state: str = ""                   # what the verdict before said to keep; empty at the start of a step's evidence


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What the numbers say, with the sentence people read, and the judge's memory for the next tick."""

    outcome: status.Outcome
    reason: str
    message: str
    record: status.EvidenceRecord | None = None
    state: str = ""
