"""From the API server's pods and Leases to what a pass sees. Pure."""

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

import pydantic

from ..core import names, observed
from ..core.objects import modelreader
from ..core.routing import document as routing
from . import convert

Object = dict[str, Any]

_HEALTHY_WAITS = frozenset({"", "PodInitializing", "ContainerCreating"})
_EPOCH = datetime.datetime.fromtimestamp(0, datetime.UTC)


def engines(things: Iterable[Object]) -> tuple[observed.Pod, ...]:
    """Return the engine pods."""
    return tuple(engine(thing) for thing in things if convert.label(thing, names.COMPONENT_LABEL) == "engine")


def engine(thing: Object) -> observed.Pod:
    """Return one engine pod."""
    status = thing.get("status", {})
    conditions = {condition["type"]: condition for condition in status.get("conditions", [])}
    scheduled = conditions.get("PodScheduled", {})
    return observed.Pod(
        name=thing["metadata"]["name"],
        lane=convert.label(thing, names.LANE_LABEL),
        revision=convert.label(thing, names.REVISION_LABEL),
        created=convert.instant(thing["metadata"].get("creationTimestamp")) or _EPOCH,
        phase=status.get("phase", "Pending"),
        ready=conditions.get("Ready", {}).get("status") == "True",
        terminating=convert.terminating(thing),
        scheduled_at=convert.instant(scheduled.get("lastTransitionTime")) if scheduled.get("status") == "True" else None,
        unschedulable=_unschedulable(scheduled),
        container=_container(status, names.ENGINE_CONTAINER),
    )


def model_readers(things: Iterable[Object]) -> tuple[observed.ModelReader, ...]:
    """Return the pods that read a claim's model."""
    return tuple(_model_reader(thing) for thing in things if convert.label(thing, names.COMPONENT_LABEL) == modelreader.COMPONENT)


def _model_reader(thing: Object) -> observed.ModelReader:
    """Return one of them."""
    status = thing.get("status", {})
    conditions = {condition["type"]: condition for condition in status.get("conditions", [])}
    return observed.ModelReader(
        name=thing["metadata"]["name"],
        created=convert.instant(thing["metadata"].get("creationTimestamp")) or _EPOCH,
        phase=status.get("phase", "Pending"),
        terminating=convert.terminating(thing),
        unschedulable=_unschedulable(conditions.get("PodScheduled", {})),
        reason=status.get("reason", ""),
        message=status.get("message", ""),
        container=_container(status, modelreader.COMPONENT),
    )


def _unschedulable(scheduled: Mapping[str, Any]) -> str:
    """Return why no node takes the pod, by its condition PodScheduled."""
    return str(scheduled.get("message", "")) if scheduled.get("status") == "False" else ""


def _container(status: Mapping[str, Any], name: str) -> observed.Container:
    """Return the state of the named container, or of the init container that keeps it from starting."""
    for initial in status.get("initContainerStatuses", []):
        seen = _state(initial)
        if seen.waiting_reason not in _HEALTHY_WAITS or (seen.exit_code or 0) != 0:
            return seen
    main = [container for container in status.get("containerStatuses", []) if container["name"] == name]
    return _state(main[0]) if main else observed.Container()


def _state(container: Mapping[str, Any]) -> observed.Container:
    """Return one container's state; its last termination where it does not lie terminated now."""
    waiting = container.get("state", {}).get("waiting", {})
    terminated = container.get("state", {}).get("terminated") or container.get("lastState", {}).get("terminated") or {}
    return observed.Container(
        ready=container.get("ready", False),
        restarts=container.get("restartCount", 0),
        waiting_reason=waiting.get("reason", ""),
        waiting_message=waiting.get("message", ""),
        terminated_reason=terminated.get("reason", ""),
        terminated_message=terminated.get("message", ""),
        exit_code=terminated.get("exitCode"),
    )


def routers(pods: Iterable[Object], leases: Iterable[Object]) -> tuple[observed.RouterPod, ...]:
    """Return the router pods, each with what its agent wrote into its Lease."""
    states = _states(leases)
    return tuple(_router(pod, states) for pod in pods if convert.label(pod, names.COMPONENT_LABEL) == "router")


def _router(pod: Object, states: Mapping[str, routing.RouterState]) -> observed.RouterPod:
    """Return one router pod."""
    conditions = {condition["type"]: condition.get("status") for condition in pod.get("status", {}).get("conditions", [])}
    return observed.RouterPod(
        name=pod["metadata"]["name"],
        ready=conditions.get("Ready") == "True",
        terminating=convert.terminating(pod),
        state=states.get(pod["metadata"]["uid"]),
        created=convert.instant(pod["metadata"].get("creationTimestamp")),
    )


def _states(leases: Iterable[Object]) -> dict[str, routing.RouterState]:
    """Return the agents' words by the uid of the pod that owns the Lease; one that cannot be read acknowledges nothing."""
    states = {}
    for lease in leases:
        text = lease["metadata"].get("annotations", {}).get(names.ROUTER_STATE_ANNOTATION, "")
        owners = [owner["uid"] for owner in lease["metadata"].get("ownerReferences", []) if owner.get("kind") == "Pod"]
        state = _parsed(text)
        if state and owners:
            states[owners[0]] = state
    return states


def _parsed(text: str) -> routing.RouterState | None:
    """Return an agent's words; None where they are none."""
    try:
        return routing.RouterState.model_validate_json(text) if text else None
    except pydantic.ValidationError:
        return None


def renewed(leases: Iterable[Object], name: str) -> datetime.datetime | None:
    """Return when the named Lease was renewed last."""
    return next((convert.instant(lease.get("spec", {}).get("renewTime")) for lease in leases if lease["metadata"]["name"] == name), None)
