"""A spec that cannot be followed: nothing that runs is touched, but a canary with traffic is still watched and taken back."""

from typing import Any

from ...api import spec as specs
from ...api import status as statuses
from .. import observed, revisions
from ..routing import document
from . import agents, analysis, baseline, children, commands, lanes, loading, record, rollback, routes, verdict, view

ALLOWED = "abort"


def moves(seen: observed.Observed, judge: view.Judge) -> list[lanes.Moved]:
    """Return the lanes that the status knows, each left as it is but for what must be rolled back."""
    routers = agents.Agents(seen.routes, seen.router_pods)
    rollout = seen.spec.rollout if seen.spec else specs.Rollout()
    command = commands.due(seen.command, seen.status.handled_commands)
    return [_moved(lanes.make(seen, rollout, _lane(seen, status), _rendered(seen, status), judge), command) for status in _known(seen, routers)]


def _known(seen: observed.Observed, routers: agents.Agents) -> list[statuses.LaneStatus]:
    names = [status.name for status in seen.status.lanes]
    names += [route.name for route in seen.routes.lanes if route.name not in names] if seen.routes else []
    return [lanes.known(seen, name, routers) for name in names]


def _lane(seen: observed.Observed, status: statuses.LaneStatus) -> specs.Lane:
    """The lane as the spec has it where that much of the spec can be read; else its name and the replicas it had."""
    found = next((lane for lane in seen.spec.lanes if lane.name == status.name), None) if seen.spec else None
    replicas = max(1, status.replicas)
    return found.model_copy(update={"replicas": replicas}) if found else specs.Lane(name=status.name, profile=specs.Profile.INTERACTIVE, replicas=replicas)


def _rendered(seen: observed.Observed, status: statuses.LaneStatus) -> revisions.Rendered:
    """What runs is what is wanted, for want of anything better."""
    wanted = status.canary or status.stable
    stored = next((item for item in seen.revisions if item.lane == status.name and item.id == wanted), None)
    if stored is None:
        return revisions.Rendered(lane=status.name, inputs={}, template={}, gpus=1, hash=view.hash_of(wanted))
    return revisions.Rendered(lane=stored.lane, inputs=stored.inputs, template=stored.template, gpus=stored.gpus, hash=stored.hash)


def _moved(lane: view.View, command: observed.Command | None) -> lanes.Moved:
    status = lane.status
    status = view.changed(status, ready_replicas=lane.ready(status.stable), canary_ready_replicas=lane.ready(status.canary))
    lane = view.with_status(lane, status)
    if command is not None and command.lane == status.name:
        if command.command == ALLOWED:
            return lanes.Moved(lane, commands.follow(lane, command))
        refusal = commands.ignored(command, "the spec cannot be followed; correct it first (only abort works until then)")
        return lanes.Moved(lane, view.Move(status, (refusal,)))
    return lanes.Moved(lane, _watched(lane))


def _watched(lane: view.View) -> view.Move:
    status = lane.status
    if not status.canary:
        return view.Move(status)
    if status.phase is statuses.Phase.ROLLING_BACK:
        return rollback.proceed(lane)
    if (found := loading.failure(lane, status.canary) or loading.overdue(lane, status)) is not None:
        return rollback.trouble(lane, status, found)
    if (lacking := baseline.trouble(lane)) is not None:
        return baseline.dropped(lane, lacking)
    said = verdict.of(lane)
    if said is None:
        return view.Move(status)
    if said.outcome is statuses.Outcome.FAIL:
        return analysis.failed(lane, said)
    return view.Move(record.told(lane, status, said, status.reason, status.message))


def document_of(seen: observed.Observed, moved: list[lanes.Moved]) -> document.RouteDocument | None:
    """Return the stored routes with nothing changed but the split of lanes that roll back."""
    if seen.routes is None:
        return None
    splits = {item.status.name: routes.tracks(item.view, item.status) for item in moved if _rolls_back(item)}
    kept = tuple(route.model_copy(update={"tracks": splits.get(route.name, route.tracks)}) for route in seen.routes.lanes)
    return seen.routes.model_copy(update={"lanes": kept})


def _rolls_back(item: lanes.Moved) -> bool:
    return statuses.Phase.ROLLING_BACK in (item.view.status.phase, item.status.phase)


def objects(seen: observed.Observed, moved: list[lanes.Moved]) -> list[dict[str, Any]]:
    """Return the engines of lanes that roll back: a stable that promoting had made smaller comes back."""
    return [
        thing for item in moved if _rolls_back(item) for thing in children.engines(seen.ref, [item]) if thing["kind"] == "Deployment"
    ]
