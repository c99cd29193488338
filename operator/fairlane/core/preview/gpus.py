"""How many GPUs a lane's pods ask for, and when."""

from ...api import spec as specs
from ..rollout import baseline, capacity
from . import types


def steady(lane: specs.Lane, gpus: int) -> types.GpuNeed:
    """Return what the lane asks for while nothing is on trial; `gpus` is one pod's."""
    return types.GpuNeed("serving", lane.replicas * gpus, 0)


def rollout(spec: specs.LLMServiceSpec, lane: specs.Lane, gpus: int) -> tuple[types.GpuNeed, ...]:
    """Return what a canary of the lane asks for besides, phase by phase. The first step's pods load before it begins."""
    serving = lane.replicas * gpus
    needs = [steady(lane, gpus)]
    for number, step in enumerate(spec.rollout.steps, 1):
        pods = capacity.needed(step.weight, lane.replicas)
        compared = spec.rollout.baseline is specs.Baseline.FRESH and step.weight < baseline.TOO_MUCH
        more = pods * gpus * (2 if compared else 1)
        loading = "loading, then " if number == 1 else ""
        needs.append(types.GpuNeed(f"{loading}step {number}: {step.weight} % for {step.duration}", serving + more, more))
    # with no GPU left the stable gives up one replica at a time instead
    needs.append(types.GpuNeed("promoting, at most", 2 * serving, serving))
    return tuple(needs)
