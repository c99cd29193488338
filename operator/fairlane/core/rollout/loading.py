"""What do the canary's pods say? Failures are read from their states, wherever they load; waiting for a node is no failure."""

import dataclasses

from ...api import base
from ...api import status as statuses
from .. import clock, observed
from ..engine import enginelog, failures
from . import advice, reasons, view

IMAGE_GRACE = 60.0      # seconds: a registry's hiccup is no bad image
NO_POD_GRACE = 60.0     # seconds: the Deployment controller needs a moment
_WORDS = 300            # characters of what Kubernetes says
_PULLING = frozenset({"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable"})
_BAD_IMAGE = frozenset({"InvalidImageName", "ErrImageNeverPull", "ImageInspectError"})
_BAD_CONFIG = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})
_CHECK_IMAGE = "check spec.engine.image, and where its registry wants a password, imagePullSecrets in spec.engine.pod"
_CHECK_NAMES = "create the Secret, ConfigMap or key that its words name in this namespace, or correct the name (spec.model.tokenSecretRef, spec.engine.pod)"
_MORE_TIME = "raise spec.rollout.loadDeadline if loading needs longer, or make it faster: weights in a claim (spec.model.cache.claimName), a faster disk"


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
    late = f"not ready within {lane.rollout.load_deadline} of being scheduled (rollout.loadDeadline)"
    pod = next((pod for pod in lane.of(status.canary) if not pod.ready), None)
    said = enginelog.words(enginelog.telling(enginelog.read(pod.container.log)), _WORDS) if pod is not None else ""
    return Trouble(reasons.LOAD_DEADLINE, advice.joined(f"{late}; {_state(pod)}" if pod is not None else late, _MORE_TIME, said))


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


def _crash(pod: observed.Pod) -> Trouble | None:
    container = pod.container
    ended = container.exit_code is not None or bool(container.terminated_reason)
    if not (ended or container.restarts or container.waiting_reason == "CrashLoopBackOff"):
        return None
    code = f"exit code {container.exit_code}" if container.exit_code is not None else "unknown exit code"
    how = f"{container.terminated_reason or 'Error'}, {code}, {container.restarts} restarts"
    found = _classified(pod)
    return Trouble(found.reason, f"pod {pod.name} ended by itself ({how}): {advice.joined(found.sentence, found.remedy, found.line)}")


def _classified(pod: observed.Pod) -> failures.Failure:
    """What the pod died of: what its last words say, else what more of its log does. The last words are the nearer ones, but often only a consequence."""
    container = pod.container
    words = container.terminated_message if container.terminated_message.strip() else container.waiting_message
    found = _failure(pod, words)
    more = _failure(pod, container.log) if found.reason == reasons.CRASHED and container.log.strip() else found
    return more if more.reason != reasons.CRASHED else found


def _failure(pod: observed.Pod, text: str) -> failures.Failure:
    return failures.classify(text, reason=pod.container.terminated_reason, exit_code=pod.container.exit_code, lane=pod.lane)


def _image(pod: observed.Pod, lane: view.View) -> Trouble | None:
    container = pod.container
    waited = (lane.now - (pod.scheduled_at or pod.created)).total_seconds()
    if container.waiting_reason in _BAD_IMAGE or (container.waiting_reason in _PULLING and waited >= IMAGE_GRACE):
        return Trouble(reasons.IMAGE, advice.joined(_state(pod), _CHECK_IMAGE))
    return None


def _configuration(pod: observed.Pod) -> Trouble | None:
    return Trouble(reasons.CONTAINER_CONFIG, advice.joined(_state(pod), _CHECK_NAMES)) if pod.container.waiting_reason in _BAD_CONFIG else None


def _state(pod: observed.Pod) -> str:
    """What a pod that is not ready waits for: what Kubernetes says, else the engine, which answers its probe only when it has loaded."""
    if not pod.container.waiting_reason:
        return f"pod {pod.name} runs, and its engine has not answered on /health"
    said = enginelog.words(enginelog.telling(enginelog.read(pod.container.waiting_message)), _WORDS)
    return f"pod {pod.name}: {pod.container.waiting_reason}" + (f": {said}" if said else "")
