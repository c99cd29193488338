"""The six conditions, each set on every pass; kstatus reads Ready, Reconciling and Stalled."""

import dataclasses
import datetime
from collections.abc import Sequence

from ..api import status as statuses
from . import clock
from .rollout import reasons

READY, RECONCILING, STALLED = "Ready", "Reconciling", "Stalled"
LANES_READY, ROUTER_READY, METRICS_AVAILABLE = "LanesReady", "RouterReady", "MetricsAvailable"
TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"
LIMIT = 1024


@dataclasses.dataclass(frozen=True)
class LaneFacts:
    """What the conditions need of a lane."""

    status: statuses.LaneStatus
    serves: bool                 # a ready pod of the stable that a ready router may use
    rejected: bool               # the spec asks for a revision that was rolled back
    wanted: str = ""             # hash that the spec asks for
    unfit: bool = False          # it asks for one that does not fit its GPUs and was not started


@dataclasses.dataclass(frozen=True)
class RouterFacts:
    """What the conditions need of the router."""

    ready: int
    wanted: int
    rejected: str = ""           # Envoy's words where it refused the routes
    fail_safe: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Facts:
    """Everything the conditions are computed from."""

    generation: int
    now: datetime.datetime
    lanes: Sequence[LaneFacts]
    router: RouterFacts
    refused: str = ""            # why the spec cannot be followed
    moving: Sequence[str] = ()   # what is still on its way, in words that change only when it does
    metrics: tuple[str, str, str] = (UNKNOWN, reasons.NOT_NEEDED, "")


@dataclasses.dataclass(frozen=True)
class _Value:
    type: str
    status: str
    reason: str
    message: str = ""


def build(before: Sequence[statuses.Condition], facts: Facts) -> list[statuses.Condition]:
    """Return the conditions; a transition time changes only when its status flips."""
    lanes, router = _lanes(facts), _router(facts.router)
    values = (_ready(facts, lanes, router), _reconciling(facts), _stalled(facts), lanes, router, _Value(METRICS_AVAILABLE, *facts.metrics))
    old = {condition.type: condition for condition in before}
    return [_condition(value, old.get(value.type), facts) for value in values]


def _condition(value: _Value, old: statuses.Condition | None, facts: Facts) -> statuses.Condition:
    since = old.last_transition_time if old is not None and old.status == value.status else clock.text(facts.now)
    return statuses.Condition(
        type=value.type,
        status=value.status,
        reason=value.reason,
        message=value.message[:LIMIT],
        observed_generation=facts.generation,
        last_transition_time=since,
    )


def _ready(facts: Facts, lanes: _Value, router: _Value) -> _Value:
    """Does the service answer? The message says what serves and where that differs from the spec."""
    for part in (router, lanes):
        if part.status != TRUE:
            return _Value(READY, FALSE, part.reason, part.message)
    serving = ", ".join(f"{lane.status.name} serves {lane.status.stable}" for lane in facts.lanes)
    if facts.refused:
        return _Value(READY, TRUE, reasons.DIFFERS, f"{serving}; the spec cannot be followed: {facts.refused}")
    differing = [f"{lane.status.name} asks for {lane.wanted}, which {_fate(lane)}" for lane in facts.lanes if lane.rejected or lane.unfit]
    if differing:
        return _Value(READY, TRUE, reasons.DIFFERS, f"{serving}; but {', '.join(differing)}")
    return _Value(READY, TRUE, reasons.READY, serving)


def _fate(lane: LaneFacts) -> str:
    return "was rolled back" if lane.rejected else "does not fit its GPUs"


def _reconciling(facts: Facts) -> _Value:
    if facts.moving and not facts.refused:
        return _Value(RECONCILING, TRUE, reasons.PROGRESSING, "; ".join(facts.moving))
    return _Value(RECONCILING, FALSE, reasons.SETTLED)


def _stalled(facts: Facts) -> _Value:
    if facts.refused:
        return _Value(STALLED, TRUE, reasons.SPEC_INVALID, facts.refused)
    rejected = [f"{lane.status.name}: {lane.status.message}" for lane in facts.lanes if lane.rejected and not lane.status.canary]
    if rejected:
        return _Value(STALLED, TRUE, reasons.ROLLOUT_REJECTED, "; ".join(rejected))
    unfit = [f"{lane.status.name}: {lane.status.message}" for lane in facts.lanes if lane.unfit]
    if unfit:
        return _Value(STALLED, TRUE, reasons.UNFIT, "; ".join(unfit))
    return _Value(STALLED, FALSE, reasons.SETTLED)


def _lanes(facts: Facts) -> _Value:
    down = [f"{lane.status.name}: {_lane_words(lane)}" for lane in facts.lanes if not lane.serves]
    if down:
        return _Value(LANES_READY, FALSE, reasons.LANES_NOT_READY, "; ".join(down))
    if not facts.lanes:
        return _Value(LANES_READY, FALSE, reasons.LANES_NOT_READY, "no lane exists yet")
    return _Value(LANES_READY, TRUE, reasons.READY, f"{len(facts.lanes)} of {len(facts.lanes)} lanes serve")


def _lane_words(lane: LaneFacts) -> str:
    if lane.status.ready_replicas:
        return f"revision {lane.status.stable} is ready, no ready router knows it yet"
    return lane.status.message or "no revision yet"


def _router(router: RouterFacts) -> _Value:
    if not router.ready:
        return _Value(ROUTER_READY, FALSE, reasons.ROUTER_NOT_READY, f"0 of {router.wanted} router pods are ready")
    if router.rejected:
        return _Value(ROUTER_READY, FALSE, reasons.ROUTES_REJECTED, router.rejected)
    words = f"{router.ready} of {router.wanted} router pods are ready"
    if router.fail_safe:
        words += f"; fail-safe, for the operator was not heard of: {', '.join(router.fail_safe)}"
    return _Value(ROUTER_READY, TRUE, reasons.READY, words)
