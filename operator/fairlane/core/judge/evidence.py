"""From the answers of the metrics store to evidence."""

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..routing import metrics as router
from . import queries, types

STALE_AFTER = 120.0     # seconds without a new sample after which a pod's latencies are no longer known


@dataclasses.dataclass(frozen=True)
class Sample:
    """One series' value."""

    labels: Mapping[str, str]
    value: float


Results = Mapping[str, Sequence[Sample]]
Key = tuple[tuple[str, str], ...]
Increments = list[tuple[Mapping[str, str], float]]


def assemble(window: queries.Window, results: Results, replicas: tuple[int, int] = (0, 0)) -> types.Evidence | types.Unavailable:
    """Return one lane's evidence from the samples of every query by name. `replicas`: the stable's and the canary's, ready now."""
    for name in ("engine_end", "router_end"):
        if twice := _duplicate(results[name]):
            return types.Unavailable("DuplicateSeries", twice)
    engine = _increments(results["engine_start"], results["engine_end"], results["engine_resets"])
    routers = _increments(results["router_start"], results["router_end"], results["router_resets"])
    if missing := _missing(window, results):
        return types.Unavailable("NoSeries", missing)
    seen = {sample.labels.get("pod", ""): sample.value for sample in results["engine_seen"]}
    fresh = window.until.timestamp() - STALE_AFTER
    sides = []
    for revision, ready in zip((window.stable, window.canary), replicas, strict=True):
        own = [(labels, value) for labels, value in engine if re.fullmatch(window.pods(revision), labels.get("pod", ""))]
        known = any(re.fullmatch(window.pods(revision), pod) and moment >= fresh for pod, moment in seen.items())
        tries = [(labels, value) for labels, value in routers if labels.get(router.REVISION) == revision]
        sides.append(_side(revision, ready, own if known else [], tries))
    return types.Evidence(window.since, window.until, sides[0], sides[1])


def _side(revision: str, ready: int, engine: Increments, tries: Increments) -> types.TrackSamples:
    histograms = {**_histograms(engine, queries.ENGINE_METRICS, 1.0), **_histograms(tries, queries.ROUTER_METRICS, 1000.0)}
    requests, errors = (sum(value for labels, value in tries if labels.get("__name__") == name) for name in (router.TRIES, router.FAILURES))
    return types.TrackSamples(revision, requests, errors, histograms, ready)


def _missing(window: queries.Window, results: Results) -> str:
    """Say what is not scraped at all; empty where something of both is."""
    if results["router_end"]:
        return ""
    stable = [sample for sample in results["engine_end"] if re.fullmatch(window.pods(window.stable), sample.labels.get("pod", ""))]
    if not stable:
        where = f"pods {window.pods(window.stable)} and {window.routers} in namespace {window.namespace}"
        return f"Prometheus has no series of the {where}: are they scraped, with the labels namespace and pod?"
    if any(value > 0 for _, value in _increments(results["engine_start"], stable, results["engine_resets"])):
        where = f"pods {window.routers} in namespace {window.namespace}"
        return f"Prometheus has no {router.TRIES} of the {where}, though the engines are busy: is the router scraped?"
    return ""


def _duplicate(samples: Iterable[Sample]) -> str:
    """Say which pod is scraped twice; empty where none is."""
    sources: dict[str, Key] = {}
    for sample in samples:
        source = tuple(sorted((name, value) for name, value in sample.labels.items() if name not in _OWN_LABELS))
        known = sources.setdefault(sample.labels.get("pod", ""), source)
        if known != source:
            first, second = (", ".join(f'{name}="{value}"' for name, value in side) or "no more labels" for side in _difference(known, source))
            remedy = "scrape it once, or choose one with metrics.prometheus.labels"
            return f"Prometheus has two series for pod {sample.labels.get('pod', '')} ({first} and {second}): {remedy}"
    return ""


_OWN_LABELS = frozenset(
    {"__name__", "le", "namespace", "pod", "engine", "model_name", router.LANE, router.REVISION, router.CODE, router.FLAGS}
)


def _difference(first: Key, second: Key) -> tuple[Key, Key]:
    return tuple(pair for pair in first if pair not in second), tuple(pair for pair in second if pair not in first)


def _increments(start: Iterable[Sample], end: Iterable[Sample], resets: Iterable[Sample]) -> Increments:
    """What every series counted in the window. One that was born or started again in it counts from zero: what came before its last reset is lost."""
    before = {_key(sample): sample.value for sample in start}
    restarted = {sample.labels.get("pod", "") for sample in resets if sample.value > 0}
    increments: Increments = []
    for sample in end:
        known = before.get(_key(sample), 0.0)
        again = sample.labels.get("pod", "") in restarted or sample.value < known
        increments.append((sample.labels, sample.value if again else sample.value - known))
    return increments


def _key(sample: Sample) -> Key:
    return tuple(sorted(sample.labels.items()))


def _histograms(increments: Increments, metrics: Mapping[str, str], per_second: float) -> dict[str, types.Histogram]:
    """One histogram per metric of ours, summed over pods. Of two names for one metric the first that is there counts."""
    found: dict[str, types.Histogram] = {}
    for name, metric in metrics.items():
        groups = list(_groups(increments, f"{name}_bucket"))
        if groups and metric not in found:
            found[metric] = _sum(groups, per_second)
    return found


def _groups(increments: Increments, name: str) -> Iterator[dict[float, float]]:
    """The buckets of each histogram of this name."""
    series: dict[Key, dict[float, float]] = {}
    for labels, value in increments:
        if labels.get("__name__") == name and "le" in labels:
            rest = tuple(sorted(pair for pair in labels.items() if pair[0] != "le"))
            series.setdefault(rest, {})[float(labels["le"])] = value
    yield from series.values()


def _sum(groups: Sequence[Mapping[float, float]], per_second: float) -> types.Histogram:
    """Sum over the edges that all have; counts never fall from edge to edge."""
    edges = sorted(set.intersection(*(set(group) for group in groups)) | {math.inf})
    counts: list[float] = []
    for edge in edges:
        counts.append(max(sum(group.get(edge, 0.0) for group in groups), counts[-1] if counts else 0.0))
    return types.Histogram(tuple(edge / per_second for edge in edges), tuple(counts))
