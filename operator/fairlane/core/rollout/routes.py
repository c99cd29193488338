"""The route document that follows from where the lanes stand."""

from typing import Literal

from ...api import base
from ...api import spec as specs
from ...api import status as statuses
from .. import observed
from ..routing import document
from . import baseline, capacity, synthetic, view


def tracks(lane: view.View, status: statuses.LaneStatus) -> tuple[document.Track, ...]:
    """Return the lane's split: the weights sum to 100; nothing where no revision has been ready yet."""
    if not status.stable or not (lane.ready(status.stable) or lane.agents.track(lane.spec.name, status.stable)):
        return ()
    others = (*_canary(lane, status), *_baseline(lane, status))
    weight = 100 - sum(track.weight for track in others)
    return (document.Track(role="stable", revision=status.stable, weight=weight, in_use=_in_use(lane, status, weight)), *others)


def _in_use(lane: view.View, status: statuses.LaneStatus, weight: int) -> int | None:
    """Return how many of the stable's replicas get its weight while the canary's requests are compared with others; None: all.

    One that gives replicas up for the canary, or takes the lane back, has none to spare.
    """
    if not status.weight or not weight or status.in_place or status.phase is statuses.Phase.ROLLING_BACK:
        return None
    even = capacity.even(weight, status.weight, lane.spec.replicas)
    return even if even < lane.spec.replicas else None


def _canary(lane: view.View, status: statuses.LaneStatus) -> tuple[document.Track, ...]:
    return (document.Track(role="canary", revision=status.canary, weight=status.weight),) if _shows_canary(lane, status) else ()


def _baseline(lane: view.View, status: statuses.LaneStatus) -> tuple[document.Track, ...]:
    """The baseline with the canary's weight; one that is no longer wanted leaves as a canary does: every router serves it at weight 0 first."""
    route = lane.agents.lane(lane.spec.name)
    stored = next((track for track in route.tracks if track.role == "baseline"), None) if route else None
    if status.baseline and (stored is not None or lane.ready(status.baseline) or status.weight):
        weight = status.weight if status.weight < baseline.TOO_MUCH else 0
        return (document.Track(role="baseline", revision=status.baseline, weight=weight),)
    if stored is None or stored.revision in (status.stable, status.canary) or lane.agents.serves(lane.spec.name, stored.revision, 0):
        return ()
    return (document.Track(role="baseline", revision=stored.revision, weight=0),)


def _shows_canary(lane: view.View, status: statuses.LaneStatus) -> bool:
    """Whether the routers should know the canary: from its first ready pod until every one has served it at weight 0 again."""
    if not status.canary:
        return False
    stored = lane.agents.track(lane.spec.name, status.canary)
    if status.phase is statuses.Phase.ROLLING_BACK and not status.weight:
        return stored is not None and not lane.agents.serves(lane.spec.name, status.canary, 0)
    return status.weight > 0 or stored is not None or lane.ready(status.canary) > 0


def lane_route(lane: view.View, status: statuses.LaneStatus) -> document.LaneRoute:
    """Return the lane's class, bounds, limits and split."""
    spec = lane.spec
    fail_safe: Literal["Stable", "Keep"] = "Keep" if status.phase is statuses.Phase.PROMOTING else "Stable"
    return document.LaneRoute(
        name=spec.name,
        max_prompt_tokens=_longest_prompt(lane, status),
        callers=tuple(spec.match.callers),
        allow_named=spec.match.allow_named,
        max_in_flight=spec.admission.max_in_flight,
        max_output_tokens=spec.admission.max_output_tokens,
        idle_seconds=base.seconds(spec.timeouts.idle),
        total_seconds=base.seconds(spec.timeouts.total),
        non_streaming_seconds=base.seconds(spec.timeouts.non_streaming),
        tracks=tracks(lane, status),
        fail_safe=fail_safe,
    )


def _longest_prompt(lane: view.View, status: statuses.LaneStatus) -> int | None:
    """The lane's bound, but never more than what the revisions that serve take: a wider lane is not wide before it is promoted."""
    wanted = lane.spec.match.max_prompt_tokens
    if wanted is None:
        return None
    serving = (lane.stored(status.stable), lane.stored(status.canary) if status.weight else None)
    lengths = [item.inputs.get("flags", {}).get("max-model-len") for item in serving if item is not None]
    return min([wanted, *(length - 1 for length in lengths if isinstance(length, int) and length > 1)])


def assembled(seen: observed.Observed, spec: specs.LLMServiceSpec, lanes: tuple[document.LaneRoute, ...]) -> document.RouteDocument:
    """Return the document. A lane that was added later is named when it can serve; the default lane changes when the new one can."""
    stored = seen.routes
    before = {lane.name for lane in stored.lanes} if stored else set()
    lanes = tuple(synthetic.marked(seen, spec, lane) for lane in lanes)
    shown = tuple(lane for lane in lanes if lane.tracks or not before or lane.name in before)
    default = _default(stored, spec.router.default_lane, shown)
    return document.RouteDocument(
        namespace=seen.namespace,
        service=seen.name,
        model=spec.model.name,
        default_lane=default,
        caller_header=spec.router.caller_header,
        bytes_per_token=spec.router.bytes_per_token,
        router_replicas=spec.router.replicas,
        fail_safe_after_seconds=base.seconds(spec.rollout.fail_safe_after),
        tls=spec.router.tls is not None,
        lanes=shown if any(lane.name == default for lane in shown) else lanes,
    )


def _default(stored: document.RouteDocument | None, wanted: str, shown: tuple[document.LaneRoute, ...]) -> str:
    serving = {lane.name for lane in shown if lane.tracks}
    if wanted not in serving and stored is not None and stored.default_lane in serving:
        return stored.default_lane
    return wanted
