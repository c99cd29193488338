"""Commands to the operator: one annotation with an id, and the wait until the operator says that it was handled."""

import dataclasses
import json
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import typer
from rich import status as progress

from ..api import status as statuses
from ..core import names
from . import cluster, failures, output, views

POLL = 0.5                  # seconds between two looks
_EVENTS_WAIT = 3.0          # seconds that the event may come after the status
IGNORED = "CommandIgnored"
_EVENTS = ("CommandFollowed", IGNORED)


@dataclasses.dataclass(frozen=True)
class Order:
    """One command for one lane's revision. The id makes it happen once; the revision keeps it from hitting the next one."""

    command: str
    lane: str
    revision: str
    id: str

    @classmethod
    def make(cls, command: str, lane: statuses.LaneStatus, revision: str | None) -> "Order":
        """Return a new order for the lane's canary, or for what it would be; `retry` is for the rejected one that the spec asks for."""
        known = lane.desired_hash if command == "retry" else lane.canary or lane.desired_hash
        return cls(command, lane.name, revision or known, uuid.uuid4().hex)


@dataclasses.dataclass(frozen=True)
class Done:
    """What came of an order."""

    followed: bool
    said: str
    lane: statuses.LaneStatus


@dataclasses.dataclass(frozen=True)
class Clock:
    """Time as an argument."""

    now: Callable[[], float]
    sleep: Callable[[float], None]


REAL = Clock(time.monotonic, time.sleep)


@dataclasses.dataclass(frozen=True)
class Asked:
    """What the user typed."""

    command: str
    service: str
    lane: str | None
    namespace: str
    revision: str | None
    wait: bool
    timeout: float
    yes: bool


def run(where: cluster.Cluster, asked: Asked, clock: Clock) -> None:
    """Send the order, wait for it where asked to, say what came of it; CommandError where it did nothing."""
    lane = meant(where.get(asked.namespace, asked.service), asked.lane)
    if (cost := price(asked.command, lane)) and not asked.yes:
        typer.echo(cost, err=True)
        typer.confirm("Promote in place?", abort=True, err=True)
    order = Order.make(asked.command, lane, asked.revision)
    before = send(where, asked.namespace, asked.service, order)
    what = f"{order.command} {asked.service} {order.lane} {order.revision}".rstrip()
    if not asked.wait:
        typer.echo(f"{what}: sent as {order.id}")
        return
    with progress.Status(f"{what}: waiting for the operator", console=output.console(stderr=True)):
        done = wait(where, asked.namespace, asked.service, order, before, asked.timeout, clock)
    if not done.followed:
        raise failures.CommandError(f"{what} did nothing: {done.said}", failures.NO)
    typer.echo(f"{what}: {done.said or 'handled'}")
    typer.echo(standing(done.lane))


def meant(service: Mapping[str, Any], lane: str | None) -> statuses.LaneStatus:
    """The lane of that name, or the only one on trial, or the only one; CommandError where none or several can be meant."""
    if lane is not None:
        return views.lane_of(service, lane)
    lanes = views.status_of(service).lanes
    trials = [found for found in lanes if found.canary or found.phase is not statuses.Phase.IDLE]
    candidates = trials or lanes
    if len(candidates) != 1:
        names_of = ", ".join(found.name for found in candidates) or "none yet"
        raise failures.CommandError(f"name the lane of {service['metadata']['name']}: {names_of}", failures.USAGE)
    return candidates[0]


def price(command: str, lane: statuses.LaneStatus) -> str:
    """What the command costs and so must be confirmed; empty where it costs nothing: a canary with traffic takes the lane over beside the stable."""
    if command != "promote" or lane.phase is not statuses.Phase.WAITING or lane.weight:
        return ""
    reason = f" ({lane.message})" if lane.message else ""
    alone = "no replica serves the lane while the new revision loads"
    loss = alone if lane.replicas <= 1 else f"{lane.replicas - 1} of {lane.replicas} replicas serve meanwhile"
    return (
        f"Lane {lane.name} waits for a GPU for its canary{reason}. Promoting now replaces the stable in place, without a trial: "
        f"one replica at a time is ended and started with the new revision; {loss}. Nothing judges it, and going back means loading the old revision again."
    )


def standing(lane: statuses.LaneStatus) -> str:
    """Where the lane stands, in a sentence."""
    paused = ", paused" if lane.paused else ""
    trial = f", canary {lane.canary} at {lane.weight} %" if lane.canary else ""
    return f"{lane.name}: {lane.phase}{paused}, stable {lane.stable or '-'}{trial}" + (f"; {lane.message}" if lane.message else "")


def send(where: cluster.Cluster, namespace: str, service: str, order: Order) -> set[str]:
    """Write the order; return the versions of the events there were before, which are not its answer."""
    before = {event["version"] for event in where.events(namespace, service)}
    where.annotate(namespace, service, {names.COMMAND_ANNOTATION: json.dumps(dataclasses.asdict(order))})
    return before


def wait(where: cluster.Cluster, namespace: str, service: str, order: Order, before: set[str], deadline: float, clock: Clock) -> Done:
    """Return what came of it; CommandError after `deadline` seconds."""
    end = clock.now() + deadline
    while order.id not in views.status_of(where.get(namespace, service)).handled_commands:
        if clock.now() >= end:
            remedy = "is the operator running? The order stays and is followed once (fairlane status)"
            raise failures.CommandError(f"{order.command} {order.lane} was not handled within {deadline:g} s: {remedy}", failures.LATE)
        clock.sleep(POLL)
    event = _event(where, namespace, service, before, clock)
    lane = views.lane_of(where.get(namespace, service), order.lane)
    return Done(event.get("reason") != IGNORED, event.get("message", ""), lane)


def _event(where: cluster.Cluster, namespace: str, service: str, before: set[str], clock: Clock) -> dict[str, str]:
    """The operator's answer; empty where none comes."""
    end = clock.now() + _EVENTS_WAIT
    while True:
        new = [event for event in where.events(namespace, service) if event["reason"] in _EVENTS and event["version"] not in before]
        if new or clock.now() >= end:
            return new[-1] if new else {}
        clock.sleep(POLL)
