"""Answers that the router gives itself, in the shape of the OpenAI API's errors."""

from typing import Any

from .protos import Config, set_header

RETRY_AFTER_OVERLOADED = "1"    # a slot of a lane comes free within about a second
RETRY_AFTER_UNAVAILABLE = "5"   # an engine comes back into rotation within about five

_LANE = "%REQ(X-FAIRLANE-CLASS)%"


def build() -> Config:
    """Return the local replies. Order matters: an exhausted retry budget carries UO beside UF, and a crash must not look like a busy lane."""
    return {
        "mappers": [_as_written(), _timeout(), _unavailable(), _overloaded(), *(_by_status(status, code) for status, code in _STATUS_CODES)],
        "body_format": _body("%LOCAL_REPLY_BODY%", "router_error", "router_error"),
    }


_STATUS_CODES = ((400, "bad_request"), (403, "synthetic_refused"), (404, "not_found"), (413, "request_too_large"))


def _body(message: str, kind: str, code: str) -> Config:
    error = {"message": message, "type": kind, "param": None, "code": code, "request_id": "%REQ(X-REQUEST-ID)%"}
    return {"json_format": {"error": error}}


def _flags(*flags: str) -> Config:
    return {"response_flag_filter": {"flags": list(flags)}}


def _reply(match: Config, status: int, body: Config, *, retry_after: str = "") -> Config:
    headers = [set_header("x-fairlane-lane", _LANE), *([set_header("retry-after", retry_after)] if retry_after else [])]
    return {"filter": match, "status_code": status, "body_format_override": body, "headers_to_add": headers}


def _as_written() -> Config:
    """What the script refused: its body is the answer."""
    refused = {"header_filter": {"header": {"name": "x-fairlane-refused", "present_match": True}}}
    body: dict[str, Any] = {"text_format_source": {"inline_string": "%LOCAL_REPLY_BODY%"}, "content_type": "application/json"}
    return {"filter": {"and_filter": {"filters": [refused, _status(400)]}}, "body_format_override": body}


def _timeout() -> Config:
    message = f"Lane {_LANE} did not answer within its time limit (spec.lanes[].timeouts)."
    return _reply(_flags("UT", "SI", "DT", "UMSDR"), 504, _body(message, "timeout_error", "upstream_timeout"))


def _unavailable() -> Config:
    message = f"Lane {_LANE} has no engine that could answer (%RESPONSE_FLAGS%); retry later."
    body = _body(message, "service_unavailable_error", "lane_unavailable")
    return _reply(_flags("UH", "UF", "UC", "UR", "URX", "NC", "UPE", "LR"), 503, body, retry_after=RETRY_AFTER_UNAVAILABLE)


def _overloaded() -> Config:
    message = f"Lane {_LANE} has all the requests in flight that it may have; retry after {RETRY_AFTER_OVERLOADED} s."
    return _reply(_flags("UO"), 429, _body(message, "rate_limit_error", "lane_overloaded"), retry_after=RETRY_AFTER_OVERLOADED)


def _status(status: int) -> Config:
    return {"status_code_filter": {"comparison": {"op": "EQ", "value": {"default_value": status, "runtime_key": f"fairlane.reply.{status}"}}}}


def _by_status(status: int, code: str) -> Config:
    return {"filter": _status(status), "body_format_override": _body("%LOCAL_REPLY_BODY%", "invalid_request_error", code)}
