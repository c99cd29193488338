"""Idle and what leads out of it: a lane's first revision, a new trial, or the reason why none starts."""

import dataclasses

from ...api import status as statuses
from .. import clock
from .. import revisions as storing
from . import baseline, expectation, fitting, loading, reasons, revisions, view


def first(lane: view.View) -> view.Move:
    """Give the lane its first revision: there is nothing to compare it with, so it needs no trial."""
    if why := fitting.obstacle(lane):
        return fitting.stopped(lane, settled(lane, "", ""), why)
    if lane.reading:
        return _wait(lane, reasons.READING_MODEL, lane.reading)
    revision = revisions.choose(lane)
    replaced = f", in place of {lane.status.stable}, which never served" if lane.status.stable else ""
    message = f"first revision {revision.id} with {lane.spec.replicas} replicas{replaced}"
    status = view.changed(
        lane.status, stable=revision.id, phase=statuses.Phase.IDLE, phase_since=clock.text(lane.now), stable_down_since=None,
        reason=reasons.STARTING, message=message,
    )
    return view.Move(status, (view.normal(reasons.EVENT_LANE_CREATED, f"{lane.spec.name}: {message}"), *fitting.warnings(lane)), created=revision)


def never_served(lane: view.View) -> bool:
    """Whether the lane's first revision has not been ready yet: no router knows it and nobody would miss it."""
    stable = lane.status.stable
    return lane.agents.stored is not None and lane.agents.track(lane.spec.name, stable) is None and not lane.ready(stable)


def idle(lane: view.View) -> view.Move:
    """Start a trial where the spec asks for another revision than the stable, or say why none starts."""
    if not lane.differs:
        return view.Move(settled(lane, *_serving(lane)))
    if lane.rejected:
        return view.Move(settled(lane, reasons.REJECTED, _rejection(lane)))
    if why := fitting.obstacle(lane):
        return fitting.stopped(lane, settled(lane, "", ""), why)
    if lane.status.paused:
        return _wait(lane, reasons.PAUSED, f"paused before revision {lane.rendered.hash} starts; `fairlane resume` goes on")
    if lane.waits_for:
        return _wait(lane, reasons.LANE_ORDER, f"lane {lane.waits_for} comes first: its canary has no node yet")
    if lane.reading:
        return _wait(lane, reasons.READING_MODEL, lane.reading)
    return _start(lane)


def settled(lane: view.View, reason: str, message: str) -> statuses.LaneStatus:
    """Return the status of a lane without a trial."""
    since = lane.status.phase_since if lane.status.phase is statuses.Phase.IDLE else clock.text(lane.now)
    return view.changed(lane.status, phase=statuses.Phase.IDLE, phase_since=since, reason=reason, message=view.clipped(message))


def _serving(lane: view.View) -> tuple[str, str]:
    ready, full, stable = lane.ready(lane.status.stable), lane.spec.replicas, lane.status.stable
    if ready >= full:
        return reasons.SERVING, f"revision {stable} serves with {full} replicas"
    if ready:
        return reasons.SERVING, f"revision {stable} serves with {ready} of {full} replicas{_trouble(lane)}"
    if lane.agents.track(lane.spec.name, stable) is None:
        return reasons.STARTING, f"revision {stable} is not ready yet{_trouble(lane)}"
    return reasons.STABLE_DOWN, f"revision {stable} has no ready replica{_trouble(lane)}"


def _trouble(lane: view.View) -> str:
    """Say what the stable's pods complain of."""
    stable = lane.status.stable
    words = [f"pod {pod.name}: {pod.unschedulable}" for pod in lane.of(stable) if pod.unschedulable]
    found = loading.failure(lane, stable) if lane.ready(stable) < lane.spec.replicas else None
    return f": {found.message}" if found else f": {words[0]}" if words else ""


def _rejection(lane: view.View) -> str:
    found = next((record for record in lane.history if record.lane == lane.spec.name and view.hash_of(record.canary) == lane.rendered.hash), None)
    why = f": {found.message}" if found else ""
    return f"revision {lane.status.stable} serves; the spec asks for {lane.rendered.hash}, which was rolled back{why}; change the spec or use `fairlane retry`"


def _wait(lane: view.View, reason: str, message: str) -> view.Move:
    status = view.changed(lane.status, phase=statuses.Phase.WAITING, reason=reason, message=message)
    goes_on = lane.status.phase is statuses.Phase.WAITING and lane.status.reason == reason
    if goes_on and (reason != reasons.READING_MODEL or lane.status.message == message):   # another pod has its own minute
        return view.Move(status)
    status = view.changed(status, phase_since=clock.text(lane.now))
    if reason in (reasons.LANE_ORDER, reasons.READING_MODEL):
        return view.Move(status)
    return view.Move(status, (view.normal(reasons.EVENT_WAITING, f"{lane.spec.name}: {message}"),))


def _start(lane: view.View) -> view.Move:
    revision = revisions.choose(lane)
    move = started(lane, revision, f"revision {revision.id} is on trial beside {lane.status.stable}")
    return dataclasses.replace(move, events=(*move.events, *fitting.warnings(lane)))


def started(lane: view.View, revision: storing.Revision, about: str, *, trial: bool = False) -> view.Move:
    """Put a revision on trial, saying what it costs and, where the lane's rate is known, what it can show."""
    now, step = clock.text(lane.now), lane.rollout.steps[0]
    compared = baseline.wanted(lane, revision.id)
    cost = baseline.cost(lane, revision.gpus) if compared else f"its pod asks for {revision.gpus} GPU{'' if revision.gpus == 1 else 's'}"
    expected = expectation.words(lane.rate, lane.rollout) if lane.rate is not None else ""
    message = f"{about}: {step.weight} % of the lane for {step.duration} first; {cost}"
    status = view.changed(
        fresh(lane.status), phase=statuses.Phase.LOADING, canary=revision.id, started_at=now, phase_since=now, expected=expected,
        trial=trial, baseline=compared, reason=reasons.LOADING, message=message,
    )
    told = f"{lane.spec.name}: {message}" + (f"; {expected}" if expected else "")
    return view.Move(status, (view.normal(reasons.EVENT_STARTED, told),), created=revision)


def fresh(status: statuses.LaneStatus) -> statuses.LaneStatus:
    """Return the lane's status with nothing of any trial in it, but for how the last one came out."""
    return view.changed(
        status, canary="", step=0, weight=0, started_at=None, step_since=None, loading_since=None, held_since=None, held_seconds=0,
        in_place=False, promote_when_ready=False, verdict=None, evidence=None, judge_state="", expected="", trial=False, baseline="", decisions=[],
        canary_replicas=0, canary_ready_replicas=0,
    )
