"""The judge's PromQL: named queries of cumulative counts at a window's two ends, rendered strictly.

Nothing but the labels `namespace` and `pod` is asked of a Prometheus set-up. All arithmetic happens on the counts here, since
`increase` extrapolates and starts a series at its first sample, though Envoy's counters are born with their first request.
"""

import dataclasses
import datetime
import math
import re
from collections.abc import Mapping

from .. import errors, names
from ..routing import metrics as router

ENGINE_METRICS: Mapping[str, str] = {
    "vllm:time_to_first_token_seconds": "ttft",
    "vllm:inter_token_latency_seconds": "itl",
    "vllm:time_per_output_token_seconds": "itl",          # its name before vLLM 0.10.2, gone by 0.16
    "vllm:request_time_per_output_token_seconds": "tpot",
    "vllm:request_queue_time_seconds": "queue",
    "vllm:e2e_request_latency_seconds": "e2e",
}
ROUTER_METRICS: Mapping[str, str] = {router.TTFT: "router_ttft", router.DURATION: "router_duration"}
FIRST_TOKENS = "vllm:time_to_first_token_seconds_count"   # zero from the engine's start on: tells resets and whether a pod is scraped

LOOKBACK = 3600     # seconds before the window in which a series' last sample is its start; an outage there is no birth
LEAST_END = 300     # seconds before the window's end in which a pod's last sample counts, however short the window is

_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


@dataclasses.dataclass(frozen=True)
class Query:
    """One instant query: what is asked, and as of when (Unix seconds)."""

    name: str
    text: str
    time: float


@dataclasses.dataclass(frozen=True)
class Window:
    """One lane's two revisions between two moments, and the extra matchers of the metrics store."""

    service: str
    namespace: str
    lane: str
    stable: str
    canary: str
    since: datetime.datetime
    until: datetime.datetime
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def seconds(self) -> int:
        """Its length, rounded up; at least one."""
        return max(math.ceil((self.until - self.since).total_seconds()), 1)

    def pods(self, revision: str) -> str:
        """Pattern of the names of a revision's pods: those of a Deployment's only ReplicaSets."""
        return _pods_of(names.engine(self.service, self.lane, revision))

    @property
    def routers(self) -> str:
        """Pattern of the names of the router's pods."""
        return _pods_of(names.router(self.service))


def queries(window: Window) -> tuple[Query, ...]:
    """Return what to ask; Refused where an extra label is no label name."""
    engine, routers = _engine(window), _router(window)
    end, start = window.until.timestamp(), window.since.timestamp()
    tail = max(window.seconds, LEAST_END)
    first_tokens = _selector(FIRST_TOKENS, window, window.pods(window.stable), window.pods(window.canary))
    tries = _selector(router.TRIES, window, window.routers, lane=True)
    return (
        Query("engine_start", f"last_over_time({engine}[{LOOKBACK}s])", start),
        Query("engine_end", f"last_over_time({engine}[{tail}s])", end),
        Query("engine_resets", f"sum by (pod) (resets({first_tokens}[{window.seconds}s]))", end),
        Query("engine_seen", f"max by (pod) (timestamp({first_tokens}))", end),
        Query("router_start", f"last_over_time({routers}[{LOOKBACK}s])", start),
        Query("router_end", f"last_over_time({routers}[{tail}s])", end),
        Query("router_resets", f"sum by (pod) (resets({tries}[{window.seconds}s]))", end),
    )


def _engine(window: Window) -> str:
    buckets = "|".join(f"{name}_bucket" for name in ENGINE_METRICS)
    return _selector(buckets, window, window.pods(window.stable), window.pods(window.canary))


def _router(window: Window) -> str:
    buckets = "|".join(f"{name}_bucket" for name in ROUTER_METRICS)
    return _selector(f"{router.TRIES}|{router.FAILURES}|{buckets}", window, window.routers, lane=True)


def _selector(metric: str, window: Window, *pods: str, lane: bool = False) -> str:
    """A series selector; `metric` may be alternatives. A router's series are the lane's own only."""
    matchers = [f'__name__=~"{metric}"'] if "|" in metric else [f'__name__="{metric}"']
    matchers += [f'namespace="{_quoted(window.namespace)}"', f'pod=~"{"|".join(_quoted(pattern) for pattern in pods)}"']
    if lane:
        matchers += [f'{router.LANE}="{_quoted(window.lane)}"', f'{router.REVISION}=~"{window.stable}|{window.canary}"']
    return "{" + ",".join(matchers + _extra(window.labels)) + "}"


def _extra(labels: Mapping[str, str]) -> list[str]:
    for label in labels:
        if not _LABEL.fullmatch(label):
            raise errors.Refused("metrics.prometheus.labels", f"{label!r} is no label name of Prometheus; use letters, digits and _")
    return [f'{label}="{_quoted(value)}"' for label, value in sorted(labels.items())]


def _pods_of(deployment: str) -> str:
    return rf"{deployment.replace('.', '[.]')}-[a-z0-9]+-[a-z0-9]+"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
