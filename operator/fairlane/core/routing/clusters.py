"""One Envoy cluster for each lane, its engines marked with revision and role.

A cluster says nothing that can change while its lane lives: Envoy makes a changed cluster anew and counts its requests in flight from zero.
Bounds are runtime values for that reason.
"""

from typing import Any

from . import document, endpoints
from . import place as places
from .protos import Config, typed

_NO_BOUND = 1_000_000


def name(lane: str) -> str:
    """Return the name of a lane's cluster."""
    return f"lane_{lane}"


def cluster(lane: str, place: places.Place) -> Config:
    """Return a lane's cluster."""
    return typed("envoy.config.cluster.v3.Cluster") | {
        "name": name(lane),
        "type": "EDS",
        "eds_cluster_config": {"service_name": name(lane), "eds_config": place.source(f"eds-{lane}.json")},
        "connect_timeout": "0.5s",
        "lb_policy": "LEAST_REQUEST",
        "least_request_lb_config": {"choice_count": 2},   # a full scan herds bursts onto one engine (measured)
        # An empty canary falls back to the stable; promotion changes endpoints, never this.
        "lb_subset_config": {"fallback_policy": "DEFAULT_SUBSET", "default_subset": {"role": "stable"}, "subset_selectors": [{"keys": ["role"]}]},
        "common_lb_config": {"healthy_panic_threshold": {"value": 20}},   # a wave of slow health checks must not close a lane
        "circuit_breakers": {"thresholds": [_threshold()]},
        "outlier_detection": _outliers(),
        "health_checks": [_health_check()],
        "ignore_health_on_host_removal": True,   # else a draining engine, whose /health says 200, keeps its traffic
        "typed_extension_protocol_options": {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": _protocol()},
    }


def _threshold() -> Config:
    budget = {"budget_percent": {"value": 25}, "min_retry_concurrency": 10}   # the default of 3 retries starves them (measured)
    return {"max_connections": _NO_BOUND, "max_requests": _NO_BOUND, "max_pending_requests": _NO_BOUND, "retry_budget": budget, "track_remaining": True}


def _outliers() -> Config:
    return {
        "split_external_local_origin_errors": True,
        "consecutive_local_origin_failure": 3,
        "consecutive_gateway_failure": 5,
        "enforcing_consecutive_gateway_failure": 100,
        "consecutive_5xx": 20,
        "enforcing_success_rate": 0,
        "interval": "1s",
        "base_ejection_time": "5s",
        "max_ejection_time": "60s",
        "max_ejection_percent": 50,
    }


def _health_check() -> Config:
    return {
        "timeout": "5s",
        "interval": "2s",
        "no_traffic_interval": "2s",   # the default of 60 s would leave a new lane without engines
        "unhealthy_threshold": 3,
        "healthy_threshold": 1,
        "http_health_check": {"path": "/health"},
    }


def _protocol() -> Config:
    return typed(
        "envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        explicit_http_config={"http_protocol_options": {}},
        common_http_protocol_options={"idle_timeout": "4s"},   # below uvicorn's keep-alive of 5 s, so that no request meets a closing connection
    )


def assignment(lane: document.LaneRoute, found: endpoints.Endpoints, reserve: bool) -> Config:
    """Return the engines of a lane that take requests. With `reserve` those that stand by are Envoy's second choice: checked, and there at once."""
    first: list[Config] = []
    second: list[Config] = []
    for track in lane.tracks:
        serving = endpoints.serving(found, lane.name, track.revision)
        waiting = endpoints.standing_by(track, serving) if reserve else ()
        for endpoint in serving:
            (second if endpoint in waiting else first).append(_entry(track, endpoint))
    resource = typed("envoy.config.endpoint.v3.ClusterLoadAssignment", cluster_name=name(lane.name))
    return resource | {"endpoints": _choices(first, second)}


def _choices(first: list[Config], second: list[Config]) -> list[Config]:
    return ([{"lb_endpoints": first}] if first else []) + ([{"priority": 1, "lb_endpoints": second}] if second else [])


def _entry(track: document.Track, endpoint: endpoints.Endpoint) -> Config:
    told = "stable" if track.role == "baseline" else track.role   # what clients and logs are told: a baseline is the stable to them
    return {
        "endpoint": {"address": {"socket_address": {"address": endpoint.address, "port_value": endpoint.port}}},
        "metadata": {"filter_metadata": {"envoy.lb": {"revision": track.revision, "role": track.role, "track": told}}},
    }


def runtime(route: document.RouteDocument) -> dict[str, Any]:
    """Return the bounds: each router's constant share of a lane's, rejecting at once what is above."""
    values: dict[str, Any] = {}
    for lane in route.lanes:
        if lane.max_in_flight:
            share = max(1, lane.max_in_flight // max(1, route.router_replicas))
            # As many may wait for a connection as may be in flight: fewer would refuse a cold burst below the bound.
            values |= {f"circuit_breakers.{name(lane.name)}.default.{bound}": share for bound in ("max_requests", "max_pending_requests")}
    return values
