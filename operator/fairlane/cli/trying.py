"""`fairlane trial`: the unchanged revision as a canary, so that people see what the judge makes of their traffic before they trust it."""

import dataclasses

import typer

from ..api import status as statuses
from ..core.rollout import view
from . import cluster, failures, ordering, views

_POLL = 5.0      # seconds between two looks at a trial, which takes minutes to hours


@dataclasses.dataclass(frozen=True)
class Before:
    """The lane's name and the rollouts that had ended before the trial, by start and canary."""

    lane: str
    ended: frozenset[tuple[str, str]]


def send(where: cluster.Cluster, asked: ordering.Asked, clock: ordering.Clock) -> Before:
    """Order a trial and say what the operator answered; CommandError where the lane cannot be tried, with the remedy."""
    service = where.get(asked.namespace, asked.service)
    lane = ordering.meant(service, asked.lane)
    if refused := obstacle(asked.service, lane):
        raise failures.CommandError(f"trial {asked.service} {lane.name} did nothing: {refused}", failures.NO)
    before = Before(lane.name, frozenset(_key(record) for record in views.records(service, lane.name)))
    ordering.run(where, dataclasses.replace(asked, lane=lane.name, revision=lane.stable), clock)
    return before


def obstacle(service: str, lane: statuses.LaneStatus) -> str:
    """Why a lane cannot be tried now, and the remedy; empty where it can."""
    if lane.phase is not statuses.Phase.IDLE:
        trial = f" (canary {lane.canary})" if lane.canary else ""
        return f"the lane is {lane.phase}{trial}; wait until it is Idle (fairlane status {service}), or `fairlane abort {service} {lane.name}`"
    if not lane.stable:
        return f"the lane serves no revision yet; wait until it is ready (fairlane status {service})"
    if lane.desired_hash and lane.desired_hash != view.hash_of(lane.stable):
        differs = f"the spec asks for {lane.desired_hash}, but {lane.stable} serves"
        return f"{differs}, and a trial needs an unchanged spec; change the spec back, or let it roll out first (`fairlane retry {service} {lane.name}`)"
    if lane.paused:
        return f"the lane is paused; `fairlane resume {service} {lane.name}` first"
    return ""


def end(where: cluster.Cluster, asked: ordering.Asked, before: Before, limit: float, clock: ordering.Clock) -> tuple[statuses.RolloutRecord, str]:
    """Wait until the trial has ended, telling each step on the way; return its record and the revision that serves. CommandError after `limit` seconds."""
    last, until = "", clock.now() + limit
    while True:
        service = where.get(asked.namespace, asked.service)
        lane = views.lane_of(service, before.lane)
        for record in views.records(service, before.lane):
            if _key(record) not in before.ended:
                return record, lane.stable
        if clock.now() >= until:
            remedy = f"it goes on; `fairlane why {asked.service} {before.lane}` tells how it stands"
            raise failures.CommandError(f"the trial of {before.lane} has not ended within {limit:g} s: {remedy}", failures.LATE)
        place = f"{before.lane}: {lane.phase}, {lane.weight} %"
        if place != last:
            typer.echo(f"{place}" + (f"; {lane.message}" if lane.message else ""), err=True)
        last = place
        clock.sleep(_POLL)


def alarmed(record: statuses.RolloutRecord) -> bool:
    """Whether the answer is no: the judge would have rolled the unchanged revision back, or the trial did not come to its end."""
    return record.result is not statuses.Result.TRIED or any(decision.verdict is statuses.Outcome.FAIL for decision in record.decisions)


def _key(record: statuses.RolloutRecord) -> tuple[str, str]:
    return record.started_at, record.canary
