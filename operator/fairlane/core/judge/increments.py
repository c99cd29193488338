"""What every series counted since the last tick, from its cumulative values at both ends."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..routing import metrics as router
from . import samples, types

Increments = Sequence[samples.Sample]     # series with what they counted instead of their value

# A histogram's buckets are as alive as its count.
_COUNTS = {f"{name}_bucket": f"{name}_count" for name in (router.TTFT, router.DURATION)}


def since(cursor: types.Cursor | None, results: samples.Results, source: str, newborn: frozenset[str]) -> Increments:
    """Return the increments of the engines' or the routers' (`source`) series; the first tick has none.

    `newborn`: pods created since the memory began; they count from zero. Any other pod that the cursor does not know has its baseline now.
    """
    if cursor is None:
        return ()
    before = {sample.key: sample.value for sample in results[f"{source}_prev"]}
    restarted = _restarted(results)
    live = {sample.key for sample in results["router_live"]}
    counted = []
    for sample in results[f"{source}_end"]:
        if sample.pod in cursor.pods:
            again = sample.pod in restarted and (source == "engine" or _count_of(sample) in live)
            counted.append(samples.Sample(sample.labels, _grown(sample.value, before.get(sample.key, 0.0), again)))
        elif sample.pod in newborn:
            counted.append(sample)
    return counted


def between(start: Iterable[samples.Sample], end: Iterable[samples.Sample]) -> Increments:
    """Return what was counted between two instants; a series that is not there at the first counts from zero."""
    before = {sample.key: sample.value for sample in start}
    return [samples.Sample(sample.labels, _grown(sample.value, before.get(sample.key, 0.0), again=False)) for sample in end]


def _grown(now: float, before: float, again: bool) -> float:
    """What a series counted; one that started again counts from zero: what came before its last reset is lost."""
    return now if again or now < before else now - before


def _restarted(results: samples.Results) -> frozenset[str]:
    """Pods whose counters were reset in the tick: resets until now, less those until its beginning, both counted from the same instant on.

    A range of the tick alone would miss a reset between the last sample before it and its first.
    """
    before = {sample.pod: sample.value for sample in results["resets_prev"]}
    return frozenset(sample.pod for sample in results["resets_end"] if sample.value > before.get(sample.pod, 0.0))


def _count_of(sample: samples.Sample) -> samples.Key:
    """The series by which one of a router's is known to be exposed still.

    After a restart Envoy exposes only what it has counted again: the last sample of any other is of before, and no count since.
    """
    if sample.name not in _COUNTS:
        return sample.key
    labels = {name: value for name, value in sample.labels.items() if name != "le"}
    return samples.Sample({**labels, "__name__": _COUNTS[sample.name]}, 0.0).key


def total(increments: Increments, *names: str) -> float:
    """Sum of the increments of the first of the names that is there."""
    for name in names:
        found = [sample.value for sample in increments if sample.name == name]
        if found:
            return sum(found)
    return 0.0


def histograms(increments: Increments, metrics: Mapping[str, str], per_second: float) -> dict[str, types.Histogram]:
    """One histogram per metric of ours. Of two names for one metric the first that is there counts."""
    found: dict[str, types.Histogram] = {}
    for name, metric in metrics.items():
        groups = list(_groups(increments, f"{name}_bucket"))
        if groups and metric not in found:
            found[metric] = _sum(groups, per_second)
    return found


def _groups(increments: Iterable[samples.Sample], name: str) -> Iterator[dict[float, float]]:
    """The buckets of each histogram of this name."""
    series: dict[samples.Key, dict[float, float]] = {}
    for sample in increments:
        if sample.name == name and "le" in sample.labels:
            rest = tuple(pair for pair in sample.key if pair[0] != "le")
            series.setdefault(rest, {})[float(sample.labels["le"])] = sample.value
    yield from series.values()


def _sum(groups: Sequence[Mapping[float, float]], per_second: float) -> types.Histogram:
    """Sum over the edges that all have; counts never fall from edge to edge."""
    edges = sorted(set.intersection(*(set(group) for group in groups)) | {math.inf})
    counts: list[float] = []
    for edge in edges:
        counts.append(max(sum(group.get(edge, 0.0) for group in groups), counts[-1] if counts else 0.0))
    return types.Histogram(tuple(edge / per_second for edge in edges), tuple(counts))
