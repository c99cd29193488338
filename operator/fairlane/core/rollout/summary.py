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
    """Return `chat 10% canary (4m), batch waiting, long trial 10% (1m)`; empty where nothing rolls."""
    return ", ".join(_lane(lane, now) for lane in lanes if lane.phase is not statuses.Phase.IDLE)


def _lane(lane: statuses.LaneStatus, now: datetime.datetime) -> str:
    name = f"{lane.name} trial" if lane.trial else lane.name
    if lane.phase is statuses.Phase.WAITING:
        return f"{name} {_WORDS[lane.phase]}"
    age = _age(clock.since(lane.started_at, now))
    if lane.phase is statuses.Phase.ANALYZING:
        return f"{name} {lane.weight}% ({age})" if lane.trial else f"{name} {lane.weight}% canary ({age})"
    weight = f" {lane.weight}%" if lane.weight else ""
    return f"{name} {_WORDS[lane.phase]}{weight} ({age})"


def _age(seconds: float) -> str:
    return f"{int(seconds // _LONG)}h" if seconds >= _LONG else f"{int(seconds // 60)}m"
