"""Envoy's bootstrap: everything that never changes while a pod lives."""

from . import metrics
from . import place as places
from .protos import Config, extension, header_is

RUNTIME_LAYER = "fairlane"


def build(place: places.Place, node: str) -> Config:
    """Return the bootstrap."""
    return {
        "node": {"id": node, "cluster": "fairlane-router"},
        "admin": {"address": {"pipe": {"path": place.admin, "mode": 0o600}}},
        "dynamic_resources": {"lds_config": place.source("lds.json"), "cds_config": place.source("cds.json")},
        "static_resources": {"listeners": [_metrics_listener(place)], "clusters": [_admin_cluster(place)]},
        "stats_config": {"histogram_bucket_settings": [{"match": {"safe_regex": {"regex": _histograms()}}, "buckets": list(metrics.BUCKETS_MS)}]},
        "stats_flush_interval": "1s",   # histograms show what is older than this
        "layered_runtime": {"layers": [_bounds_layer(place), {"name": "admin", "admin_layer": {}}]},
        "overload_manager": _overload(),
    }


def _bounds_layer(place: places.Place) -> Config:
    return {"name": RUNTIME_LAYER, "rtds_layer": {"name": RUNTIME_LAYER, "rtds_config": place.source("rtds.json")}}


def _histograms() -> str:
    return rf"^{metrics.SCOPE}\.({metrics.TTFT_STAT}|{metrics.DURATION_STAT}).*"


def _overload() -> Config:
    monitor = extension(
        "envoy.resource_monitors.global_downstream_max_connections",
        "envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig",
        max_active_downstream_connections=50_000,
    )
    return {"refresh_interval": "0.25s", "resource_monitors": [monitor]}


def _metrics_listener(place: places.Place) -> Config:
    """Statistics and readiness, by GET, and nothing else of the admin interface."""
    routes = [{"match": {"path": path, "headers": [header_is(":method", "GET")]}, "route": {"cluster": "admin"}} for path in ("/stats/prometheus", "/ready")]
    manager = extension(
        "envoy.filters.network.http_connection_manager",
        "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        stat_prefix="metrics",
        http_filters=[extension("envoy.filters.http.router", "envoy.extensions.filters.http.router.v3.Router")],
        route_config={"name": "metrics", "virtual_hosts": [{"name": "metrics", "domains": ["*"], "routes": routes}]},
    )
    return {
        "name": "metrics",
        "address": {"socket_address": {"address": place.address, "port_value": place.metrics_port}},
        "ignore_global_conn_limit": True,
        "filter_chains": [{"filters": [manager]}],
    }


def _admin_cluster(place: places.Place) -> Config:
    endpoint = {"endpoint": {"address": {"pipe": {"path": place.admin}}}}
    assignment = {"cluster_name": "admin", "endpoints": [{"lb_endpoints": [endpoint]}]}
    return {"name": "admin", "type": "STATIC", "connect_timeout": "1s", "load_assignment": assignment}
