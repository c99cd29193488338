"""From what was seen to one view per lane, and one move for each."""

import dataclasses

from ...api import spec as specs
from ...api import status as statuses
from .. import observed, planned
from .. import revisions as storing
from . import agents, commands, fitting, phases, reasons, record
from . import view as views


@dataclasses.dataclass(frozen=True)
class Moved:
    """A lane before and after the pass."""

    view: views.View
    move: views.Move

    @property
    def status(self) -> statuses.LaneStatus:
        """The lane's status after the pass."""
        return self.move.status


def advance(seen: observed.Observed, spec: specs.LLMServiceSpec, rendered: dict[str, storing.Rendered], judge: views.Judge, reading: str = "") -> list[Moved]:
    """Move every lane one step, in the order of the spec: a lane does not start while an earlier one waits for a GPU, or the model's files are being read."""
    moved: list[Moved] = []
    command = commands.due(seen.command, seen.status.handled_commands)
    for lane in spec.lanes:
        waits_for = next((item.view.spec.name for item in moved if _wants_a_node(item)), "")
        plain, fit = make(seen, spec.rollout, lane, rendered[lane.name], judge), fitting.checked(seen, spec, lane)
        now = dataclasses.replace(plain, waits_for=waits_for, fit=fit, reading=reading)
        move = commands.follow(now, command) if command is not None and command.lane == lane.name else phases.advance(now)
        moved.append(Moved(now, dataclasses.replace(move, status=fitting.remembered(seen, spec, now, move.status))))
    return moved


def _wants_a_node(item: Moved) -> bool:
    """Whether the lane's canary, or its baseline, has no pod on a node yet: until it has, no later lane may take its GPU."""
    canary = item.status.canary
    if not canary or item.status.weight or item.status.phase not in (statuses.Phase.WAITING, statuses.Phase.LOADING):
        return False
    names = (canary, item.status.baseline) if item.status.baseline else (canary,)
    return not all(any(pod.scheduled_at is not None for pod in item.view.of(name)) for name in names)


def make(seen: observed.Observed, rollout: specs.Rollout, lane: specs.Lane, rendered: storing.Rendered, judge: views.Judge) -> views.View:
    """Return the view of one lane."""
    routers = agents.Agents(seen.routes, seen.router_pods)
    return views.View(
        spec=lane,
        rollout=rollout,
        now=seen.now,
        status=known(seen, lane.name, routers),
        rendered=rendered,
        revisions=tuple(item for item in seen.revisions if item.lane == lane.name),
        deployments=tuple(item for item in seen.deployments if item.lane == lane.name),
        pods=tuple(pod for pod in seen.pods if pod.lane == lane.name),
        agents=routers,
        evidence=seen.evidence.get(lane.name),
        judge=judge,
        history=tuple(seen.status.history),
        rate=seen.rates.get(lane.name),
    )


def known(seen: observed.Observed, lane: str, routers: agents.Agents) -> statuses.LaneStatus:
    """Return the lane's status; where it was lost, what the routes say of who serves: a trial is then begun anew."""
    found = next((item for item in seen.status.lanes if item.name == lane), None)
    if found is not None:
        return found
    route = routers.lane(lane)
    stable = next((track.revision for track in route.tracks if track.role == "stable"), "") if route else ""
    return statuses.LaneStatus(name=lane, stable=stable)


def removed(seen: observed.Observed, spec: specs.LLMServiceSpec) -> list[statuses.LaneStatus]:
    """The lanes that the status knows and the spec does not."""
    names = {lane.name for lane in spec.lanes}
    return [lane for lane in seen.status.lanes if lane.name not in names]


def farewell(seen: observed.Observed, lane: statuses.LaneStatus) -> tuple[planned.Event, list[statuses.RolloutRecord]]:
    """Return what is told and recorded of a lane that left the spec."""
    event = views.normal(reasons.EVENT_LANE_REMOVED, f"{lane.name} left the spec: its route goes first, its pods when every router has let go of it")
    if not lane.canary:
        return event, []
    return event, [record.removed(seen.now, lane)]
