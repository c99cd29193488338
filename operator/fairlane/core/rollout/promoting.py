"""The lane moves over to the canary: no pod restarts, the roles change in the routes."""

from ...api import status as statuses
from .. import clock
from . import capacity, loading, reasons, record, starting, view


def begin(lane: view.View, status: statuses.LaneStatus, message: str) -> view.Move:
    """Start to move the lane over."""
    text = f"{status.canary} takes the lane over: {message}"
    after = view.changed(
        status, phase=statuses.Phase.PROMOTING, phase_since=clock.text(lane.now), loading_since=None, held_since=None,
        promote_when_ready=False, verdict=None, evidence=None, judge_state="", baseline="",
        reason=reasons.PROMOTING, message=view.clipped(text),
    )
    return view.Move(after, (view.normal(reasons.EVENT_PROMOTING, f"{lane.spec.name}: {text}"),))


def proceed(lane: view.View) -> view.Move:
    """Raise the weight to what the canary's ready replicas carry; swap the roles when it has everything and every router says so."""
    status, full = lane.status, lane.spec.replicas
    if status.paused:
        return view.Move(view.changed(status, reason=reasons.PAUSED, message=f"paused while {status.canary} takes the lane over, at {status.weight} %"))
    usable = lane.usable(status.canary)
    if usable >= full and (lane.agents.serves(lane.spec.name, status.canary, 100) or _swapped(lane)):
        return swap(lane, status, reasons.PROMOTED, f"{status.canary} serves the lane with {usable} replicas")
    weight = max(status.weight, capacity.carried(usable, capacity.strength(lane, status)))
    message = f"{status.canary} takes the lane over: {usable} of {full} replicas, {weight} % of the lane"
    if (stuck := loading.blocked(lane)) is not None:
        message += f"; {stuck.message}"
    loading_since = status.loading_since if usable < full and weight == status.weight else None
    return view.Move(view.changed(status, weight=weight, loading_since=loading_since, reason=reasons.PROMOTING, message=view.clipped(message)))


def _swapped(lane: view.View) -> bool:
    """Whether a pass that was cut off has already named the canary the stable in the routes."""
    stored = lane.agents.track(lane.spec.name, lane.status.canary)
    return stored is not None and stored.role == "stable"


def swap(lane: view.View, status: statuses.LaneStatus, reason: str, message: str) -> view.Move:
    """Make the canary the stable: from now on the routes name it so, and the old revision goes when every router has let go of it."""
    old, took = status.stable, clock.short(clock.since(status.started_at, lane.now))
    told = f"{message}; it replaces {old} after {took}, no pod restarted"
    ended = record.ended(lane, status, statuses.Result.PROMOTED, reason, told)
    after = view.changed(
        starting.fresh(status), stable=status.canary, phase=statuses.Phase.IDLE, phase_since=clock.text(lane.now), stable_down_since=None,
        result=statuses.Result.PROMOTED, reason=reasons.SERVING, message=view.clipped(told),
    )
    return view.Move(after, (view.normal(reasons.EVENT_PROMOTED, f"{lane.spec.name}: {told}"),), record=ended)


def may_turn_back(lane: view.View) -> bool:
    """Whether the stable can still take the whole lane: else the way forward is the short one."""
    return lane.status.phase is not statuses.Phase.PROMOTING or lane.ready(lane.status.stable) >= lane.spec.replicas


def command(lane: view.View) -> view.Move:
    """Follow `promote`: at once where the canary serves, else as soon as it is ready; where no GPU is free, in place of the stable."""
    status = view.changed(lane.status, paused=False)
    made = record.decision(lane, status.verdict or statuses.Outcome.INSUFFICIENT, reasons.COMMANDED, "promote was asked for", status.evidence)
    status = view.changed(status, decisions=record.added(status, made))
    if status.weight:
        return begin(lane, status, "`promote` was asked for")
    if status.phase is statuses.Phase.WAITING and loading.blocked(lane) is not None:
        return _in_place(lane, status)
    told = f"{lane.spec.name}: promote: {status.canary} takes the lane over as soon as it is ready"
    return view.Move(view.changed(status, promote_when_ready=True, baseline=""), (view.normal(reasons.EVENT_COMMAND, told),))


def _in_place(lane: view.View, status: statuses.LaneStatus) -> view.Move:
    full = lane.spec.replicas
    cost = (
        f"the lane answers nothing until {status.canary} is ready, at the latest after {lane.rollout.load_deadline}, when {status.stable} comes back"
        if full == 1 else f"the lane runs on {full - 1} of {full} replicas until {status.canary} has replaced them one by one"
    )
    message = f"{lane.spec.name}: promote without a free GPU: {status.stable} gives one replica up first; {cost}"
    after = view.changed(status, promote_when_ready=True, in_place=True, baseline="", message=message)
    return view.Move(after, (view.warning(reasons.EVENT_COMMAND, message),))


def replace(lane: view.View) -> view.Move:
    """Give the lane to the canary without a trial."""
    if capacity.stable_is_down(lane, lane.status):
        return swap(lane, lane.status, reasons.STABLE_REPLACED, f"{lane.status.canary} serves the lane, for {lane.status.stable} could not")
    return swap(lane, lane.status, reasons.COMMANDED, f"{lane.status.canary} serves the lane")


def cures(lane: view.View) -> bool:
    """Whether the stable died while the canary serves: the canary then is all there is, and takes the lane."""
    return not lane.status.trial and lane.status.weight > 0 and lane.usable(lane.status.canary) > 0 and capacity.stable_is_down(lane, lane.status)


def takes_over(lane: view.View) -> bool:
    """Whether the stable cannot serve, so that a ready canary is the cure."""
    if lane.status.trial:
        return False
    return capacity.stable_is_down(lane, lane.status) or (lane.status.promote_when_ready and not lane.ready(lane.status.stable))
