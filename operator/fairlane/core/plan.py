"""The pass: from everything seen to everything to do. One pure function."""

import dataclasses
from typing import Any

from ..api import base
from ..api import spec as specs
from ..api import status as statuses
from . import conditions, errors, observed, planned
from .engine import render as engine
from .judge import judge as judging
from .judge import types as evidence
from .objects import monitoring
from .objects import router as router_objects
from .objects import routes as routes_objects
from .rollout import agents, analysis, children, commands, freeze, history, lanes, reading, reasons, routes, summary, synthetic, view
from .routing import document

IDLE_SECONDS = 60.0      # nothing moves: events wake a pass, this is for those that were lost
MOVING_SECONDS = 5.0     # something is on its way: pods and agents wake a pass earlier
SOON_SECONDS = 1.0       # a phase has just changed, what follows from it is due


@dataclasses.dataclass(frozen=True)
class _Decided:
    """What either way through the pass has decided."""

    moved: list[lanes.Moved]
    routes: document.RouteDocument | None
    apply: list[dict[str, Any]]
    delete: tuple[planned.Delete, ...]
    attempt: tuple[dict[str, Any], ...] = ()
    events: tuple[planned.Event, ...] = ()
    records: tuple[statuses.RolloutRecord, ...] = ()
    refused: str = ""


def plan(seen: observed.Observed, judge: view.Judge = judging) -> planned.Plan:
    """Return what follows from what was seen. The same in gives the same out; a plan that was carried out in part leads to the same end."""
    decided = _decide(seen, judge)
    status = _status(seen, decided)
    events = tuple(event for item in decided.moved for event in item.move.events) + decided.events
    events += _stalled_event(seen, decided) + _lost_command(seen, decided)
    return planned.Plan(
        apply=tuple(decided.apply),
        delete=decided.delete,
        attempt=decided.attempt,
        status=status,
        events=events,
        renew_heartbeat=decided.routes is not None and decided.routes.has_canary_weight,
        wake_after=_wake_after(seen, decided, status),
    )


def _decide(seen: observed.Observed, judge: view.Judge) -> _Decided:
    if seen.spec is None:
        return _frozen(seen, judge, seen.spec_error or "the spec does not validate")
    try:
        return _followed(seen, seen.spec, judge)
    except errors.Refused as refused:
        return _frozen(seen, judge, str(refused))


def _followed(seen: observed.Observed, spec: specs.LLMServiceSpec, judge: view.Judge) -> _Decided:
    """The spec can be followed."""
    rendered = {lane.name: engine.render(seen.name, spec, lane) for lane in spec.lanes}
    around = _around(seen, spec)
    read = reading.follow(seen, spec, rendered)
    moved = lanes.advance(dataclasses.replace(seen, model=read.model), spec, rendered, judge, read.awaited)
    document_ = routes.assembled(seen, spec, tuple(routes.lane_route(item.view, item.status) for item in moved))
    senders = synthetic.objects(seen, spec, document_, moved)
    apply = [routes_objects.config_map(seen.ref, document_), *children.engines(seen.ref, moved), *senders, *around]
    events, records = _farewells(seen, spec)
    garbage = children.garbage(seen, [*apply, *read.stays], document_, moved)
    return _Decided(moved, document_, apply, garbage, (read.create,) if read.create else (), events, records)


def _around(seen: observed.Observed, spec: specs.LLMServiceSpec) -> list[dict[str, Any]]:
    return [*router_objects.objects(seen.ref, spec, seen.settings), *monitoring.build(seen.ref, spec, seen.settings.monitoring_crds)]


def _frozen(seen: observed.Observed, judge: view.Judge, refused: str) -> _Decided:
    """The spec cannot be followed: nothing that runs is touched."""
    moved = freeze.moves(seen, judge)
    document_ = freeze.document_of(seen, moved)
    apply = freeze.objects(seen, moved)
    if document_ is not None and document_ != seen.routes:
        apply = [routes_objects.config_map(seen.ref, document_), *apply]
    delete = (*children.released(seen, document_, moved), *synthetic.ended(seen, document_)) if document_ is not None else ()
    return _Decided(moved, document_, apply, delete, refused=refused)


def _farewells(seen: observed.Observed, spec: specs.LLMServiceSpec) -> tuple[tuple[planned.Event, ...], tuple[statuses.RolloutRecord, ...]]:
    told = [lanes.farewell(seen, lane) for lane in lanes.removed(seen, spec)]
    return tuple(event for event, _ in told), tuple(item for _, records in told for item in records)


def _lost_command(seen: observed.Observed, decided: _Decided) -> tuple[planned.Event, ...]:
    """A command for a lane that is not there."""
    command = commands.due(seen.command, seen.status.handled_commands)
    known = [item.status.name for item in decided.moved]
    if command is None or command.lane in known:
        return ()
    return (commands.ignored(command, f"the lanes are {', '.join(known)}"),)


def _stalled_event(seen: observed.Observed, decided: _Decided) -> tuple[planned.Event, ...]:
    before = next((item for item in seen.status.conditions if item.type == conditions.STALLED), None)
    told = before is not None and before.reason == reasons.SPEC_INVALID and before.message == decided.refused[: conditions.LIMIT]
    if not decided.refused or told:
        return ()
    return (view.warning(reasons.EVENT_STALLED, f"{decided.refused}; nothing that runs was touched"),)


def _status(seen: observed.Observed, decided: _Decided) -> statuses.LLMServiceStatus:
    records = [item.move.record for item in decided.moved if item.move.record is not None] + list(decided.records)
    moved = [synthetic.counted(seen, item.status) for item in decided.moved]
    facts = _facts(seen, decided)
    return statuses.LLMServiceStatus(
        observed_generation=seen.generation,
        conditions=conditions.build(seen.status.conditions, facts),
        lanes=moved,
        router=_router(seen, decided),
        history=history.remembered(seen.status.history, records),
        handled_commands=commands.remembered(seen.status.handled_commands, commands.due(seen.command, seen.status.handled_commands)),
        lanes_ready=f"{sum(lane.serves for lane in facts.lanes)}/{len(facts.lanes)}",
        rollout=summary.line(moved, seen.now),
    )


def _router(seen: observed.Observed, decided: _Decided) -> statuses.RouterStatus:
    version = decided.routes.version if decided.routes else ""
    acknowledged = sum(pod.state is not None and pod.state.version == version for pod in seen.router_pods)
    replicas = decided.routes.router_replicas if decided.routes else 0
    return statuses.RouterStatus(replicas=replicas, ready_replicas=seen.router_ready, route_version=version, acknowledged=acknowledged)


def _facts(seen: observed.Observed, decided: _Decided) -> conditions.Facts:
    routers = agents.Agents(seen.routes, seen.router_pods)
    return conditions.Facts(
        generation=seen.generation,
        now=seen.now,
        lanes=[_lane_facts(item, routers) for item in decided.moved],
        router=_router_facts(seen, decided),
        refused=decided.refused,
        moving=_moving(seen, decided, routers),
        metrics=_metrics(seen, decided),
    )


def _lane_facts(item: lanes.Moved, routers: agents.Agents) -> conditions.LaneFacts:
    stable = item.status.stable
    serves = item.view.ready(stable) > 0 and routers.reaches(item.status.name, stable)
    rejected = item.view.rendered.hash in item.status.rejected and item.view.rendered.hash != view.hash_of(stable)
    return conditions.LaneFacts(item.status, serves, rejected, item.view.rendered.hash, item.status.reason == reasons.DOES_NOT_FIT)


def _router_facts(seen: observed.Observed, decided: _Decided) -> conditions.RouterFacts:
    states = [(pod.name, pod.state) for pod in seen.router_pods if pod.state is not None and not pod.terminating]
    return conditions.RouterFacts(
        ready=seen.router_ready,
        wanted=decided.routes.router_replicas if decided.routes else 0,
        rejected=next((f"{name}: Envoy refused the routes: {state.envoy_rejected}" for name, state in states if state.envoy_rejected), ""),
        fail_safe=tuple(name for name, state in states if state.fail_safe),
    )


def _moving(seen: observed.Observed, decided: _Decided, routers: agents.Agents) -> list[str]:
    """What is on its way, in words that change only when it does."""
    found = [f"{item.status.name}: {item.status.phase}" for item in decided.moved if _rolls(item)]
    found += [words for item in decided.moved if (words := _starting(item))]
    if decided.routes != seen.routes or routers.behind:
        found.append("the routers take the routes")
    roles = {(item.status.name, name) for item in decided.moved for name in (item.status.stable, item.status.canary, item.status.baseline)}
    leaving = [item.revision for item in seen.deployments if (item.lane, item.revision) not in roles]
    return found + [f"{revision} drains" for revision in leaving]


def _rolls(item: lanes.Moved) -> bool:
    """Whether a rollout runs, or is due."""
    wanted, status = item.view.rendered.hash, item.status
    stays = wanted in status.rejected or status.reason == reasons.DOES_NOT_FIT
    due = bool(status.stable) and wanted != view.hash_of(status.stable) and not stays
    return due or status.phase is not statuses.Phase.IDLE


def _starting(item: lanes.Moved) -> str:
    ready, full = item.view.ready(item.status.stable), item.view.spec.replicas
    if ready >= full or item.status.phase is statuses.Phase.PROMOTING or _is_held(item.status):
        return ""
    return f"{item.status.name}: {ready} of {full} replicas of {item.status.stable} are ready"


def _is_held(status: statuses.LaneStatus) -> bool:
    """Whether the lane has no revision yet, and it does not start now."""
    return not status.stable and status.reason in (reasons.DOES_NOT_FIT, reasons.READING_MODEL)


def _metrics(seen: observed.Observed, decided: _Decided) -> tuple[str, str, str]:
    weighted = [item.status for item in decided.moved if item.status.weight and item.status.phase is not statuses.Phase.ROLLING_BACK]
    for lane in weighted:
        value = seen.evidence.get(lane.name)
        if isinstance(value, evidence.Unavailable) and not analysis.opening(lane, value.reason, seen.now):
            return conditions.FALSE, value.reason, f"{lane.name}: {value.message}"
        if lane.reason == reasons.METRICS_UNAVAILABLE:
            return conditions.FALSE, reasons.METRICS_UNAVAILABLE, f"{lane.name}: {lane.message}"
    if any(isinstance(seen.evidence.get(lane.name), evidence.Evidence) for lane in weighted):
        return conditions.TRUE, reasons.AVAILABLE, "the canary's window was read"
    before = next((item for item in seen.status.conditions if item.type == conditions.METRICS_AVAILABLE), None)
    if weighted and before is not None:
        return before.status, before.reason, before.message
    if seen.spec is not None and not (seen.spec.metrics.prometheus.url or seen.settings.prometheus_url):
        return conditions.FALSE, reasons.NOT_CONFIGURED, "no Prometheus is named in metrics.prometheus.url or in the operator's settings: a canary would hold"
    return conditions.UNKNOWN, reasons.NOT_NEEDED, "nothing is read while no canary has traffic"


def _wake_after(seen: observed.Observed, decided: _Decided, status: statuses.LLMServiceStatus) -> float:
    before = {lane.name: lane.phase for lane in seen.status.lanes}
    if decided.delete or any(before.get(lane.name) is not lane.phase for lane in status.lanes):
        return SOON_SECONDS
    if any(lane.phase in (statuses.Phase.WARMING, statuses.Phase.ANALYZING) for lane in status.lanes):
        interval = base.seconds(seen.spec.rollout.analysis.interval) if seen.spec else MOVING_SECONDS
        return max(SOON_SECONDS, interval)
    moving = any(lane.phase is not statuses.Phase.IDLE or lane.stable_down_since for lane in status.lanes)
    reconciling = any(item.type == conditions.RECONCILING and item.status == conditions.TRUE for item in status.conditions)
    return MOVING_SECONDS if moving or reconciling else IDLE_SECONDS
