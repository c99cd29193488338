"""From the API server's JSON to what a pass sees. Pure."""

import dataclasses
import datetime
import json
import logging
from collections.abc import Iterable
from typing import Any

import pydantic

from ..api import sentences
from ..api import spec as specs
from ..api import status as statuses
from ..core import errors, names, observed
from ..core import revisions as stored
from ..core.load import document as load
from ..core.objects import engine as engine_objects
from ..core.objects import load as load_objects
from ..core.objects import routes as route_objects
from ..core.routing import document as routing

Object = dict[str, Any]

_LISTED_ERRORS = 5
_log = logging.getLogger(__name__)


class Unreadable(errors.FairlaneError):
    """A stored object cannot be understood; going on without it could harm what runs."""


@dataclasses.dataclass(frozen=True)
class Service:
    """The LLMService itself."""

    name: str
    namespace: str
    uid: str
    generation: int
    spec: specs.LLMServiceSpec | None
    spec_error: str
    status: statuses.LLMServiceStatus
    command: observed.Command | None
    command_error: str


def instant(text: str | None) -> datetime.datetime | None:
    """Return an RFC 3339 time of the API server."""
    return datetime.datetime.fromisoformat(text) if text else None


def service(thing: Object) -> Service:
    """Return the LLMService; Unreadable where its status is none."""
    metadata = thing["metadata"]
    spec, spec_error = _spec(thing.get("spec"))
    command, command_error = _command(metadata.get("annotations", {}).get(names.COMMAND_ANNOTATION, ""))
    return Service(
        name=metadata["name"],
        namespace=metadata["namespace"],
        uid=metadata["uid"],
        generation=metadata.get("generation", 0),
        spec=spec,
        spec_error=spec_error,
        status=_status(thing.get("status") or {}, metadata["name"]),
        command=command,
        command_error=command_error,
    )


def _spec(value: object) -> tuple[specs.LLMServiceSpec | None, str]:
    """Return the spec, or why it is none."""
    try:
        return specs.LLMServiceSpec.model_validate(value), ""
    except pydantic.ValidationError as error:
        listed = error.errors(include_url=False)
        texts = [sentences.problem("spec", problem) for problem in listed[:_LISTED_ERRORS]]
        more = [f"and {len(listed) - _LISTED_ERRORS} more"] if len(listed) > _LISTED_ERRORS else []
        return None, "; ".join(texts + more)


def _status(value: object, name: str) -> statuses.LLMServiceStatus:
    """Return the status as last written."""
    try:
        return statuses.LLMServiceStatus.model_validate(value)
    except pydantic.ValidationError as error:
        problem = sentences.problem("status", error.errors(include_url=False)[0])
        raise Unreadable(f"{name}: {problem}; it was not written by this version of Fairlane: upgrade it, or clear the status") from error


def _command(text: str) -> tuple[observed.Command | None, str]:
    """Return the command of the annotation, or why it is none."""
    if not text:
        return None, ""
    try:
        value = json.loads(text)
        fields = {name: value[name] for name in ("command", "lane", "revision", "id")}
    except (ValueError, TypeError, KeyError) as error:
        return None, f"annotation {names.COMMAND_ANNOTATION} is ignored: {text[:200]!r} is no command ({error}); use the fairlane CLI"
    if not all(isinstance(part, str) for part in fields.values()):
        return None, f"annotation {names.COMMAND_ANNOTATION} is ignored: {text[:200]!r} has a field that is no string; use the fairlane CLI"
    return observed.Command(**fields), ""


def belongs(thing: Object, uid: str) -> bool:
    """Whether the object is owned by the service with this uid, not by an earlier one of the same name."""
    return any(owner.get("uid") == uid for owner in thing["metadata"].get("ownerReferences", []))


def deployments(things: Iterable[Object]) -> tuple[observed.EngineDeployment, ...]:
    """Return the engine Deployments among the service's."""
    engines = (thing for thing in things if label(thing, names.COMPONENT_LABEL) == "engine")
    return tuple(
        observed.EngineDeployment(
            lane=label(thing, names.LANE_LABEL),
            revision=label(thing, names.REVISION_LABEL),
            replicas=thing["spec"].get("replicas", 1),
            ready=thing.get("status", {}).get("readyReplicas", 0),
            terminating=terminating(thing),
        )
        for thing in engines
    )


def revisions(things: Iterable[Object]) -> tuple[stored.Revision, ...]:
    """Return the stored revisions."""
    return tuple(engine_objects.parse_controller_revision(thing) for thing in things)


def children(things: Iterable[Object]) -> tuple[observed.Child, ...]:
    """Return the service's own objects, as needed to decide on their deletion."""
    return tuple(observed.Child(thing["apiVersion"], thing["kind"], thing["metadata"]["name"], terminating(thing)) for thing in things)


def routes(things: Iterable[Object], name: str) -> routing.RouteDocument | None:
    """Return the stored route document; None where there is none, or none that can be read: it is then written anew."""
    stored_routes = next((thing for thing in things if thing["metadata"]["name"] == name), None)
    try:
        return route_objects.parse(stored_routes) if stored_routes else None
    except errors.FairlaneError as error:
        _log.warning("%s", error)
        return None


def loads(things: Iterable[Object]) -> dict[str, load.Load]:
    """Return by lane what the senders of synthetic load were told; what cannot be read is written anew."""
    found = {}
    for thing in things:
        if label(thing, names.COMPONENT_LABEL) == load_objects.COMPONENT:
            try:
                found[label(thing, names.LANE_LABEL)] = load_objects.parse(thing)
            except errors.FairlaneError as error:
                _log.warning("%s", error)
    return found


def label(thing: Object, name: str) -> str:
    """Return a label's value, empty without it."""
    return str(thing["metadata"].get("labels", {}).get(name, ""))


def terminating(thing: Object) -> bool:
    """Whether the object is being deleted."""
    return "deletionTimestamp" in thing["metadata"]
