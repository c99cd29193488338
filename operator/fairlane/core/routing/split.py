"""How a lane's requests are divided, once what really serves is known."""

from collections.abc import Mapping

from . import document, endpoints

Split = Mapping[str, int]
"""Percent by role; only roles with a weight above 0; empty: nothing serves."""


def of(lane: document.LaneRoute, found: endpoints.Endpoints, fail_safe: bool) -> Split:
    """Return a lane's split. A track that has weight but no serving endpoint loses it to the stable; a stable to those that serve."""
    tracks = _weighted(lane, fail_safe)
    alive = [track for track in tracks if endpoints.serving(found, lane.name, track.revision)]
    if len(alive) == len(tracks) or not alive:
        return {track.role: track.weight for track in tracks}
    lost = 100 - sum(track.weight for track in alive)
    if any(track.role == "stable" for track in alive):
        return {track.role: track.weight + (lost if track.role == "stable" else 0) for track in alive}
    return {track.role: 100 // len(alive) for track in alive}   # canary and baseline have the same weight


def as_told(lane: document.LaneRoute, actual: Split) -> bool:
    """Whether a lane is split as its routes say: then its stable may keep engines in reserve, else it has more to carry than they reckon with."""
    return dict(actual) == {track.role: track.weight for track in lane.tracks if track.weight > 0}


def _weighted(lane: document.LaneRoute, fail_safe: bool) -> list[document.Track]:
    tracks = [track for track in lane.tracks if track.weight > 0]
    stable = [track for track in lane.tracks if track.role == "stable"]
    if fail_safe and lane.fail_safe == "Stable" and stable and any(track.role == "canary" for track in tracks):
        return [stable[0].model_copy(update={"weight": 100})]
    return tracks
