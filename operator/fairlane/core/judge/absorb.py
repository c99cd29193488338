"""One tick into the memory. Nothing is decided here."""

import dataclasses
import zlib
from collections.abc import Mapping

from ...api import base
from ...api import spec as specs
from . import histograms, margins, memory, shares, types, variation

CAP = 1.0               # exceedances of the canary that count in a tick in any case
CAP_SCALE = 2.0         # and times what would be allowed of its requests
SHRINK = 50.0           # requests at the stable's mean that its share in a tick is mixed with
PAUSES = 0.01           # of the gaps between tokens that lie over the first edge at most: what is slower in general, other metrics show
P99 = 0.01              # of the requests that may miss a latency objective
LEAST_REFERENCE = 20    # observations of the stable from which its tail is known
NAMED_PODS = 64         # stable pods whose group is remembered; others go by their name

Both = tuple[types.Histogram | None, types.Histogram | None]


def begun(evidence: types.Evidence) -> memory.Memory:
    """Return the memory of a trial at its baseline: nothing is counted, the tail edges are those of the reference."""
    enough = {metric: known for metric, known in evidence.reference.items() if histograms.total(known) >= LEAST_REFERENCE}
    tails = {metric: _tails(metric, enough[metric]) for metric in shares.TAILS if metric in enough}
    durations = enough.get("router_duration") or enough.get("e2e")
    return memory.Memory(
        cursor=evidence.cursor,
        since=evidence.until,
        stable=_gauges(memory.Side(evidence.stable.revision), evidence.stable),
        canary=_gauges(memory.Side(evidence.canary.revision), evidence.canary),
        tails={**tails, "errors": (memory.Tail(None),)},
        slowest=memory.rounded(histograms.quantile(durations, 0.99) or 0.0) if durations else 0.0,
    )


def absorbed(known: memory.Memory, evidence: types.Evidence, trial: types.Trial) -> memory.Memory:
    """Return the memory with one tick more. In the warm-up latencies are left out."""
    seconds = max((evidence.until - evidence.since).total_seconds(), 0.0)
    moved = dataclasses.replace(
        known,
        cursor=evidence.cursor,
        seconds=memory.rounded(known.seconds + seconds),
        stable=_summed(known.stable, evidence.stable),
        canary=_summed(known.canary, evidence.canary),
        busy=_busy(known.busy, evidence, seconds),
    )
    moved = _with_tails(moved, "errors", known.counts("errors"), trial.analysis)
    moved = _with_limits(moved, trial.objectives, known, "errors")
    moved = _latencies(moved, evidence, trial) if trial.latencies else moved
    return dataclasses.replace(moved, minute=moved.seconds) if variation.minute_over(moved) else moved


def _summed(side: memory.Side, samples: types.TrackSamples) -> memory.Side:
    context = samples.context
    summed = dataclasses.replace(
        side,
        requests=memory.rounded(side.requests + samples.requests),
        errors=memory.rounded(side.errors + samples.errors),
        prefix_queries=memory.rounded(side.prefix_queries + context.prefix_queries),
        prefix_hits=memory.rounded(side.prefix_hits + context.prefix_hits),
        preemptions=memory.rounded(side.preemptions + context.preemptions),
        hidden=memory.rounded(side.hidden + context.hidden),
        aborted=memory.rounded(side.aborted + context.aborted),
        generated=memory.rounded(side.generated + context.generated),
    )
    return _gauges(summed, samples)


def _gauges(side: memory.Side, samples: types.TrackSamples) -> memory.Side:
    context = samples.context
    return dataclasses.replace(
        side, replicas=samples.replicas, kv_use=context.kv_use, gpu_utilization=context.gpu_utilization, gpu_memory=context.gpu_memory
    )


def _busy(busy: memory.Busy, evidence: types.Evidence, seconds: float) -> memory.Busy:
    if not evidence.canary.context.running:
        return memory.Busy()
    moved = (busy.seconds + seconds, busy.stable + evidence.stable.requests, busy.canary + evidence.canary.requests)
    return memory.Busy(*(memory.rounded(value) for value in moved))


def _latencies(known: memory.Memory, evidence: types.Evidence, trial: types.Trial) -> memory.Memory:
    """Add what both sides' requests took."""
    stable, canary = ({**histograms.of_pods(side.pods), **side.histograms} for side in (evidence.stable, evidence.canary))
    known = _gaps(known, (stable, evidence.stable.context.steps), (canary, evidence.canary.context.steps))
    for metric in shares.TAILS:
        both = (stable.get(metric), canary.get(metric))
        if present := [side for side in both if side is not None]:
            known = _metric(_gridded(known, metric, *present), metric, both, trial)
    return _grouped(known, evidence.stable.pods)


def _gaps(known: memory.Memory, *sides: tuple[Mapping[str, types.Histogram], float]) -> memory.Memory:
    """Count the gaps between tokens, the engines' steps and the requests that had them."""
    moved = []
    for side, (found, steps) in zip((known.stable, known.canary), sides, strict=True):
        gaps, first = (histograms.total(found[metric]) if metric in found else 0.0 for metric in ("itl", "ttft"))
        gaps, steps, first = (memory.rounded(value) for value in (side.gaps + gaps, side.steps + steps, side.first_tokens + first))
        moved.append(dataclasses.replace(side, gaps=gaps, steps=steps, first_tokens=first))
    return dataclasses.replace(known, stable=moved[0], canary=moved[1])


def _scale(known: memory.Memory, side: memory.Side, metric: str) -> float:
    """What makes independent observations of gaps between tokens: all requests that run have theirs in the same engine step, and pause together.
    Where a version does not count its steps, hundreds of a request's gaps count as the request."""
    if metric != "itl" or not side.gaps:
        return 1.0
    return min(1.0, (side.steps if known.by_steps else side.first_tokens) / side.gaps)


def _gridded(known: memory.Memory, metric: str, *present: types.Histogram) -> memory.Memory:
    """Return it with the edges that both sides have; where there are fewer than before, the metric begins again."""
    before = known.grids.get(metric)
    grid = histograms.grid(before, *present)
    if grid == before:
        return known
    tails = tuple(tail for tail in known.tails.get(metric, ()) if tail.edge in grid)
    limits = {name: limit for name, limit in known.limits.items() if name != metric}
    moved = dataclasses.replace(known, grids={**known.grids, metric: grid}, tails={**known.tails, metric: tails}, limits=limits)
    return moved if before is None else moved.restarted(metric)


def _metric(known: memory.Memory, metric: str, both: Both, trial: types.Trial) -> memory.Memory:
    """Add one metric's tick to the sums."""
    grid, sides = known.grids[metric], []
    for side, histogram in zip((known.stable, known.canary), both, strict=True):
        if histogram is not None:
            more, scale = histograms.buckets(histogram, grid), _scale(known, side, metric)
            old = side.histograms.get(metric, (0.0,) * len(more))
            new = tuple(memory.rounded(a + scale * b) for a, b in zip(old, more, strict=True))
            side = dataclasses.replace(side, histograms={**side.histograms, metric: new})
        sides.append(side)
    moved = dataclasses.replace(known, stable=sides[0], canary=sides[1])
    if not moved.tails.get(metric):
        return _chosen(moved, metric)
    moved = _with_tails(moved, metric, known.counts(metric), trial.analysis)
    return _with_limits(moved, trial.objectives, known, metric)


def _chosen(known: memory.Memory, metric: str) -> memory.Memory:
    """Choose the tail edges from the stable's observations so far, once they are enough. Those are spent: edges fit the counts that chose them too well."""
    if known.stable.total(metric) < LEAST_REFERENCE:
        return known
    tails = {**known.tails, metric: _tails(metric, histograms.cumulative(known.grids[metric], known.stable.histograms[metric]))}
    return dataclasses.replace(known, tails=tails).restarted(metric)


def _tails(metric: str, reference: types.Histogram) -> tuple[memory.Tail, ...]:
    """The edges of a metric's tail, nothing counted."""
    share = PAUSES if metric == "itl" else histograms.TAIL_SHARE
    return tuple(memory.Tail(edge) for edge in histograms.tail_edges(reference, share))


def _with_tails(known: memory.Memory, metric: str, before: memory.Counts, analysis: specs.Analysis) -> memory.Memory:
    """Add the tick to each tail edge's capped count and dispersion."""
    after, allowed = known.counts(metric), allowed_of(known, metric, analysis)
    canary_total, tails = (after.canary - before.canary) * _requests_of(known, metric), []
    for tail, old, new in zip(known.tails[metric], before.over, after.over, strict=True):
        stable, canary = new.stable - old.stable, new.canary - old.canary
        mean = (new.stable + 0.5) / (after.stable + 1)
        here = (stable + SHRINK * mean) / (after.stable - before.stable + SHRINK)
        cap = CAP + CAP_SCALE * canary_total * (allowed.tau * here + allowed.delta)
        minutes = variation.next_minute(tail.minutes, new) if variation.minute_over(known) else tail.minutes
        tails.append(memory.Tail(tail.edge, memory.rounded(tail.capped + min(canary, cap)), *variation.between_ticks(tail, stable), minutes))
    return dataclasses.replace(known, tails={**known.tails, metric: tuple(tails)})


def _requests_of(known: memory.Memory, metric: str) -> float:
    """Requests for each of the canary's observations: one, but where these are engine steps."""
    steps = known.totals("itl")[1] if metric == "itl" and known.by_steps else 0.0
    return min(1.0, known.canary.first_tokens / steps) if steps else 1.0


def allowed_of(known: memory.Memory, metric: str, analysis: specs.Analysis) -> margins.Margins:
    """The margins of a metric's observations. Of pauses as many more than the stable's as there may be slow requests: steps are a hundred times as many."""
    return margins.of(metric, analysis).of_each(_requests_of(known, metric))


def _with_limits(known: memory.Memory, objectives: specs.Objectives, before: memory.Memory, metric: str) -> memory.Memory:
    """Add the tick to the metric's objective; one that is new, or has another bound than before, begins now."""
    bound = bounds(objectives).get(metric)
    if bound is None:
        return dataclasses.replace(known, limits={name: limit for name, limit in known.limits.items() if name != metric})
    limit = known.limits.get(metric)
    if limit is None or limit.bound != bound:
        limit = memory.Limit(bound, *((None, None) if metric == "errors" else histograms.around(known.grids[metric], bound)))
    total = known.totals(metric)[1] - before.totals(metric)[1]
    high, low = (_over(known, metric, edge) for edge in (limit.high, limit.low))
    high_before, low_before = (_over(before, metric, edge) for edge in (limit.high, limit.low))
    cap = CAP + CAP_SCALE * total * share_of(metric, limit)
    capped = memory.rounded(limit.capped + min(high[1] - high_before[1], cap))
    dispersed = variation.between_ticks(limit, low[0] - low_before[0])
    moved = memory.Limit(limit.bound, limit.low, limit.high, capped, memory.rounded(limit.total + total), *dispersed)
    return dataclasses.replace(known, limits={**known.limits, metric: moved})


def _over(known: memory.Memory, metric: str, edge: float | None) -> tuple[float, float]:
    return (0.0, 0.0) if edge is None and metric != "errors" else known.over(metric, edge)


def bounds(objectives: specs.Objectives) -> dict[str, float]:
    """The objectives by the metric that they bound: seconds, of errors a share."""
    found = {"ttft": objectives.ttft_p99, "itl": objectives.itl_p99}
    latencies = {metric: base.seconds(text) for metric, text in found.items() if text is not None}
    return {**latencies, **({"errors": float(objectives.error_rate)} if objectives.error_rate is not None else {})}


def share_of(metric: str, limit: memory.Limit) -> float:
    """The share of requests that may miss an objective."""
    return limit.bound if metric == "errors" else P99


def _grouped(known: memory.Memory, pods: tuple[types.PodSamples, ...]) -> memory.Memory:
    """Add what each stable pod counted to its group."""
    names, groups = list(known.pods), [dict(group) for group in known.groups]
    for pod in pods:
        index = _group(names, pod.pod)
        groups += [{} for _ in range(index + 1 - len(groups))]
        for metric, histogram in pod.histograms.items():
            tails, grid = known.tails.get(metric), known.grids.get(metric)
            if not tails or not grid or not known.stable.histograms.get(metric):
                continue
            counts, scale = histograms.buckets(histogram, grid), _scale(known, known.stable, metric)
            more = [sum(counts[grid.index(tail.edge) + 1:]) for tail in tails if tail.edge is not None]
            old = groups[index].get(metric, memory.Group(0.0, (0.0,) * len(more)))
            over = tuple(memory.rounded(a + scale * b) for a, b in zip(old.over, more, strict=True))
            groups[index][metric] = memory.Group(memory.rounded(old.total + scale * sum(counts)), over)
    return dataclasses.replace(known, pods=tuple(names), groups=tuple(groups))


def _group(names: list[str], pod: str) -> int:
    """The group of a pod: its place in the order of first sight, as long as places are remembered."""
    end = pod.rpartition("-")[2]
    if end not in names and len(names) < NAMED_PODS:
        names.append(end)
    return (names.index(end) if end in names else zlib.crc32(end.encode())) % memory.GROUPS
