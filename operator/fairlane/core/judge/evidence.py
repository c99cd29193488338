"""From the answers of the metrics store to one tick's evidence."""

import dataclasses
import datetime
import re
from collections.abc import Iterable, Mapping

from ..routing import metrics as router
from . import context, histograms, increments, queries, samples, types

STALE_AFTER = 120.0     # seconds without a new sample after which a side's latencies are not known, and nobody waits for them
LEAST_REFERENCE = 200   # requests in the hour before a rollout that make a reference; with fewer the pods' whole life does
_TOLD = 3               # pods that a message names


@dataclasses.dataclass(frozen=True)
class _Tick:
    """What all steps below need to know."""

    window: queries.Window
    until: datetime.datetime
    results: samples.Results
    replicas: tuple[int, int]
    created: Mapping[str, datetime.datetime]

    def own(self, found: Iterable[samples.Sample], revision: str, label: str = "pod") -> list[samples.Sample]:
        """Those of a revision's pods."""
        pattern = re.compile(self.window.pods(revision))
        return [sample for sample in found if pattern.fullmatch(sample.labels.get(label, ""))]

    def sampled(self) -> tuple[float, float, float]:
        """Newest sample of the stable's engines, the canary's and the routers, never before the last tick's."""
        before = self.window.cursor.sampled if self.window.cursor else (0.0, 0.0, 0.0)
        patterns = (self.window.pods(self.window.stable), self.window.pods(self.window.canary), self.window.routers)
        stable, canary, routers = (
            max((sample.value for sample in self.results["sampled"] if re.fullmatch(pattern, sample.pod)), default=0.0) for pattern in patterns
        )
        return max(stable, before[0]), max(canary, before[1]), max(routers, before[2])

    def stale(self, moment: float) -> bool:
        """Whether a newest sample is too old to go by."""
        return self.until.timestamp() - moment > STALE_AFTER

    def cursor(self) -> types.Cursor:
        """Where the next tick begins. A pod that exists is remembered while it is not scraped, so that it is not taken for new."""
        old, ends = self.window.cursor, ("engine_end", "router_end", "sampled")
        pods = set().union(*(samples.pods(self.results[name]) for name in ends)) | {pod for pod in (old.pods if old else ()) if pod in self.created}
        return types.Cursor(self.until, tuple(sorted(pods)), self.sampled(), old.began if old and old.began else self.until)


def assemble(
    window: queries.Window,
    until: datetime.datetime,
    results: samples.Results,
    replicas: tuple[int, int] = (0, 0),
    created: Mapping[str, datetime.datetime] | None = None,
) -> types.Evidence | types.Unavailable:
    """Return one lane's tick from the samples of every query by name.

    `replicas`: the stable's and the canary's, ready now; `created`: when the pods that exist were created, by name.
    """
    tick = _Tick(window, until, results, replicas, created or {})
    for name in ("engine_end", "router_end"):
        if twice := samples.duplicate(results[name]):
            return types.Unavailable("DuplicateSeries", twice)
    if missing := _unscraped(tick):
        return types.Unavailable("NoSeries", missing)
    if window.cursor and (lost := _lost(tick, window.cursor)):
        return types.Unavailable(types.HISTORY_LOST, lost, tick.cursor())
    old = window.cursor
    newborn = frozenset(pod for pod, born in tick.created.items() if old and old.began and born > old.began)
    engine, tries = (increments.since(old, results, source, newborn) for source in ("engine", "router"))
    if missing := _silent_router(tick, engine):
        return types.Unavailable("NoSeries", missing)
    if old and not _advanced(tick, old):
        return _evidence(tick, (), (), old, fresh=False)
    return _evidence(tick, engine, tries, tick.cursor(), fresh=True)


def _evidence(tick: _Tick, engine: increments.Increments, tries: increments.Increments, cursor: types.Cursor, fresh: bool) -> types.Evidence:
    window = tick.window
    hidden = context.hidden(tries, (window.stable, window.canary))
    stable = _side(tick, window.stable, tick.replicas[0], engine, tries, hidden[0])
    canary = _side(tick, window.canary, tick.replicas[1], engine, tries, hidden[1])
    since = window.cursor.until if window.cursor else tick.until
    known = [not tick.stale(moment) for moment in tick.sampled()]
    return types.Evidence(since, tick.until, stable, canary, cursor, fresh, (known[0], known[1]), _reference(tick))


def _side(
    tick: _Tick, revision: str, replicas: int, engine: increments.Increments, tries: increments.Increments, hidden: float
) -> types.TrackSamples:
    own = tick.own(engine, revision)
    answers = [sample for sample in tries if sample.labels.get(router.REVISION) == revision]
    pods = tuple(_pod(pod, own) for pod in sorted(samples.pods(own)))
    gpus = tick.own(tick.results["gpus"], revision) + tick.own(tick.results["gpus"], revision, "exported_pod")
    return types.TrackSamples(
        revision,
        requests=increments.total(answers, router.TRIES),
        errors=increments.total(answers, router.FAILURES),
        histograms=increments.histograms(answers, queries.ROUTER_METRICS, 1000.0),
        pods=pods,
        replicas=replicas,
        context=context.context(own, tick.own(tick.results["gauges"], revision), gpus, hidden, context.aborted(tries, revision)),
    )


def _pod(pod: str, engine: increments.Increments) -> types.PodSamples:
    return types.PodSamples(pod, increments.histograms([sample for sample in engine if sample.pod == pod], queries.ENGINE_METRICS, 1.0))


def _advanced(tick: _Tick, old: types.Cursor) -> bool:
    """Whether all have new samples. Nobody waits for engines that have no ready replica or were not scraped for long: their router counts their errors."""
    now = tick.sampled()
    if now[2] and now[2] <= old.sampled[2]:
        return False
    sides = zip(now[:2], old.sampled[:2], tick.replicas, strict=True)
    return all(new > before or tick.stale(new) or not ready for new, before, ready in sides)


def _unscraped(tick: _Tick) -> str:
    """Say what has no series at all, or none any more; empty where it is scraped."""
    window, routers = tick.window, tick.sampled()[2]
    if not tick.results["router_end"] and not tick.own(tick.results["engine_end"], window.stable):
        where = f"pods {window.pods(window.stable)} and {window.routers} in namespace {window.namespace}"
        return f"Prometheus has no series of the {where}: are they scraped, with the labels namespace and pod?"
    if routers and tick.stale(routers):
        age = tick.until.timestamp() - routers
        return f"Prometheus has no sample of the pods {window.routers} in namespace {window.namespace} for {age:.0f} s: is the router scraped?"
    return ""


def _silent_router(tick: _Tick, engine: increments.Increments) -> str:
    """Say that the router was never scraped though its engines are busy; empty where that is not so."""
    if tick.results["router_end"] or tick.sampled()[2] or not any(sample.value > 0 for sample in tick.own(engine, tick.window.stable)):
        return ""
    where = f"pods {tick.window.routers} in namespace {tick.window.namespace}"
    return f"Prometheus has no {router.TRIES} of the {where}, though the engines are busy: is the router scraped?"


def _lost(tick: _Tick, old: types.Cursor) -> str:
    """Say which pods have series now but none at the last tick's end, where they had some; empty where there are none."""
    results = tick.results
    now = set().union(*(samples.pods(results[name]) for name in ("engine_end", "router_end", "sampled")))
    then = set().union(*(samples.pods(results[name]) for name in ("engine_prev", "router_prev", "known_prev")))
    lost = [pod for pod in old.pods if pod in now and pod not in then]
    if not lost:
        return ""
    told = ", ".join(lost[:_TOLD]) + (f" and {len(lost) - _TOLD} more" if len(lost) > _TOLD else "")
    since, until = (f"{moment:%H:%M:%S} UTC" for moment in (old.until, tick.until))
    remedy = "what was counted since is left out; keep Prometheus' data on a volume, for longer than an hour"
    return f"Prometheus no longer has the series of {told} as of {since}, when the evidence was last read; it goes on from {until}: {remedy}"


def _reference(tick: _Tick) -> dict[str, types.Histogram]:
    """The stable's latencies in the hour before the rollout began, or in its pods' whole life by then; on the first tick alone."""
    if "reference_engine_end" not in tick.results:
        return {}
    hour, life = _before(tick, "hour"), _before(tick, "life")
    return hour if _requests(hour) >= LEAST_REFERENCE else life


def _before(tick: _Tick, span: str) -> dict[str, types.Histogram]:
    found: dict[str, types.Histogram] = {}
    for source, metrics, per_second in (("engine", queries.ENGINE_METRICS, 1.0), ("router", queries.ROUTER_METRICS, 1000.0)):
        start = tick.results[f"reference_{source}_start"] if span == "hour" else ()
        found |= increments.histograms(increments.between(start, tick.results[f"reference_{source}_end"]), metrics, per_second)
    return found


def _requests(found: Mapping[str, types.Histogram]) -> float:
    """Requests behind the histograms; ITL counts tokens."""
    return max((histograms.total(histogram) for metric, histogram in found.items() if metric != "itl"), default=0.0)
