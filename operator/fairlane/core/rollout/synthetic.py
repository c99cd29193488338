"""Does a lane on trial get synthetic load, how much now, and of what lengths? Users go first: only what they leave open is sent."""

import math
from typing import Any

from ...api import spec as specs
from ...api import status as statuses
from .. import names, observed, planned, traffic
from ..load import document as loads
from ..load import lengths
from ..objects import load as senders
from ..routing import document, ladder
from ..words import BYTES_PER_TOKEN
from . import lanes, view

MOST_IN_FLIGHT = 8       # a lane that does not keep up with the wanted rate gets less of it: its users wait behind what is in the engine (measured)
_SHARE = 4               # at most one in four of the requests that a router pod lets into the lane
_GRAIN = 10              # the rate changes by tenths of the wanted one: each change is a write
_MARGIN = 0.9            # of a limit in tokens: a word is about one token, not exactly
_BODY_ROOM = 2048        # bytes of a body beside its prompt
_SENT = (statuses.Phase.WARMING, statuses.Phase.ANALYZING)

_DEFAULT_LENGTHS: dict[specs.Profile, tuple[tuple[int, ...], tuple[int, ...]]] = {
    specs.Profile.INTERACTIVE: ((32, 64, 128, 256, 512, 1024), (16, 32, 64, 128, 256)),
    specs.Profile.LONG_CONTEXT: ((1024, 2048, 4096, 8192, 16384), (32, 64, 128, 256, 512)),
    specs.Profile.THROUGHPUT: ((128, 256, 512, 1024, 2048), (64, 128, 256, 512)),
}
"""Prompts and answers, in tokens, of a lane without a history: guesses from what the profiles are for."""


def marked(seen: observed.Observed, spec: specs.LLMServiceSpec, lane: document.LaneRoute) -> document.LaneRoute:
    """Return the lane with the key of its synthetic load while there is one: while a canary under trial has a part of the requests."""
    canary = _canary(lane)
    if spec.rollout.analysis.synthetic_load is None or not canary or lane.fail_safe == "Keep" or not in_flight(lane, spec.router.replicas):
        return lane
    return lane.model_copy(update={"synthetic_key": names.synthetic_key(seen.uid, lane.name, canary)})


def _canary(lane: document.LaneRoute) -> str:
    """The revision that shares the lane's requests with the stable; empty where none does."""
    return next((track.revision for track in lane.tracks if track.role == "canary" and 0 < track.weight < 100), "")


def in_flight(lane: document.LaneRoute, routers: int) -> int:
    """Synthetic requests at one time, should they all meet one router pod; 0 where that lets too few in to share."""
    if lane.max_in_flight is None:
        return MOST_IN_FLIGHT
    return min(MOST_IN_FLIGHT, lane.max_in_flight // max(1, routers) // _SHARE)


def objects(seen: observed.Observed, spec: specs.LLMServiceSpec, routes: document.RouteDocument, moved: list[lanes.Moved]) -> list[dict[str, Any]]:
    """Return the objects that send, for the lanes whose routes have a key.

    The pod comes when its first rate is known: what it is told is new to it at once then, and later only at the kubelet's next look.
    """
    found: list[dict[str, Any]] = []
    for item in moved:
        lane = next((lane for lane in routes.lanes if lane.name == item.status.name and lane.synthetic_key), None)
        if lane is not None:
            found.append(senders.config_map(seen.ref, load(seen, spec, routes, item)))
            if lane.name in seen.traffic or names.load(seen.name, lane.name) in _deployed(seen):
                found.append(senders.deployment(seen.ref, lane.name, item.status.canary, seen.settings.agent_image, spec.router))
    return found


def _deployed(seen: observed.Observed) -> set[str]:
    return {child.name for child in seen.children if child.kind == "Deployment"}


def load(seen: observed.Observed, spec: specs.LLMServiceSpec, routes: document.RouteDocument, item: lanes.Moved) -> loads.Load:
    """Return what a lane's sender is told now."""
    lane = next(lane for lane in routes.lanes if lane.name == item.status.name)
    wanted = spec.rollout.analysis.synthetic_load
    assert wanted is not None
    stored, known = seen.loads.get(lane.name), seen.traffic.get(lane.name)
    before = stored if stored is not None and stored.key == lane.synthetic_key else None
    prompts, answers, measured = _lengths(item, before, known)
    answers = lengths.bounded(answers, min(lane.max_output_tokens or math.inf, _model_length(item) / 2))
    scheme, host = "https" if spec.router.tls else "http", f"{names.router(seen.name)}.{seen.namespace}.svc"
    return loads.Load(
        url=f"{scheme}://{host}",
        lane=lane.name,
        model=spec.model.name,
        key=lane.synthetic_key,
        rate=_rate(item.status, wanted, before, known),
        max_requests=wanted.max_requests,
        in_flight=in_flight(lane, spec.router.replicas),
        prompt_tokens=lengths.bounded(prompts, _longest_prompt(routes, lane, _model_length(item) - max(answers))),
        output_tokens=answers,
        measured=measured,
    )


def _rate(status: statuses.LaneStatus, wanted: specs.SyntheticLoad, before: loads.Load | None, known: traffic.Traffic | None) -> float:
    """Requests per second that are missing; none while nothing is judged. Without new numbers what was said before goes on, until the trial is held.

    Numbers and a trial that is held nonetheless: it may be held for want of just these requests.
    """
    if status.phase not in _SENT or status.paused:
        return 0.0
    if known is None:
        return before.rate if before and status.held_since is None else 0.0
    if known.synthetic >= wanted.max_requests:
        return 0.0
    target = float(wanted.requests_per_second)
    missing = max(0.0, 1 - known.rate / target)
    return round(math.floor(missing * _GRAIN + 1e-9) / _GRAIN * target, 6)


def _lengths(item: lanes.Moved, before: loads.Load | None, known: traffic.Traffic | None) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    """Lengths of prompts and answers: the lane's own once they are known, and then the same to the rollout's end."""
    if before is not None and before.measured:
        return before.prompt_tokens, before.output_tokens, True
    if known is not None and known.prompts is not None and known.answers is not None:
        return traffic.ranked(known.prompts), traffic.ranked(known.answers), True
    prompts, answers = _DEFAULT_LENGTHS[item.view.spec.profile]
    return prompts, answers, False


def _model_length(item: lanes.Moved) -> float:
    """Tokens of prompt and answer that both revisions take; infinite where neither says."""
    both = (item.view.stored(item.status.stable), item.view.stored(item.status.canary))
    said = [revision.inputs.get("flags", {}).get("max-model-len") for revision in both if revision is not None]
    return min((length for length in said if isinstance(length, int)), default=math.inf)


def _longest_prompt(routes: document.RouteDocument, lane: document.LaneRoute, room: float) -> float:
    """Words of the longest prompt: the lane takes it, the router can tell that it does, and the model has room for it and the answer."""
    limit = math.inf
    if lane.max_prompt_tokens is not None:
        limit = lane.max_prompt_tokens * routes.bytes_per_token / BYTES_PER_TOKEN
        if lane.name != ladder.longest(routes):   # what is not read goes to the longest lane
            limit = min(limit, (ladder.BODY_LIMIT - _BODY_ROOM) / BYTES_PER_TOKEN)
    return max(1, math.floor(min(limit, room) * _MARGIN)) if min(limit, room) < math.inf else math.inf


def counted(seen: observed.Observed, status: statuses.LaneStatus) -> statuses.LaneStatus:
    """Return the lane's status with the synthetic requests of its rollout as far as they are known."""
    before = next((lane for lane in seen.status.lanes if lane.name == status.name and lane.started_at == status.started_at), None)
    known = seen.traffic.get(status.name)
    told = before.synthetic_requests if before is not None and status.canary else 0
    count = max(told, round(known.synthetic)) if known is not None and status.canary and before is not None else told
    return status if count == status.synthetic_requests else view.changed(status, synthetic_requests=count)


def ended(seen: observed.Observed, routes: document.RouteDocument) -> tuple[planned.Delete, ...]:
    """Return the senders that go while a spec that cannot be followed keeps all else: those whose canary shares no requests any more."""
    kept = {names.load(seen.name, lane.name) for lane in routes.lanes if lane.synthetic_key and _canary(lane)}
    gone = {names.load(seen.name, lane.name) for lane in routes.lanes} - kept
    return tuple(
        planned.Delete(child.api_version, child.kind, child.name)
        for child in seen.children
        if child.kind in ("Deployment", "ConfigMap") and child.name in gone and not child.terminating
    )
