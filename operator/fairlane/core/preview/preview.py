"""The preview of one service: what would be refused, what each lane would run, what would change, and what it costs."""

import dataclasses
import datetime

from ...api import spec as specs
from ...api import status as statuses
from .. import errors, observed, revisions
from ..engine import effective, fitness, versions
from ..engine import render as engine
from ..engine import warnings as odd
from ..engine.memory.answer import Answer, Preflight
from ..engine.memory.unknown import Unknown
from ..judge import judge as judging
from ..rollout import lanes as moving
from ..rollout import revisions as choosing
from ..rollout import view as views
from . import differences, gpus, objects, types

_NEVER = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)   # nothing here depends on the time


@dataclasses.dataclass(frozen=True)
class Running:
    """What runs: the spec and status of the service as the cluster has it."""

    spec: specs.LLMServiceSpec
    status: statuses.LLMServiceStatus


@dataclasses.dataclass(frozen=True)
class Known:
    """What the model's files say, and which GPUs the nodes have."""

    model: fitness.Model
    products: frozenset[str] = frozenset()


_NOTHING = Known(Unknown("the model's files were not read"))


def preview(name: str, namespace: str, spec: specs.LLMServiceSpec, running: Running | None = None, known: Known = _NOTHING) -> types.Preview:
    """Return what follows from the spec, compared with what runs; without that, everything is new."""
    try:
        versions.resolve(spec.engine)
    except errors.Refused as problem:
        return types.Preview(name, namespace, running is not None, refused=(str(problem),))
    rendered, refused = _rendered(name, spec)
    if refused:   # the operator follows a spec as a whole or not at all
        shown = [
            types.Lane(lane.name, refused[lane.name]) if lane.name in refused
            else dataclasses.replace(_described(spec, lane, rendered[lane.name], known), about="nothing is done while another lane is refused")
            for lane in spec.lanes
        ]
        return types.Preview(name, namespace, running is not None, lanes=tuple(shown))
    seen = observed.Observed(name, namespace, "", 0, _NEVER, spec, status=running.status if running else statuses.LLMServiceStatus())
    try:
        return _whole(seen, spec, rendered, running, known)
    except errors.Refused as problem:   # of the router
        return types.Preview(name, namespace, running is not None, refused=(str(problem),))


def _rendered(name: str, spec: specs.LLMServiceSpec) -> tuple[dict[str, revisions.Rendered], dict[str, str]]:
    """Each lane's engine, or why there is none, by lane."""
    rendered: dict[str, revisions.Rendered] = {}
    refused: dict[str, str] = {}
    for lane in spec.lanes:
        try:
            rendered[lane.name] = engine.render(name, spec, lane)
        except errors.Refused as problem:
            refused[lane.name] = str(problem)
    return rendered, refused


def _whole(
    seen: observed.Observed, spec: specs.LLMServiceSpec, rendered: dict[str, revisions.Rendered], running: Running | None, known: Known,
) -> types.Preview:
    lane_views = [moving.make(seen, spec.rollout, lane, rendered[lane.name], judging) for lane in spec.lanes]
    shown, changes = [], []
    for lane_view in lane_views:
        lane, found = _lane(spec, lane_view, running, _described(spec, lane_view.spec, lane_view.rendered, known), seen.name)
        shown.append(lane)
        changes += found
    for lane, found in _leaving(seen.name, spec, running):
        shown.append(lane)
        changes += found
    around = objects.around(_around(seen, running), objects.built(seen, spec, lane_views))
    at_once = differences.outside(running.spec, spec) if running else ()
    return types.Preview(seen.name, seen.namespace, running is not None, lanes=tuple(shown), at_once=at_once, objects=(*around, *changes))


def _around(seen: observed.Observed, running: Running | None) -> list[dict[str, object]]:
    """The objects that are no lane's as they are now; none where they cannot be, because the service is stalled."""
    if running is None:
        return []
    before = dataclasses.replace(seen, spec=running.spec)
    try:
        rendered = [engine.render(seen.name, running.spec, lane) for lane in running.spec.lanes]
    except errors.Refused:
        return []
    lane_views = [moving.make(before, running.spec.rollout, lane, made, judging) for lane, made in zip(running.spec.lanes, rendered, strict=True)]
    return objects.built(before, running.spec, lane_views)


def _lane(
    spec: specs.LLMServiceSpec, lane: views.View, running: Running | None, described: types.Lane, name: str,
) -> tuple[types.Lane, list[types.ObjectChange]]:
    """One lane of a spec that can be followed, and its objects that change."""
    own, status = lane.spec, lane.status
    before = next((item for item in running.spec.lanes if item.name == own.name), None) if running else None
    pods, at_once = differences.of_lane(running.spec, spec, own.name) if running and before else ((), ())
    change = _change(lane, described.memory if spec.rollout.preflight is specs.Preflight.ENFORCE else None)
    revision = choosing.choose(lane).id
    changes: list[types.ObjectChange] = []
    if change is types.Change.CREATE:
        changes += [*objects.created(name, own.name, revision), objects.budget(name, own.name, "create")]
    if change is types.Change.CANARY:
        changes += objects.created(name, own.name, revision)
    if change in (types.Change.CANARY, types.Change.REVERT) and status.canary:
        changes += objects.deleted(name, own.name, (status.canary, status.baseline))
    if change is not types.Change.CREATE and before is not None and before.replicas != own.replicas:
        changes.append(objects.resized(name, own.name, status.stable))
    trial = change in (types.Change.CANARY, types.Change.CONTINUE)
    need = gpus.rollout(spec, own, lane.rendered.gpus) if trial or running is None else (gpus.steady(own, lane.rendered.gpus),)
    about = _about(change, status, revision, described.memory)
    return dataclasses.replace(described, change=change, about=about, canaried=pods if trial else (), at_once=at_once, gpus=need), changes


def _described(spec: specs.LLMServiceSpec, lane: specs.Lane, rendered: revisions.Rendered, known: Known) -> types.Lane:
    """What the lane's engine would run."""
    version = versions.resolve(spec.engine)
    settings = effective.settings(spec, lane, version)
    flags = tuple(types.Flag(item.name, item.value, item.origin.value, item.field) for item in settings.values())
    container = next(item for item in rendered.template["spec"]["containers"] if item["name"] == "engine")
    memory = None if spec.rollout.preflight is specs.Preflight.OFF else fitness.check(spec, lane, known.model, products=known.products)
    warnings = [f"{warned.field}: {warned.message}" for warned in odd.warnings(lane, settings, version)]
    warnings += fitness.cautions(spec, lane, known.model, memory, known.products) if memory else ()
    return types.Lane(lane.name, revision=rendered.hash, command=tuple(container["command"]), flags=flags, memory=memory, warnings=tuple(warnings))


def _change(lane: views.View, memory: Preflight | None) -> types.Change:
    """What becomes of it; `memory` is what may keep a revision from being started."""
    status, wanted = lane.status, lane.rendered.hash
    unfit = memory is not None and memory.answer is Answer.NO
    if not status.stable:
        return types.Change.UNFIT if unfit else types.Change.CREATE
    if status.canary and not status.trial and wanted == views.hash_of(status.canary):
        return types.Change.CONTINUE
    if not lane.differs:
        return types.Change.REVERT if status.canary and not status.trial else types.Change.NONE
    if lane.rejected:
        return types.Change.BLOCKED
    return types.Change.UNFIT if unfit else types.Change.CANARY


def _about(change: types.Change, status: statuses.LaneStatus, revision: str, memory: Preflight | None = None) -> str:
    ends = f"; the trial of {status.canary} ends" if status.canary else ""
    return {
        types.Change.CREATE: f"first revision {revision}, without a canary: nothing serves that it could be compared with",
        types.Change.CANARY: f"revision {revision} is tried beside {status.stable}{ends}",
        types.Change.CONTINUE: f"the trial of {status.canary} goes on",
        types.Change.REVERT: f"back to {status.stable}, which serves{ends}",
        types.Change.UNFIT: f"revision {revision} is not started (rollout.preflight): it {memory.sentence if memory else ''}",
        types.Change.BLOCKED: f"revision {revision} was rolled back before; {status.stable} stays until the spec changes or `fairlane retry`",
        types.Change.NONE: f"{status.stable} stays: the engine pods are the same",
        types.Change.REMOVE: f"{status.stable} drains and goes{ends}",
    }[change]


def _leaving(name: str, spec: specs.LLMServiceSpec, running: Running | None) -> list[tuple[types.Lane, list[types.ObjectChange]]]:
    """Lanes that run and that the spec does not have."""
    if running is None:
        return []
    kept = {lane.name for lane in spec.lanes}
    going = [status for status in running.status.lanes if status.name not in kept]
    return [
        (
            types.Lane(status.name, change=types.Change.REMOVE, about=_about(types.Change.REMOVE, status, "")),
            [*objects.deleted(name, status.name, (status.stable, status.canary, status.baseline)), objects.budget(name, status.name, "delete")],
        )
        for status in going
    ]
