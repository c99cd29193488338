"""The constants of classification: what the script in Envoy is told about the lanes."""

from collections.abc import Mapping
from typing import Any

from .. import names
from . import document

BODY_LIMIT = 65_536
"""Bytes of a body that are read; more would hold up every stream of Envoy's worker (3.5 ms at 256 KiB, measured)."""

IMAGE_TOKENS = 1024
"""Tokens that one image counts as: one of 1024x1024 is about 1,340 in Qwen2-VL, 576 in LLaVA 1.5 at any size; its base64 bytes say nothing about it."""


def longest(route: document.RouteDocument) -> str:
    """Return the lane for a body that was not read.

    It is the default lane where that has no limit, else the one with the highest `maxPromptTokens` if it takes what was not read, else a lane
    without limit (which may be meant for named callers only), else again the highest.
    """
    default = [lane for lane in route.lanes if lane.name == route.default_lane]
    limited = sorted((lane for lane in route.lanes if lane.max_prompt_tokens), key=lambda lane: (lane.max_prompt_tokens or 0, lane.name == route.default_lane))
    unlimited = [lane for lane in route.lanes if not lane.max_prompt_tokens]
    if default and not default[0].max_prompt_tokens:
        return default[0].name
    if limited and (limited[-1].max_prompt_tokens or 0) * route.bytes_per_token >= BODY_LIMIT:
        return limited[-1].name
    return (unlimited or limited[-1:] or default)[0].name if route.lanes else ""


def context(route: document.RouteDocument, splits: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """Return what the script reads from the route: once for each version and worker."""
    by_size = sorted((lane for lane in route.lanes if lane.max_prompt_tokens), key=lambda lane: (lane.max_prompt_tokens or 0, lane.name))
    table = {
        "default": route.default_lane,
        "longest": longest(route),
        "caller_header": route.caller_header.lower(),
        "bytes_per_token": route.bytes_per_token,
        "body_limit": BODY_LIMIT,
        "image_tokens": IMAGE_TOKENS,
        "sizes": [lane.name for lane in by_size],
        "callers": {caller: lane.name for lane in route.lanes for caller in lane.callers},
        "synthetic": {lane.synthetic_key: lane.name for lane in route.lanes if lane.synthetic_key and _compares(splits[lane.name])},
        "lanes": {lane.name: _lane(lane) for lane in route.lanes},
    }
    return {"version": names.digest(table, 16), "table": table}


def _compares(split: Mapping[str, int]) -> bool:
    """Whether a canary takes requests, and another track beside it."""
    return "canary" in split and len(split) > 1


def _lane(lane: document.LaneRoute) -> dict[str, Any]:
    limits = {"max_prompt": lane.max_prompt_tokens, "max_output": lane.max_output_tokens}
    return {"named": lane.allow_named} | {name: value for name, value in limits.items() if value}
