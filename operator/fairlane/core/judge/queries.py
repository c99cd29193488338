"""The judge's PromQL: named queries of cumulative counts at both ends of a tick, rendered strictly.

Nothing but the labels `namespace` and `pod` is asked of a Prometheus set-up. All arithmetic happens on the counts here, since
`increase` extrapolates and starts a series at its first sample, though Envoy's counters are born with their first request.
"""

import dataclasses
import datetime
import re
from collections.abc import Mapping

from .. import errors, names
from ..routing import metrics as router
from . import series, types

ENGINE_METRICS: Mapping[str, str] = series.latencies()
ROUTER_METRICS: Mapping[str, str] = {router.TTFT: "router_ttft", router.DURATION: "router_duration"}

# What explains a tick; of several names the first that is there counts.
PREFIX_QUERIES, PREFIX_HITS, KV_USE = series.explaining("prefix_queries"), series.explaining("prefix_hits"), series.explaining("kv_use")
(PREEMPTIONS,), (GENERATED,), (FINISHED,) = series.explaining("preemptions"), series.explaining("generated"), series.explaining("finished")
(STEPS,), (RUNNING,), (WAITING,) = series.explaining("steps"), series.explaining("running"), series.explaining("waiting")
CACHE = "vllm:cache_config_info"
GPU_BUSY, GPU_USED, GPU_FREE = "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE"     # dcgm-exporter's: percent, MiB, MiB

# Always there once a pod is up: they tell whether it is scraped, and its restarts.
FIRST_TOKENS = "vllm:time_to_first_token_seconds_count"
UPTIME = "envoy_server_uptime"

LOOKBACK = 3600     # seconds before the tick in which a series' last sample is its start; an outage there is no birth
LEAST_END = 300     # seconds before the tick's end in which a pod's last sample counts, however short the tick is
RATE_OVER = 3600    # seconds over which a lane's rate is taken
SETTLE = 2          # seconds that a tick ends before Prometheus' now: a scrape begun before is stored by then, so the next tick starts from the same samples

_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


@dataclasses.dataclass(frozen=True)
class Query:
    """One instant query: what is asked, and as of when (Unix seconds; None: Prometheus' own now). A gauge may be NaN: not measured."""

    name: str
    text: str
    time: float | None
    gauge: bool = False


CLOCK = Query("clock", "vector(time())", None)
"""Asked before all others, which are as of one instant by the answer: the tick is in the clock of Prometheus."""


@dataclasses.dataclass(frozen=True)
class Window:
    """One lane's two revisions since the last tick, and the extra matchers of the metrics store."""

    service: str
    namespace: str
    lane: str
    stable: str                                     # what the canary is compared with
    canary: str
    cursor: types.Cursor | None = None              # None: the first tick
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    began: datetime.datetime | None = None          # when the rollout started
    reference: str = ""                             # revision whose latencies before that are the reference; empty: `stable`

    def pods(self, revision: str) -> str:
        """Pattern of the names of a revision's pods: those of a Deployment's only ReplicaSets."""
        return _pods_of(names.engine(self.service, self.lane, revision))

    @property
    def routers(self) -> str:
        """Pattern of the names of the router's pods."""
        return _pods_of(names.router(self.service))


def queries(window: Window, until: datetime.datetime) -> tuple[Query, ...]:
    """Return what to ask of the tick that ends at `until`; Refused where an extra label is no label name."""
    cursor, end = window.cursor, until.timestamp()
    length = round((end - cursor.until.timestamp()) * 1000) if cursor else 0
    tail = max(length, LEAST_END * 1000)
    return (
        Query("engine_end", f"last_over_time({_engine(window)}[{tail}ms])", end),
        Query("router_end", f"last_over_time({_router(window)}[{tail}ms])", end),
        Query("router_live", _live(window), end),
        Query("sampled", f"max by (pod) (timestamp({_presence(window)}))", end),
        Query("gauges", _gauges(window), end, gauge=True),
        Query("gpus", _gpus(window), end, gauge=True),
        *(_previous(window, cursor, end, length) if cursor else _reference(window)),
    )


def rate(service: str, namespace: str, lane: str, labels: Mapping[str, str]) -> Query:
    """What asks for users' requests per second of a lane over the last hour, or since its first sample where that is younger; at least a minute."""
    window = Window(service, namespace, lane, "", "", labels={**labels, router.SYNTHETIC: ""})
    tries = _selector(router.TRIES, window, window.routers, lane=True)
    first = f"min(min_over_time(timestamp({tries})[{RATE_OVER}s:60s]))"
    return Query("rate", f"sum(increase({tries}[{RATE_OVER}s])) / clamp_min(time() - {first}, 60)", None)


def cache(service: str, namespace: str, lane: str, revision: str, labels: Mapping[str, str]) -> Query:
    """What asks for the size of the KV cache that a revision's engines have: labels of a series whose value says nothing."""
    window = Window(service, namespace, lane, revision, revision, labels=labels)
    series = _selector(CACHE, window, window.pods(revision))
    return Query("cache", f"max by (num_gpu_blocks, block_size, cache_dtype, num_gpu_blocks_override) ({series})", None)


def _previous(window: Window, cursor: types.Cursor, end: float, length: int) -> tuple[Query, ...]:
    """What was there at the last tick's end."""
    start, back, presence = cursor.until.timestamp(), LOOKBACK * 1000, _presence(window)
    return (
        Query("engine_prev", f"last_over_time({_engine(window)}[{back}ms])", start),
        Query("router_prev", f"last_over_time({_router(window)}[{back}ms])", start),
        Query("known_prev", f"max by (pod) (last_over_time({presence}[{back}ms]))", start),
        Query("resets_prev", f"sum by (pod) (resets({presence}[{back}ms]))", start),
        Query("resets_end", f"sum by (pod) (resets({presence}[{back + length}ms]))", end),
    )


def _reference(window: Window) -> tuple[Query, ...]:
    """The latencies of the stable when the rollout began, and an hour before."""
    if window.began is None:
        return ()
    end, back = window.began.timestamp(), LOOKBACK * 1000
    revision = window.reference or window.stable
    selectors = (
        ("engine", _selector(_buckets(ENGINE_METRICS), window, window.pods(revision))),
        ("router", _selector(_buckets(ROUTER_METRICS), window, window.routers, lane=True, revisions=(revision,))),
    )
    instants = (("start", end - LOOKBACK), ("end", end))
    return tuple(Query(f"reference_{name}_{at}", f"last_over_time({text}[{back}ms])", time) for name, text in selectors for at, time in instants)


def _engine(window: Window) -> str:
    counters = (*PREFIX_QUERIES, *PREFIX_HITS, PREEMPTIONS, GENERATED, STEPS, FINISHED)
    return _selector("|".join((_buckets(ENGINE_METRICS), *counters)), window, *_both(window))


def _router(window: Window) -> str:
    """`requests` also with the revision that Envoy writes where the answer was its own: none."""
    counters = (router.TRIES, router.FAILURES, router.REQUESTS)
    return _selector("|".join((*counters, _buckets(ROUTER_METRICS))), window, window.routers, lane=True, revisions=(window.stable, window.canary, "-", ""))


def _live(window: Window) -> str:
    counters = (router.TRIES, router.FAILURES, router.REQUESTS, *(f"{name}_count" for name in ROUTER_METRICS))
    return _selector("|".join(counters), window, window.routers, lane=True, revisions=(window.stable, window.canary, "-", ""))


def _presence(window: Window) -> str:
    """Of every pod what is there from its start on; a router's tries beside, for a set-up that keeps Fairlane's metrics alone."""
    return _selector("|".join((FIRST_TOKENS, UPTIME, router.TRIES)), window, *_both(window), window.routers)


def _gauges(window: Window) -> str:
    return _selector("|".join((RUNNING, WAITING, *KV_USE)), window, *_both(window))


def _gpus(window: Window) -> str:
    """dcgm-exporter's, by the pod that has the GPU: in `pod`, or in `exported_pod` where a scrape job writes the exporter's own into `pod`."""
    metric = "|".join((GPU_BUSY, GPU_USED, GPU_FREE))
    return " or ".join(_selector(metric, window, *_both(window), prefix=prefix) for prefix in ("", "exported_"))


def _both(window: Window) -> tuple[str, str]:
    return window.pods(window.stable), window.pods(window.canary)


def _buckets(metrics: Mapping[str, str]) -> str:
    return "|".join(f"{name}_bucket" for name in metrics)


def _selector(metric: str, window: Window, *pods: str, lane: bool = False, revisions: tuple[str, ...] = (), prefix: str = "") -> str:
    """A series selector; `metric` may be alternatives. With `lane` a router's series of that lane alone, and of these revisions where some are given."""
    matchers = [f'__name__=~"{metric}"'] if "|" in metric else [f'__name__="{metric}"']
    matchers += [f'{prefix}namespace="{_quoted(window.namespace)}"', f'{prefix}pod=~"{"|".join(_quoted(pattern) for pattern in pods)}"']
    if lane:
        matchers.append(f'{router.LANE}="{_quoted(window.lane)}"')
    if revisions:
        matchers.append(f'{router.REVISION}=~"{"|".join(revisions)}"')
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
