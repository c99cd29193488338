"""A/A: the unchanged revision on trial under a new name, to see what the judge says of it. Never promoted, never rejected."""

from ...api import status as statuses
from .. import clock
from ..judge import types as judging
from . import reasons, revisions, rollback, starting, view

FORBIDDEN = "it is the same revision: a trial by `fairlane trial` ends by itself or by `fairlane abort`"


def obstacle(lane: view.View) -> str:
    """Return why no trial of the unchanged revision can start; empty where one can."""
    status = lane.status
    if status.canary:
        return f"{status.canary} is on trial already"
    if lane.differs:
        return f"the spec asks for {lane.rendered.hash} and {status.stable} serves: a trial is of an unchanged revision; end the rollout or revert the spec"
    if status.paused:
        return "the lane is paused; `fairlane resume` first"
    if lane.waits_for:
        return f"lane {lane.waits_for} comes first: its canary has no node yet"
    if not lane.ready(status.stable):
        return f"{status.stable} has no ready replica to compare with"
    return ""


def start(lane: view.View) -> view.Move:
    """Put the stable's own inputs on trial under the next ordinal."""
    revision = revisions.again(lane)
    about = f"revision {revision.id}, the same as {lane.status.stable}, is on trial beside it by `fairlane trial`; it is withdrawn after the last step"
    return starting.started(lane, revision, about, trial=True)


def alarm(lane: view.View, said: judging.Verdict) -> view.Move:
    """End a trial in which the judge said Fail of what is the same."""
    status = lane.status
    where = f"at {status.weight} %, {clock.short(clock.since(status.step_since or status.phase_since, lane.now))} into the step"
    message = f"the judge would have rolled back an unchanged revision {where}: {said.message}"
    return rollback.begin(lane, status, reasons.FALSE_ALARM, message, reject=True, verdict=said)


def finish(lane: view.View, status: statuses.LaneStatus) -> view.Move:
    """Withdraw the canary after the last step, and say what the judge said at each."""
    said = "; ".join(f"{item.weight} %: {item.verdict}" for item in status.decisions)
    last = status.decisions[-1].message
    return rollback.withdraw(lane, status, reasons.NOTHING_FOUND, f"nothing was wrong with it, and nothing was found ({said}): {last}", statuses.Result.TRIED)
