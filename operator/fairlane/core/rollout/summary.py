"""The printer column: the running rollouts in a few words, to the minute, so that it does not change every pass."""

import datetime

from ...api import status as statuses
from .. import clock

_WORDS = {
    statuses.Phase.WAITING: "waiting",
    statuses.Phase.LOADING: "loading",
    statuses.Phase.WARMING: "warming up",
    statuses.Phase.PROMOTING: "promoting",
    statuses.Phase.ROLLING_BACK: "rolling back",
}
_LONG = 3600.0


def line(lanes: list[statuses.LaneStatus], now: datetime.datetime) -> str:
    """Return `chat 10% canary (4m), batch waiting`; empty where nothing rolls."""
    return ", ".join(_lane(lane, now) for lane in lanes if lane.phase is not statuses.Phase.IDLE)


def _lane(lane: statuses.LaneStatus, now: datetime.datetime) -> str:
    if lane.phase is statuses.Phase.WAITING:
        return f"{lane.name} {_WORDS[lane.phase]}"
    what = f"{lane.weight}% canary" if lane.phase is statuses.Phase.ANALYZING else _WORDS[lane.phase]
    weight = f" {lane.weight}%" if lane.weight and lane.phase is not statuses.Phase.ANALYZING else ""
    return f"{lane.name} {what}{weight} ({_age(clock.since(lane.started_at, now))})"


def _age(seconds: float) -> str:
    return f"{int(seconds // _LONG)}h" if seconds >= _LONG else f"{int(seconds // 60)}m"
