"""Envoy's traffic listener: constant while a pod lives, so that no change of lanes drains a connection."""

import importlib.resources

from . import logs, replies, routes
from . import place as places
from .protos import Config, extension, set_header, typed

BUFFER_LIMIT = 16 * 1024 * 1024
"""Bytes of one request that may wait in memory: a chunked body is read whole before its lane is chosen, and a body up to this size can be retried."""

_SCRIPT = importlib.resources.files(__package__).joinpath("classify.lua").read_text(encoding="utf-8")

# Ours, and Envoy's own that would let a client change retries and time limits.
_STRIPPED = (
    *(f"x-fairlane-{name}" for name in ("class", "rule", "stream", "tokens", "asked", "refused", "track", "revision")),
    "x-envoy-retry-on", "x-envoy-max-retries", "x-envoy-retriable-status-codes", "x-envoy-retriable-header-names", "x-envoy-hedge-on-per-try-timeout",
    "x-envoy-upstream-rq-timeout-ms", "x-envoy-upstream-rq-per-try-timeout-ms", "x-envoy-upstream-stream-duration-ms", "x-envoy-upstream-alt-stat-name",
    "x-envoy-force-trace", "x-envoy-decorator-operation", "x-envoy-original-path",
)  # fmt: skip


def build(place: places.Place, tls: bool) -> Config:
    """Return the listener."""
    chain: Config = {"filters": [_manager(place)]}
    if tls:
        chain["transport_socket"] = _tls(place)
    return typed("envoy.config.listener.v3.Listener") | {
        "name": "traffic",
        "address": {"socket_address": {"address": place.address, "port_value": place.port}},
        "filter_chains": [chain],
        "per_connection_buffer_limit_bytes": BUFFER_LIMIT,
    }


def secret(place: places.Place) -> Config:
    """Return the certificate of the listener, read again when the Secret's volume changes."""
    files = {"certificate_chain": {"filename": f"{place.tls_dir}/tls.crt"}, "private_key": {"filename": f"{place.tls_dir}/tls.key"}}
    kind = "envoy.extensions.transport_sockets.tls.v3.Secret"
    return typed(kind, name="router", tls_certificate=files | {"watched_directory": {"path": place.tls_dir}})


def _tls(place: places.Place) -> Config:
    context = {"alpn_protocols": ["h2", "http/1.1"], "tls_certificate_sds_secret_configs": [{"name": "router", "sds_config": place.source("sds.json")}]}
    kind = "envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext"
    return extension("envoy.transport_sockets.tls", kind, common_tls_context=context)


def _manager(place: places.Place) -> Config:
    return extension(
        "envoy.filters.network.http_connection_manager",
        "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        stat_prefix="ingress",
        codec_type="AUTO",
        early_header_mutation_extensions=[_strip()],
        http_filters=_filters(),
        rds={"route_config_name": routes.NAME, "config_source": place.source("rds.json")},
        local_reply_config=replies.build(),
        access_log=logs.of_requests(),
        generate_request_id=True,
        preserve_external_request_id=True,
        always_set_request_id_in_response=True,
        use_remote_address=True,
        internal_address_config={},   # no client is trusted for its private address
        normalize_path=True,
        merge_slashes=True,
        path_with_escaped_slashes_action="REJECT_REQUEST",
        server_header_transformation="PASS_THROUGH",
        request_headers_timeout="10s",
        request_timeout="300s",
        stream_idle_timeout="300s",
        delayed_close_timeout="0.1s",   # a cut stream is seen at once
        common_http_protocol_options={"idle_timeout": "300s", "headers_with_underscores_action": "ALLOW"},
    )


def _strip() -> Config:
    kind = "envoy.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation"
    return extension("envoy.http.early_header_mutation.header_mutation", kind, mutations=[{"remove": name} for name in _STRIPPED])


def _filters() -> list[Config]:
    script = {"classify": {"inline_string": _SCRIPT}}
    probe = {"name": ":path", "string_match": {"safe_regex": {"regex": "/(readyz|health)"}}}
    return [
        extension("envoy.filters.http.health_check", "envoy.extensions.filters.http.health_check.v3.HealthCheck", pass_through_mode=False, headers=[probe]),
        extension("envoy.filters.http.lua", "envoy.extensions.filters.http.lua.v3.Lua", stat_prefix="classify", source_codes=script),
        extension(
            "envoy.filters.http.router",
            "envoy.extensions.filters.http.router.v3.Router",
            suppress_envoy_headers=True,
            upstream_log=logs.of_tries(),
            upstream_http_filters=_of_answers(),
        ),
    ]


def _of_answers() -> list[Config]:
    """Say who answered: beside an engine's answer only, which a route's own headers could not tell from ours."""
    told = {"x-fairlane-track": "%UPSTREAM_METADATA(envoy.lb:track)%", "x-fairlane-revision": "%UPSTREAM_METADATA(envoy.lb:revision)%"}
    mutations = {"response_mutations": [{"append": set_header(name, value)} for name, value in told.items()]}
    return [
        extension("envoy.filters.http.header_mutation", "envoy.extensions.filters.http.header_mutation.v3.HeaderMutation", mutations=mutations),
        extension("envoy.filters.http.upstream_codec", "envoy.extensions.filters.http.upstream_codec.v3.UpstreamCodec"),
    ]
