"""Fail-safe: no judge, no canary. When does a router stop to trust a split that nobody watches?

All by the agent's own monotonic clock: what the operator's clock says, and whether the API server answers, does not matter.
"""

import dataclasses

from . import document


@dataclasses.dataclass(frozen=True)
class FailSafe:
    """What the agent knows of the heartbeat. `since` is when it last saw a sign that a canary's weight is watched, in seconds of its own clock."""

    renewed: str = ""          # the Lease's renewTime as last seen; only its change counts
    since: float | None = None  # None: no canary has weight, nothing to watch
    active: bool = False
    count: int = 0             # how often it became active in this agent's life


def beat(state: FailSafe, renewed: str, now: float) -> FailSafe:
    """Take note of the Lease's renewTime; an empty one is no news."""
    if not renewed or renewed == state.renewed:
        return state
    return dataclasses.replace(state, renewed=renewed, since=None if state.since is None else now)


def judge(state: FailSafe, route: document.RouteDocument, now: float) -> FailSafe:
    """Return the state at `now`. The clock starts when a canary gets weight, so that a beat that stopped before, as it should, is not held against it."""
    if not route.has_canary_weight:
        return dataclasses.replace(state, since=None, active=False)
    since = now if state.since is None else state.since
    active = now - since >= route.fail_safe_after_seconds
    return dataclasses.replace(state, since=since, active=active, count=state.count + (active and not state.active))


def wake_at(state: FailSafe, route: document.RouteDocument) -> float | None:
    """Return when `judge` may say something else without news, by the agent's clock."""
    return None if state.since is None or state.active else state.since + route.fail_safe_after_seconds
