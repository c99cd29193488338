"""More of what an engine said before it ended than the 2 KiB that its pod's status has: vLLM prints the cause first, and then 4 KiB of its consequence."""

import asyncio
import dataclasses
from collections.abc import Iterable
from typing import Any

from ..api import base
from ..core import clock, names, observed
from . import kube

Object = dict[str, Any]

LINES = 400      # the tracebacks of some workers, two of the engine process, one of the server
SECONDS = 3.0    # for all logs of a pass: a node that is away must delay no decision


async def heard(api: kube.Kube, things: Iterable[Object], value: observed.Observed) -> tuple[observed.Pod, ...]:
    """Return the engine pods, with the end of the log of those that failed to load. What cannot be read, for want of a right or of the node, is left out."""
    wanted = wanted_of(value)
    raw = {thing["metadata"]["name"]: thing for thing in things}
    logs = dict(zip(wanted, await asyncio.gather(*(_log(api, value.namespace, raw[name]) for name in wanted)), strict=True))
    return tuple(
        dataclasses.replace(pod, container=dataclasses.replace(pod.container, log=logs[pod.name])) if logs.get(pod.name) else pod for pod in value.pods
    )


def wanted_of(value: observed.Observed) -> list[str]:
    """Return the pods whose logs are read: of each revision the first that ended with vLLM's exit code for errors, or that is late to load."""
    late = {(lane.name, lane.canary) for lane in value.status.lanes if lane.loading_since and _is_over(value, lane.loading_since)}
    found: dict[tuple[str, str], str] = {}
    for pod in value.pods:
        revision = (pod.lane, pod.revision)
        if not (pod.ready or pod.terminating) and (pod.container.exit_code == 1 or revision in late):
            found.setdefault(revision, pod.name)
    return list(found.values())


def _is_over(value: observed.Observed, loading_since: str) -> bool:
    """Whether a canary that loads since then has missed its deadline; not known of a spec that cannot be read."""
    return value.spec is not None and clock.since(loading_since, value.now) >= base.seconds(value.spec.rollout.load_deadline)


async def _log(api: kube.Kube, namespace: str, thing: Object) -> str:
    """Return the end of the log; empty where it cannot be read."""
    try:
        async with asyncio.timeout(SECONDS):
            return await api.log(namespace, thing["metadata"]["name"], names.ENGINE_CONTAINER, previous=_restarted(thing), lines=LINES)
    except (kube.KubeError, TimeoutError):
        return ""


def _restarted(thing: Object) -> bool:
    """Whether the container that ended has a successor already: its log is the previous one's."""
    containers: list[Object] = thing.get("status", {}).get("containerStatuses", [])
    engine = next((one for one in containers if one["name"] == names.ENGINE_CONTAINER), Object())
    return engine.get("restartCount", 0) > 0 and "terminated" not in engine.get("state", {})
