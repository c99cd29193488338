"""Small seeded streams of traffic, tick by tick, for the judge's tests. `Random.random` alone is used: it is the same in every Python."""

import dataclasses
import datetime
import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping

from fairlane.api import spec as specs
from fairlane.core.judge import judge, types

START = datetime.datetime(2026, 1, 1, 12, 0, tzinfo=datetime.UTC)
TICK = 10       # seconds
EDGES = {"ttft": (0.5, 0.75, 1.0, 2.5, 5.0, 7.5), "e2e": (8.0, 10.0, 15.0, 20.0, 30.0, 40.0)}
OVER = {"ttft": (0.09, 0.03, 0.012, 0.009, 0.003, 0.001), "e2e": (0.08, 0.03, 0.012, 0.006, 0.003, 0.001)}
DULL = 100_000  # requests in the reference


@dataclasses.dataclass(frozen=True)
class Stream:
    """What the two sides do: requests per second, the canary's share of them, and by how much the canary's requests are slow or fail more often."""

    seed: int
    rate: float = 20.0
    share: float = 0.1
    pods: int = 1
    slow: float = 1.0           # times the stable's share of slow requests, at every edge
    errors: float = 0.001       # share of the canary's requests that fail
    stable_errors: float = 0.001
    stable_slow: float = 1.0
    burst: int = 1              # slow and failed requests come that many at a time
    onset: int = 0              # tick from which the canary is bad

    def ticks(self, number: int) -> Iterator[tuple[list[dict[str, int]], dict[str, int]]]:
        """Yield each tick's counts of every stable pod, and of the canary: n, errors, and exceedances by metric and edge."""
        draw = random.Random(self.seed).random
        for tick in range(1, number + 1):
            bad = tick > self.onset
            stable = [self._counts(draw, (1 - self.share) / self.pods, self.stable_slow, self.stable_errors) for _ in range(self.pods)]
            slow, errors = (self.slow, self.errors) if bad else (self.stable_slow, self.stable_errors)
            yield stable, self._counts(draw, self.share, slow, errors)

    def _counts(self, draw: Callable[[], float], share: float, slow: float, errors: float) -> dict[str, int]:
        number = self.rate * TICK * share * (0.7 + 0.6 * draw())
        counts = {"n": int(number) + (draw() < number % 1), "errors": 0, **{key(metric, edge): 0 for metric in EDGES for edge in EDGES[metric]}}
        left = {"errors": 0.0, "ttft": 0.0, "e2e": 0.0}      # what the rest of a burst repeats
        again = dict.fromkeys(left, 0)
        for _ in range(counts["n"]):
            for name in left:
                again[name] -= 1
                if again[name] < 0 or self.burst == 1:
                    left[name], again[name] = draw(), self.burst - 1
            counts["errors"] += left["errors"] < errors
            for metric, edges in EDGES.items():
                for edge, over in zip(edges, OVER[metric], strict=True):
                    counts[key(metric, edge)] += left[metric] < min(over * slow, 1.0)
        return counts


def key(metric: str, edge: float) -> str:
    """The name of an edge's count."""
    return f"{metric}/{edge:g}"


def histogram(metric: str, counts: Mapping[str, int]) -> types.Histogram:
    """A metric's cumulative buckets."""
    return types.Histogram((*EDGES[metric], math.inf), (*(float(counts["n"] - counts[key(metric, edge)]) for edge in EDGES[metric]), float(counts["n"])))


def reference() -> dict[str, types.Histogram]:
    """The hour before: each metric's tail edges are all of its edges."""
    over = {key(metric, edge): round(DULL * share) for metric in EDGES for edge, share in zip(EDGES[metric], OVER[metric], strict=True)}
    return {metric: histogram(metric, {"n": DULL, **over}) for metric in EDGES}


def side(revision: str, pods: list[dict[str, int]], replicas: int, running: float | None = 1.0) -> types.TrackSamples:
    """One side's tick."""
    samples = tuple(
        types.PodSamples(f"{revision}-pod{index}", {metric: histogram(metric, counts) for metric in EDGES}) for index, counts in enumerate(pods)
    )
    requests, errors = (float(sum(counts[name] for counts in pods)) for name in ("n", "errors"))
    return types.TrackSamples(revision, requests, errors, pods=samples, replicas=replicas, context=types.Context(running=running))


def evidence(tick: int, stable: types.TrackSamples, canary: types.TrackSamples, **more: object) -> types.Evidence:
    """The tick's evidence; the first one, 0, is the baseline."""
    since, until = (START + datetime.timedelta(seconds=TICK * at) for at in (max(tick - 1, 0), tick))
    return dataclasses.replace(types.Evidence(since, until, stable, canary, types.Cursor(until)), **more)  # type: ignore[arg-type]


def baseline(**more: object) -> types.Evidence:
    """The first tick."""
    nothing = {"n": 0, "errors": 0, **{key(metric, edge): 0 for metric in EDGES for edge in EDGES[metric]}}
    return evidence(0, side("old-1", [nothing], 9), side("new-1", [nothing], 1), **({"reference": reference()} | more))


def evidences(stream: Stream, number: int) -> Iterator[types.Evidence]:
    """A baseline, then `number` ticks."""
    yield baseline()
    for tick, (stable, canary) in zip(itertools.count(1), stream.ticks(number), strict=False):
        yield evidence(tick, side("old-1", stable, 9), side("new-1", [canary], 1))


def trial(**more: object) -> types.Trial:
    """One step of half an hour at 10 %, with the default budget; `more` replaces its fields."""
    made = types.Trial(specs.Objectives(), specs.Analysis(), steps=1, weight=10, duration=1800.0, elapsed=0.0)
    return dataclasses.replace(made, **more)  # type: ignore[arg-type]


def verdicts(given: Iterator[types.Evidence], asked: types.Trial) -> Iterator[types.Verdict]:
    """The verdict at every tick, each with the state of the one before."""
    for item in given:
        elapsed = max((item.until - START).total_seconds(), 0.0)
        said = judge(item, dataclasses.replace(asked, elapsed=elapsed))
        asked = dataclasses.replace(asked, state=said.state)
        yield said
