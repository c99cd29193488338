"""The sentences and the numbers behind a verdict."""

import math

from ...api import spec as specs
from ...api import status
from .. import clock
from . import absorb, histograms, margins, memory, shares, types, weigh

OBJECTIVE_RULE = "the share over the edge against the 1 % that an objective of the p99 allows"
ERROR_OBJECTIVE_RULE = "the share that failed against objectives.errorRate"
PASS_BETA = 0.05        # a Pass is wrong at most this often
_MOST_EDGES = 127


def finding(known: memory.Memory, part: weigh.Part, log_e: float, reason: str, trial: types.Trial) -> memory.Finding:
    """Return what one part of the evidence shows, on the counts it is made of. `log_e` is that of the whole."""
    stable_total, canary_total, stable_over, canary_over = _counts(known, part)
    made = memory.Finding(reason, "", part.metric, part.edge, canary_over, canary_total, stable_over, stable_total, log_e, _rule(known, part, trial.analysis))
    return made._replace(message=_sentence(made, known, part, trial))


def _counts(known: memory.Memory, part: weigh.Part) -> tuple[float, float, float, float]:
    if part.objective:
        return *known.totals(part.metric), *known.over(part.metric, part.edge)
    index = [tail.edge for tail in known.tails[part.metric]].index(part.edge)
    stable, canary, over = weigh.since(known.counts(part.metric), part.since, part.metric, index)
    return stable, canary, over.stable, over.canary


def _rule(known: memory.Memory, part: weigh.Part, analysis: specs.Analysis) -> str:
    if part.objective:
        return ERROR_OBJECTIVE_RULE if part.metric == "errors" else OBJECTIVE_RULE
    start = f", since {clock.short(known.seconds - part.since.seconds)} ago" if part.since else ""
    return f"the canary's share against {_allowed(part, analysis)} of the stable's{start}"


def _allowed(part: weigh.Part, analysis: specs.Analysis) -> str:
    allowed = margins.of(part.metric, analysis)
    return f"{allowed.tau:g} x + {allowed.delta * 100:g} %"


def _sentence(made: memory.Finding, known: memory.Memory, part: weigh.Part, trial: types.Trial) -> str:
    """Say which metric, by how much, on how many requests and how sure."""
    canary, stable = (shares.percent(shares.share(*pair)) for pair in ((made.canary_over, made.canary_total), (made.stable_over, made.stable_total)))
    verb = "failed" if made.edge is None else f"took longer than {shares.seconds(made.edge)}"
    when = f" in the last {clock.short(known.seconds - part.since.seconds)}" if part.since else ""
    things = "engine steps" if made.metric == "itl" and known.by_steps else "requests"
    counts = f"{made.canary_over:.0f} of {made.canary_total:.0f} canary {things} ({canary}) {verb}{when}"
    beside = f"of the stable's {made.stable_over:.0f} of {made.stable_total:.0f} ({stable})"
    return f"{shares.NAMES[made.metric]}: {counts}, {beside}; {_sure(made.log_e, part, known, trial)}"


def _sure(log_e: float, part: weigh.Part, known: memory.Memory, trial: types.Trial) -> str:
    allowed = f"no worse than allowed ({_allowed(part, trial.analysis)})"
    if part.objective:
        allowed = f"within the objective ({shares.percent(absorb.share_of(part.metric, known.limits[part.metric]))})"
    odds = f"were the canary {allowed}, such evidence would come at most once in {shares.once_in(log_e)} rollouts"
    return f"e-value {shares.e_value(log_e)}, needs {threshold(trial)}: {odds}"


def threshold(trial: types.Trial) -> str:
    """The e-value of a Fail, as text."""
    return shares.e_value(math.log(trial.steps / float(trial.analysis.false_rollback_rate)))


def summary(kept: status.EvidenceRecord, slowest: weigh.Part) -> str:
    """Say what an undecided trial shows."""
    where = f"{shares.NAMES[kept.metric]}{f' over {kept.edge}' if kept.edge else ''}"
    harm = f"evidence of harm {kept.e_value} of the {kept.threshold} of a rollback (most of it: {where})"
    edge = f" over {shares.seconds(slowest.edge)}" if slowest.edge is not None else ""
    passing = f"of no harm {kept.pass_e_value} of the {kept.pass_threshold} of a Pass (least: {shares.NAMES[slowest.metric]}{edge})"
    return f"no harm seen in {counts(kept)}; {harm}, {passing}"


def passed(kept: status.EvidenceRecord, slowest: weigh.Part, analysis: specs.Analysis) -> str:
    """Say what a Pass rests on."""
    wide = margins.of(slowest.metric, analysis)
    least = f"{shares.NAMES[slowest.metric]} shows it least, at {kept.pass_e_value} with {kept.pass_threshold} needed"
    margin = f"within {wide.tau_pass:g} x the stable's share + {wide.delta_pass * 100:g} %"
    return f"no worse than the stable in {counts(kept)}: every share of slow or failed requests is {margin}; {least}"


def counts(kept: status.EvidenceRecord) -> str:
    """Both sides' requests and, where they are known, TTFT p99s."""
    stable, canary = kept.stable, kept.canary
    told = f"{canary.requests} canary requests ({canary.errors} failed) beside {stable.requests} of the stable ({stable.errors} failed)"
    if canary.ttft_p99_ms is None or stable.ttft_p99_ms is None:
        return told
    return f"{told}; TTFT p99 {shares.seconds(canary.ttft_p99_ms / 1000)} against {shares.seconds(stable.ttft_p99_ms / 1000)}"


def record(known: memory.Memory, found: memory.Finding, log_pass: float, trial: types.Trial) -> status.EvidenceRecord:
    """Return what status keeps of both sides and of the finding."""
    return status.EvidenceRecord(
        since=clock.text(known.since),
        until=clock.text(known.cursor.until),
        stable=_track(known, known.stable),
        canary=_track(known, known.canary),
        load_ratio=f"{load_ratio(known):.2f}",
        metric=found.metric,
        edge=shares.seconds(found.edge) if found.edge is not None else "",
        canary_over=round(found.canary_over),
        canary_total=round(found.canary_total),
        stable_over=round(found.stable_over),
        stable_total=round(found.stable_total),
        e_value=shares.e_value(found.log_e),
        threshold=threshold(trial),
        pass_e_value=shares.e_value(log_pass),
        pass_threshold=f"{1 / PASS_BETA:g}",
        rule=found.rule,
        distribution=_distribution(known, found.metric),
    )


def load_ratio(known: memory.Memory) -> float:
    """The canary's requests per replica over the stable's; 1 where the stable has none to compare with."""
    stable, canary = (side.requests / max(1, side.replicas) for side in (known.stable, known.canary))
    return canary / stable if stable > 0 else 1.0


def _track(known: memory.Memory, side: memory.Side) -> status.TrackEvidence:
    return status.TrackEvidence(
        revision=side.revision,
        requests=round(side.requests),
        errors=round(side.errors),
        hidden_errors=round(side.hidden),
        aborts=round(side.aborted),
        replicas=side.replicas,
        ttft_p50_ms=_milliseconds(known, side, "ttft", 0.5),
        ttft_p99_ms=_milliseconds(known, side, "ttft", 0.99),
        itl_p99_ms=_milliseconds(known, side, "itl", 0.99),
        tpot_p99_ms=_milliseconds(known, side, "tpot", 0.99),
        queue_p99_ms=_milliseconds(known, side, "queue", 0.99),
        e2e_p99_ms=_milliseconds(known, side, "e2e", 0.99),
        ttft_p99_range=_range(known, side, "ttft"),
        e2e_p99_range=_range(known, side, "e2e"),
        preemptions=round(side.preemptions),
        prefix_hit_percent=_percent(side.hit_rate),
        kv_use_percent=_percent(side.kv_use),
        gpu_utilization_percent=_percent(side.gpu_utilization),
        gpu_memory_percent=_percent(side.gpu_memory),
    )


def _percent(share: float | None) -> int | None:
    return None if share is None else round(share * 100)


def _histogram(known: memory.Memory, side: memory.Side, metric: str) -> types.Histogram | None:
    return histograms.cumulative(known.grids[metric], side.histograms[metric]) if metric in side.histograms else None


def _milliseconds(known: memory.Memory, side: memory.Side, metric: str, rank: float) -> int | None:
    histogram = _histogram(known, side, metric)
    value = histograms.quantile(histogram, rank) if histogram else None
    return None if value is None else round(value * 1000)


def _range(known: memory.Memory, side: memory.Side, metric: str) -> str:
    histogram = _histogram(known, side, metric)
    bounds = histograms.quantile_range(histogram, 0.99) if histogram else None
    if bounds is None:
        return ""
    low, high = bounds
    return f"{low * 1000:.0f}-{high * 1000:.0f}" if math.isfinite(high) else f">{low * 1000:.0f}"


def _distribution(known: memory.Memory, metric: str) -> status.Distribution | None:
    """Both sides' counts at the edges of the deciding metric, without the edges that have nothing below, or at the end nothing above the one before."""
    stable, canary = (_histogram(known, side, metric) for side in (known.stable, known.canary))
    if stable is None or canary is None:
        return None
    points = {round(edge * 1000): pair for edge, *pair in zip(stable.edges[:-1], stable.counts, canary.counts, strict=False)}
    told = [(edge, *pair) for edge, pair in points.items() if sum(pair) > 0]
    while len(told) > 1 and told[-1][1:] == told[-2][1:]:
        told.pop()
    told = told[-_MOST_EDGES:]
    columns = [[round(point[column]) for point in told] for column in (1, 2)]
    return status.Distribution(
        metric=metric,
        edges_ms=[edge for edge, *_ in told],
        stable=[*columns[0], round(stable.counts[-1])],
        canary=[*columns[1], round(canary.counts[-1])],
    )
