"""A model on a claim: when a pod is to read its files, what it says, and how long a start waits for it. What stays unknown keeps nothing from starting."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from ...api import spec as specs
from ...api import status as statuses
from .. import clock, observed, revisions
from ..engine import fitness, modelfiles, termination
from ..engine.memory.unknown import Unknown
from ..objects import modelreader
from . import agents, fitting, lanes, reasons, view

WAIT_SECONDS = 60.0        # the longest that a start waits: then the model is unknown
_REFUSED = "no pod was created: see the operator's log (a quota, an admission webhook, its rights)"
_KEPT_SECONDS = 3600.0     # what the files said, as what a hub said: then they are read again


@dataclasses.dataclass(frozen=True)
class Reading:
    """What is known of the service's model, and what becomes of the pod that reads it."""

    model: fitness.Model | None
    awaited: str = ""                         # what a start waits for; empty where it need not
    create: dict[str, Any] | None = None      # the pod, where it is to be made
    stays: tuple[dict[str, Any], ...] = ()    # the pod, where it is there and needed


def follow(seen: observed.Observed, spec: specs.LLMServiceSpec, rendered: Mapping[str, revisions.Rendered]) -> Reading:
    """Return what there is to read and what was read. A model that is on no claim is what the shell brought."""
    if spec.rollout.preflight is specs.Preflight.OFF or not modelfiles.is_on_claim(spec):
        return Reading(seen.model)
    engine = next(iter(rendered.values())).template["spec"]
    pod = modelreader.pod(seen.ref, spec, engine, seen.settings.agent_image)
    found = next((item for item in seen.model_readers if item.name == pod["metadata"]["name"]), None)
    starts = any(_starts(seen, name, lane.hash) for name, lane in rendered.items())
    if not starts and not any(fitting.is_open(lane) for lane in seen.status.lanes):
        return Reading(None)
    uri, awaited = spec.model.uri, _words(pod["metadata"]["name"], spec.model.uri)
    if found is not None and not found.terminating and not _is_old(found, seen):
        model = _said(found, uri, seen) or _given_up(seen, awaited, uri, _state(found))
        return Reading(model, "" if model else awaited, stays=(pod,))
    if not starts:
        return Reading(None)
    model = _given_up(seen, awaited, uri, _REFUSED)
    return Reading(model, "" if model else awaited, create=pod if found is None else None)


def _starts(seen: observed.Observed, lane: str, wanted: str) -> bool:
    """Whether a revision of the lane starts as soon as nothing is in its way."""
    status = lanes.known(seen, lane, agents.Agents(seen.routes, seen.router_pods))
    return wanted not in (view.hash_of(status.stable), view.hash_of(status.canary), *status.rejected)


def _is_old(found: observed.ModelReader, seen: observed.Observed) -> bool:
    return (seen.now - found.created).total_seconds() >= _KEPT_SECONDS


def _said(found: observed.ModelReader, uri: str, seen: observed.Observed) -> fitness.Model | None:
    """What the pod said or failed of; None while it may still say something."""
    container = found.container
    if container.exit_code is not None and container.terminated_message.strip():
        return termination.parse(container.terminated_message, uri)
    if container.exit_code is not None or found.phase in ("Failed", "Succeeded"):
        why = found.message or found.reason or container.terminated_reason or "it ended"
        return _unread(uri, f"pod {found.name} said nothing: {why} (exit code {container.exit_code})")
    if (seen.now - found.created).total_seconds() >= WAIT_SECONDS:
        return _unread(uri, _state(found))
    return None


def _state(found: observed.ModelReader) -> str:
    """What a pod that has not ended waits for."""
    container = found.container
    waits = f"{container.waiting_reason}: {container.waiting_message}".rstrip(": ")
    why = found.unschedulable or waits or "it has not ended"
    return f"pod {found.name}: {view.clipped(why, 300)}"


def _given_up(seen: observed.Observed, awaited: str, uri: str, why: str) -> Unknown | None:
    """Why nothing is known, once a lane has waited long enough for this pod, whatever became of it meanwhile."""
    waiting = (lane for lane in seen.status.lanes if (lane.phase, lane.reason, lane.message) == (statuses.Phase.WAITING, reasons.READING_MODEL, awaited))
    return _unread(uri, why) if any(clock.since(lane.phase_since, seen.now) >= WAIT_SECONDS for lane in waiting) else None


def _unread(uri: str, why: str) -> Unknown:
    return Unknown(f"{modelfiles.CONFIG} of {uri} was not read: {why}; or {modelfiles.REMEDY}")


def _words(name: str, uri: str) -> str:
    return f"pod {name} reads {modelfiles.CONFIG} of {uri} first, for at most {WAIT_SECONDS:.0f} s (rollout.preflight)"
