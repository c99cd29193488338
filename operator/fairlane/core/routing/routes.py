"""Envoy's routes: for each lane and kind of request its time limits, its split and its retries."""

from collections.abc import Iterable, Mapping
from typing import Any

from . import clusters, document, ladder
from .protos import Config, extension, header_is, seconds, set_header, typed

NAME = "routes"
_CLASS, _STREAM = "x-fairlane-class", "x-fairlane-stream"
_KINDS = ("1", "0", "unknown")   # streams, does not, was not read

# What an engine answers before its first byte, once: a 500 too, which is how vLLM refuses while it drains and how a bad canary fails.
_RETRY = {
    "retry_on": "connect-failure,refused-stream,reset-before-request,reset,retriable-status-codes",
    "retriable_status_codes": [500, 502, 503, 504],
    "num_retries": 1,
    "retry_back_off": {"base_interval": "0.025s", "max_interval": "0.25s"},
    "host_selection_retry_max_attempts": 50,   # of two engines the failing one has fewer requests and is drawn three times of four
    "refresh_cluster_on_retry": True,   # a failed canary try goes to the stable
    "retry_host_predicate": [
        extension("envoy.retry_host_predicates.previous_hosts", "envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate"),
    ],
    "retry_priority": extension(   # and there to an engine that stands by, if one does: those in use have their share
        "envoy.retry_priorities.previous_priorities",
        "envoy.extensions.retry.priority.previous_priorities.v3.PreviousPrioritiesConfig",
        update_frequency=1,
    ),
}


def build(route: document.RouteDocument, splits: Mapping[str, Mapping[str, int]]) -> Config:
    """Return the route configuration; `splits` is each lane's percent by role."""
    rules = [_lane_rule(lane, kind, splits[lane.name]) for lane in route.lanes for kind in _KINDS]
    host: Config = {"name": "all", "domains": ["*"], "routes": [*rules, *_fallbacks(route, splits), _not_found()]}
    if route.lanes:
        script = typed("envoy.extensions.filters.http.lua.v3.LuaPerRoute", name="classify", filter_context=ladder.context(route, splits))
        host["typed_per_filter_config"] = {"envoy.filters.http.lua": script}
    return typed("envoy.config.route.v3.RouteConfiguration", name=NAME, virtual_hosts=[host])


def _lane_rule(lane: document.LaneRoute, kind: str, split: Mapping[str, int]) -> Config:
    match = {"prefix": "/v1/", "headers": [header_is(_CLASS, lane.name), header_is(_STREAM, kind)]}
    return _rule(f"{lane.name}.{kind}", match, lane, kind, split)


def _rule(rule_name: str, match: Config, lane: document.LaneRoute, kind: str, split: Mapping[str, int]) -> Config:
    return {
        "name": rule_name,
        "match": match,
        "route": _target(lane, split) | _times(lane, kind) | {"retry_policy": _RETRY},
        "response_headers_to_add": [set_header("x-fairlane-lane", lane.name)],
    }


def _target(lane: document.LaneRoute, split: Mapping[str, int]) -> Config:
    """A role without weight is not named at all: a retry must not reach it either."""
    name = clusters.name(lane.name)
    if len(split) < 2:
        return {"cluster": name, "metadata_match": _role(next(iter(split), "stable"))}
    entries = [{"name": name, "weight": split[role], "metadata_match": _role(role)} for role in sorted(split, reverse=True)]
    return {"weighted_clusters": {"clusters": entries}}


def _role(role: str) -> Config:
    return {"filter_metadata": {"envoy.lb": {"role": role}}}


def _times(lane: document.LaneRoute, kind: str) -> Config:
    """Streams: time between bytes and in all. Whole answers: time in all. Unread: the longer of both between bytes."""
    if kind == "0":
        limit = min(lane.non_streaming_seconds, lane.total_seconds)   # no max_stream_duration beside it: Envoy then ignores the timeout (measured)
        return {"timeout": seconds(limit), "idle_timeout": seconds(limit + 5)}
    idle = lane.idle_seconds if kind == "1" else max(lane.idle_seconds, lane.non_streaming_seconds)
    return {"timeout": "0s", "idle_timeout": seconds(idle), "max_stream_duration": {"max_stream_duration": seconds(lane.total_seconds)}}


def _fallbacks(route: document.RouteDocument, splits: Mapping[str, Mapping[str, int]]) -> Iterable[Config]:
    """What the script could not classify, for whatever reason, goes to the default lane."""
    for lane in route.lanes:
        if lane.name == route.default_lane:
            yield _rule("fallback", {"prefix": "/v1/"}, lane, "unknown", splits[lane.name])
            named = _rule("fallback.named", {"prefix": "/lanes/"}, lane, "unknown", splits[lane.name])
            named["route"] |= {"regex_rewrite": {"pattern": {"regex": "^/lanes/[^/]*/"}, "substitution": "/"}}
            yield named


def _not_found() -> dict[str, Any]:
    text = "No such path. Requests go to /v1/... or /lanes/<lane>/v1/..."
    return {"name": "not-found", "match": {"prefix": "/"}, "direct_response": {"status": 404, "body": {"inline_string": text}}}
