"""Which objects follow from where the lanes stand, and which may go?"""

from typing import Any

from ...api import status as statuses
from .. import names, observed, planned, service
from ..objects import engine
from ..routing import document
from . import agents, capacity, lanes, revisions, rollback

OWNED = frozenset(
    {
        "Deployment", "Service", "ServiceAccount", "Role", "RoleBinding", "ConfigMap", "PodDisruptionBudget", "NetworkPolicy", "ControllerRevision",
        "PodMonitor", "PrometheusRule",
    }
)
_SERVING = frozenset({"Deployment", "Service"})
_Key = tuple[str, str]


def engines(ref: service.ServiceRef, moved: list[lanes.Moved]) -> list[dict[str, Any]]:
    """Return the objects of every lane's engines: stored revisions first, then what runs them."""
    found: list[dict[str, Any]] = []
    for item in moved:
        found += _lane(ref, item)
        found.append(engine.pod_disruption_budget(ref, item.view.spec.name))
    return found


def _lane(ref: service.ServiceRef, item: lanes.Moved) -> list[dict[str, Any]]:
    wanted = capacity.wanted(item.view, item.status)
    found: list[dict[str, Any]] = []
    for name, replicas in ((item.status.stable, wanted.stable), (item.status.canary, wanted.canary), (item.status.baseline, wanted.baseline)):
        revision = revisions.resolve(item.view, name, item.move.created)
        if revision is None or replicas is None:
            continue
        found += [engine.controller_revision(ref, revision), engine.headless_service(ref, revision), engine.deployment(ref, revision, replicas)]
    return found


def garbage(seen: observed.Observed, desired: list[dict[str, Any]], routes: document.RouteDocument, moved: list[lanes.Moved]) -> tuple[planned.Delete, ...]:
    """Return what is neither desired nor needed: engines only when every router has let go of them."""
    keep = {_key(item["kind"], item["metadata"]["name"]) for item in desired}
    engine_names, readers = _engine_names(seen), {_key("Pod", item.name) for item in seen.model_readers}
    going = []
    for child in seen.children:
        ours = child.kind in OWNED or _key(child.kind, child.name) in readers
        if child.terminating or not ours or _key(child.kind, child.name) in keep:
            continue
        owner = engine_names.get(child.name)
        if owner is None or (_stored_may_go(seen, owner, moved) if child.kind == "ControllerRevision" else may_go(seen, owner, routes, moved)):
            going.append(planned.Delete(child.api_version, child.kind, child.name))
    return tuple(going)


def released(seen: observed.Observed, routes: document.RouteDocument, moved: list[lanes.Moved]) -> tuple[planned.Delete, ...]:
    """Return the engines that may go while a spec that cannot be followed keeps everything else: canaries that were rolled back."""
    engine_names = _engine_names(seen)
    return tuple(
        planned.Delete(child.api_version, child.kind, child.name)
        for child in seen.children
        if child.kind in _SERVING and not child.terminating and child.name in engine_names and may_go(seen, engine_names[child.name], routes, moved)
    )


def may_go(seen: observed.Observed, owner: _Key, routes: document.RouteDocument, moved: list[lanes.Moved]) -> bool:
    """Whether a revision serves nobody: no role, in no routes that any router holds."""
    lane, revision = owner
    item = next((item for item in moved if item.view.spec.name == lane), None)
    if item is not None and revision == item.status.canary:
        return item.view.status.phase is statuses.Phase.ROLLING_BACK and item.view.status.canary == revision and rollback.released(item.view)
    if item is not None and revision in (item.status.stable, item.status.baseline):
        return False
    desired = any(track.revision == revision for route in routes.lanes if route.name == lane for track in route.tracks)
    return not desired and agents.Agents(seen.routes, seen.router_pods).left(lane, revision)


def _stored_may_go(seen: observed.Observed, owner: _Key, moved: list[lanes.Moved]) -> bool:
    """Whether nothing names a stored revision any more: no role, no Deployment, no record of the history."""
    lane, revision = owner
    item = next((item for item in moved if item.view.spec.name == lane), None)
    live = any(deployment.lane == lane and deployment.revision == revision for deployment in seen.deployments)
    if item is None or live:
        return not live
    before, after = item.view.status, item.status
    return revision not in {name for status in (before, after) for name in (status.stable, status.canary, status.baseline)} | item.view.used


def _engine_names(seen: observed.Observed) -> dict[str, _Key]:
    owners = [(item.lane, item.revision) for item in seen.deployments] + [(item.lane, item.id) for item in seen.revisions]
    return {names.engine(seen.name, lane, revision): (lane, revision) for lane, revision in owners}


def _key(kind: str, name: str) -> _Key:
    return kind, name
