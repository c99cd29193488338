"""What do the canary's pods say? Failures are read from their states, wherever they load; waiting for a node is no failure."""

import dataclasses

from ...api import base
from ...api import status as statuses
from .. import clock, observed
from . import reasons, view

IMAGE_GRACE = 60.0      # seconds: a registry's hiccup is no bad image
NO_POD_GRACE = 60.0     # seconds: the Deployment controller needs a moment
_PULLING = frozenset({"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable"})
_BAD_IMAGE = frozenset({"InvalidImageName", "ErrImageNeverPull", "ImageInspectError"})
_BAD_CONFIG = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})
_FLAG_TEXTS = ("unrecognized arguments", "invalid choice:", "unexpected keyword argument", "expected one argument")
_MEMORY_TEXTS = (
    "out of memory", "outofmemoryerror", "no available memory for the cache blocks", "larger than the maximum number of tokens that can be stored in kv cache",
    "larger than the available kv cache memory", "cannot allocate memory",
)


@dataclasses.dataclass(frozen=True)
class Trouble:
    """What is wrong with a canary: a reason of `reasons` and the words for people."""

    reason: str
    message: str


def failure(lane: view.View, revision: str) -> Trouble | None:
    """Return why the revision's pods cannot serve, if one of them ended by itself, or its image or configuration is bad."""
    for pod in lane.of(revision):
        found = _crash(pod) or _image(pod, lane) or _configuration(pod)
        if found is not None:
            return found
    return None


def overdue(lane: view.View, status: statuses.LaneStatus) -> Trouble | None:
    """Return the deadline that a loading canary has missed. It starts when a pod is scheduled, and no crash starts it again."""
    if status.loading_since is None or clock.since(status.loading_since, lane.now) < base.seconds(lane.rollout.load_deadline):
        return None
    return Trouble(reasons.LOAD_DEADLINE, f"not ready within {lane.rollout.load_deadline} of being scheduled (rollout.loadDeadline)")


def blocked(lane: view.View, revision: str = "") -> Trouble | None:
    """Return why a pod of the revision, by default the canary, cannot even start to load: no node takes it, or nothing created it."""
    name = revision or lane.status.canary
    pods = lane.of(name)
    for pod in pods:
        if pod.scheduled_at is None and pod.unschedulable:
            return Trouble(reasons.UNSCHEDULABLE, f"pod {pod.name}: {pod.unschedulable}")
    waited = lane.status.phase is statuses.Phase.WAITING or clock.since(lane.status.phase_since, lane.now) >= NO_POD_GRACE
    if not pods and lane.replicas(name) and waited:
        return Trouble(reasons.NO_POD, "no pod was created: see the events of the Deployment and its ReplicaSet (a quota, an admission webhook)")
    return None


def scheduled(lane: view.View) -> str | None:
    """Return when the first of the canary's pods that are not ready yet was scheduled."""
    moments = [pod.scheduled_at for pod in lane.of(lane.status.canary) if pod.scheduled_at is not None and not pod.ready]
    return clock.text(min(moments)) if moments else None


def last_line(text: str, limit: int = 300) -> str:
    """Return an engine's last words: the last line that names an error, else the last one that says anything. pydantic ends with a link instead."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and "For further information visit" not in line]
    named = [line for line in lines if "error" in line.lower()]
    return view.clipped((named or lines)[-1], limit) if lines else ""


def _crash(pod: observed.Pod) -> Trouble | None:
    container = pod.container
    ended = container.exit_code is not None or bool(container.terminated_reason)
    if not (ended or container.restarts or container.waiting_reason == "CrashLoopBackOff"):
        return None
    words = last_line(container.terminated_message) or last_line(container.waiting_message)
    code = f"exit code {container.exit_code}" if container.exit_code is not None else "unknown exit code"
    how = f"{container.terminated_reason or 'Error'}, {code}, {container.restarts} restarts"
    return Trouble(_crash_reason(container), f"pod {pod.name} ended by itself ({how})" + (f": {words}" if words else ""))


def _crash_reason(container: observed.Container) -> str:
    text = container.terminated_message.lower()
    if container.terminated_reason == "OOMKilled" or any(words in text for words in _MEMORY_TEXTS):
        return reasons.OUT_OF_MEMORY
    if any(words in text for words in _FLAG_TEXTS):
        return reasons.UNKNOWN_FLAG
    return reasons.CRASHED


def _image(pod: observed.Pod, lane: view.View) -> Trouble | None:
    container = pod.container
    waited = (lane.now - (pod.scheduled_at or pod.created)).total_seconds()
    if container.waiting_reason in _BAD_IMAGE or (container.waiting_reason in _PULLING and waited >= IMAGE_GRACE):
        return Trouble(reasons.IMAGE, f"pod {pod.name}: {container.waiting_reason}: {last_line(container.waiting_message)}")
    return None


def _configuration(pod: observed.Pod) -> Trouble | None:
    container = pod.container
    if container.waiting_reason in _BAD_CONFIG:
        return Trouble(reasons.CONTAINER_CONFIG, f"pod {pod.name}: {container.waiting_reason}: {last_line(container.waiting_message)}")
    return None
