"""Short forms of what Envoy's configuration repeats."""

from typing import Any

Config = dict[str, Any]

_TYPES = "type.googleapis.com/"


def typed(kind: str, **fields: Any) -> Config:
    """Return an `Any` of the given protobuf message."""
    return {"@type": _TYPES + kind} | fields


def extension(name: str, kind: str, **fields: Any) -> Config:
    """Return a named extension with its configuration."""
    return {"name": name, "typed_config": typed(kind, **fields)}


def set_header(key: str, value: str) -> Config:
    """Return the setting of a header, whatever it was before."""
    return {"header": {"key": key, "value": value}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}


def header_is(name: str, value: str) -> Config:
    """Return the match of a header's whole value."""
    return {"name": name, "string_match": {"exact": value}}


def seconds(value: float) -> str:
    """Return a protobuf duration."""
    return f"{value:.3f}".rstrip("0").rstrip(".") + "s"
