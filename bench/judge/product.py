"""The product's own judge on one row of a stream, tick by tick, its memory carried as the text that the status keeps."""

import datetime
import math
from collections.abc import Iterator, Sequence

from fairlane.api import spec as specs
from fairlane.api import status
from fairlane.core.judge import judge, types

from . import latencies, traffic

_START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
STABLE, CANARY = "chat-1-stable", "chat-2-canary"


def outcomes(setting: traffic.Setting, ticks: Sequence[traffic.Counted], row: int, rollout: specs.Rollout) -> Iterator[status.Outcome]:
    """What the judge says after each tick of a step that is as long as the stream."""
    state = judge(_evidence(setting, 0, None, row), _trial(setting, len(ticks), 0, rollout, "")).state
    for number, counted in enumerate(ticks, start=1):
        verdict = judge(_evidence(setting, number, counted, row), _trial(setting, len(ticks), number, rollout, state))
        state = verdict.state
        yield verdict.outcome


def _trial(setting: traffic.Setting, length: int, number: int, rollout: specs.Rollout, state: str) -> types.Trial:
    return types.Trial(
        objectives=specs.Objectives(), analysis=rollout.analysis, steps=len(rollout.steps), weight=round(100 * setting.weight),
        duration=length * traffic.TICK, elapsed=number * traffic.TICK, state=state,
    )


def _evidence(setting: traffic.Setting, number: int, counted: traffic.Counted | None, row: int) -> types.Evidence:
    """What a tick counted; the first one is the baseline and counts nothing."""
    until = _START + datetime.timedelta(seconds=number * traffic.TICK)
    since = max(until - datetime.timedelta(seconds=traffic.TICK), _START)
    stable, canary = types.TrackSamples(STABLE, replicas=setting.replicas[0]), types.TrackSamples(CANARY, replicas=setting.replicas[1])
    if counted is not None:
        pods = tuple(
            _pod(f"{STABLE}-{pod}", int(counted.stable[row, pod]), counted.stable_over[row, pod].tolist()) for pod in range(setting.pods)
        )
        failed = counted.stable_over[row, :, -1].sum()
        stable = types.TrackSamples(STABLE, float(counted.stable[row].sum()), float(failed), pods=pods, replicas=setting.replicas[0])
        over = counted.canary_over[row].tolist()
        one = _pod(f"{CANARY}-0", int(counted.canary[row]), over)
        running = types.Context(running=float(counted.running[row]))
        canary = types.TrackSamples(CANARY, float(counted.canary[row]), float(over[-1]), pods=(one,), replicas=setting.replicas[1], context=running)
    reference = {metric: shape.reference() for metric, shape in latencies.SHAPES.items()}
    return types.Evidence(since, until, stable, canary, types.Cursor(until), reference={} if counted else reference)


def _pod(name: str, requests: int, over: list[int]) -> types.PodSamples:
    """Histograms with the tail edges alone."""
    found = {}
    for index, metric in enumerate(latencies.METRICS):
        first = index * latencies.EDGES_PER_METRIC
        within = [float(requests - count) for count in over[first:first + latencies.EDGES_PER_METRIC]]
        found[metric] = types.Histogram((*latencies.SHAPES[metric].tail, math.inf), (*within, float(requests)))
    return types.PodSamples(name, found)
