"""What Envoy writes down: a JSON line for each request, and the statistics of each try that the judge reads."""

from collections.abc import Iterable

from . import metrics
from .protos import Config, extension

_LANE = "%REQ(X-FAIRLANE-CLASS)%"
_REVISION = "%UPSTREAM_METADATA(envoy.lb:revision)%"
_OUTCOME = {metrics.CODE: "%RESPONSE_CODE%", metrics.FLAGS: "%RESPONSE_FLAGS%"}
_POST = {"header_filter": {"header": {"name": ":method", "string_match": {"exact": "POST"}}}}
_SYNTHETIC_MARK = "%REQ(X-FAIRLANE-SYNTHETIC)%"
_CLASSIFIED = {"header_filter": {"header": {"name": "x-fairlane-class", "present_match": True}}}
_SYNTHETIC = {"header_filter": {"header": {"name": "x-fairlane-synthetic", "present_match": True}}}
_OF_USERS = {"header_filter": {"header": {"name": "x-fairlane-synthetic", "present_match": True, "invert_match": True}}}
# The engine refused the connection, broke it, or spoke no HTTP.
_BROKEN = {"response_flag_filter": {"flags": ["UF", "UC", "UR", "LR", "UPE"]}}
# The lane's time was over. The router filter's log of tries does not know it: the request's own log does.
_HUNG = {"response_flag_filter": {"flags": ["UT", "SI", "DT", "UMSDR"]}}

LINE = {
    "time": "%START_TIME(%Y-%m-%dT%H:%M:%S.%3fZ)%",
    "request_id": "%REQ(X-REQUEST-ID)%",
    "method": "%REQ(:METHOD)%",
    "path": "%REQ(:PATH)%",
    "lane": _LANE,
    "rule": "%REQ(X-FAIRLANE-RULE)%",
    "synthetic": _SYNTHETIC_MARK,
    "track": "%UPSTREAM_METADATA(envoy.lb:track)%",
    "revision": _REVISION,
    "prompt_tokens": "%REQ(X-FAIRLANE-TOKENS)%",
    "tokens_asked": "%REQ(X-FAIRLANE-ASKED)%",
    "stream": "%REQ(X-FAIRLANE-STREAM)%",
    "code": "%RESPONSE_CODE%",
    "flags": "%RESPONSE_FLAGS%",
    "details": "%RESPONSE_CODE_DETAILS%",
    "attempts": "%UPSTREAM_REQUEST_ATTEMPT_COUNT%",
    "ttft_ms": "%COMMON_DURATION(DS_RX_BEG:US_RX_BODY_BEG:ms)%",
    "duration_ms": "%DURATION%",
    "bytes_in": "%BYTES_RECEIVED%",
    "bytes_out": "%BYTES_SENT%",
    "engine": "%UPSTREAM_HOST%",
    "client": "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%",
}


def of_requests() -> list[Config]:
    """Return the logs of what clients saw."""
    line = extension("envoy.access_loggers.stdout", "envoy.extensions.access_loggers.stream.v3.StdoutAccessLog", log_format={"json_format": LINE})
    return [
        line,
        _logged(_all(_CLASSIFIED, _OF_USERS), counters=[_answers(metrics.REQUESTS_STAT)]),
        _logged(_all(_CLASSIFIED, _SYNTHETIC), counters=[_answers(metrics.SYNTHETIC_STAT)]),
        _logged(_all(_POST, _HUNG), counters=[_counter(metrics.FAILURES_STAT)]),
        _logged(_all(_POST, _HUNG, _code("EQ", 504)), counters=[_counter(metrics.TRIES_STAT)]),   # no header came: the log of tries saw no answer
    ]


def of_tries() -> list[Config]:
    """Return the logs of what engines were asked, retries and what they hid among them."""
    answered_or_broken = {"or_filter": {"filters": [_code("GE", 100), _BROKEN]}}
    failed = {"or_filter": {"filters": [_code("GE", 500), _BROKEN]}}
    whole = _all(_POST, _code("EQ", 200), _expression("!has(response.flags) || response.flags == 0"))
    streamed = _all(_POST, _code("EQ", 200), _expression("response.headers['content-type'].startsWith('text/event-stream') && response.size > 0"))
    return [
        _logged(_all(_POST, answered_or_broken), counters=[_counter(metrics.TRIES_STAT)]),
        _logged(_all(_POST, failed), counters=[_counter(metrics.FAILURES_STAT)]),
        _logged(streamed, histograms=[_histogram(metrics.TTFT_STAT, "US_TX_BEG:US_RX_BODY_BEG")]),
        _logged(whole, histograms=[_histogram(metrics.DURATION_STAT, "US_TX_BEG:US_RX_END")]),
    ]


def _logged(match: Config, *, counters: Iterable[Config] = (), histograms: Iterable[Config] = ()) -> Config:
    return extension(
        "envoy.access_loggers.stats",
        "envoy.extensions.access_loggers.stats.v3.Config",
        stats_scope={"prefix": metrics.SCOPE},
        counters=list(counters),
        histograms=list(histograms),
    ) | {"filter": match}


def _tags(values: dict[str, str]) -> list[Config]:
    return [{"name": name, "value_format": value} for name, value in values.items()]


def _counter(stat: str) -> Config:
    tags = _tags({metrics.LANE: _LANE, metrics.REVISION: _REVISION, metrics.SYNTHETIC: _SYNTHETIC_MARK, **_OUTCOME})
    return {"stat": {"name": stat, "tags": tags}, "value_fixed": 1}


def _answers(stat: str) -> Config:
    """Answers of our own have no revision, which a header of the answer says and the engine's metadata would not."""
    return {"stat": {"name": stat, "tags": _tags({metrics.LANE: _LANE, metrics.REVISION: "%RESP(X-FAIRLANE-REVISION)%", **_OUTCOME})}, "value_fixed": 1}


def _histogram(stat: str, span: str) -> Config:
    tags = _tags({metrics.LANE: _LANE, metrics.REVISION: _REVISION, metrics.SYNTHETIC: _SYNTHETIC_MARK})
    return {"stat": {"name": stat, "tags": tags}, "unit": "Milliseconds", "value_format": f"%COMMON_DURATION({span}:ms)%"}


def _all(*filters: Config) -> Config:
    return {"and_filter": {"filters": list(filters)}}


def _code(op: str, value: int) -> Config:
    return {"status_code_filter": {"comparison": {"op": op, "value": {"default_value": value, "runtime_key": f"fairlane.logs.{op.lower()}.{value}"}}}}


def _expression(text: str) -> Config:
    kind = "envoy.extensions.access_loggers.filters.cel.v3.ExpressionFilter"
    return {"extension_filter": extension("envoy.access_loggers.extension_filters.cel", kind, expression=text)}
