"""Values of a model's config.json, which anybody may have written."""

import collections
from collections.abc import Mapping
from typing import Any

_MOST = 2**31                  # above it no field of a model means anything
_ELEMENT_BYTES = {"bfloat16": 2, "float16": 2, "half": 2, "float32": 4, "float": 4}


class Nonsense(Exception):
    """A field holds what it cannot hold. The message names the field and the value."""

    def __init__(self, name: str, value: Any, wanted: str) -> None:
        super().__init__(f"config.json: {name} is {_short(value)}, {wanted}")


def text_of(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of the language model; a model that also sees keeps them in `text_config`. Nonsense where that is no object."""
    nested = config.get("text_config")
    if nested is None:
        return config
    if not isinstance(nested, Mapping):
        raise Nonsense("text_config", nested, "no object")
    return collections.ChainMap(dict(nested), dict(config))


def count(config: Mapping[str, Any], name: str) -> int:
    """Return a whole number above 0; Nonsense where it is none or missing."""
    found = optional(config, name)
    if found is None:
        raise Nonsense(name, None, "but it is needed")
    return found


def optional(config: Mapping[str, Any], name: str) -> int | None:
    """Return a whole number above 0, or None where the field is missing or null; Nonsense for anything else."""
    value = config.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < _MOST:
        raise Nonsense(name, value, "no whole number above 0")
    return value


def first(config: Mapping[str, Any], *names: str) -> int | None:
    """Return the first of these fields that is there, as `optional` does; 0 counts as missing."""
    return next((optional(config, name) for name in names if config.get(name) not in (None, 0)), None)


def flag(config: Mapping[str, Any], name: str, default: bool) -> bool:
    """Return a boolean; Nonsense where it is none."""
    value = config.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise Nonsense(name, value, "neither true nor false")
    return value


def words(config: Mapping[str, Any], name: str) -> list[str]:
    """Return a list of strings, empty where the field is missing; Nonsense where it is none."""
    value = config.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Nonsense(name, value, "no list of words")
    return value


def element_bytes(config: Mapping[str, Any]) -> int | None:
    """Return the bytes of one number as the checkpoint's `dtype` (or `torch_dtype`) has it; None where it says none, Nonsense where it is unknown."""
    name = "dtype" if config.get("dtype") is not None else "torch_dtype"
    value = config.get(name)
    if value is None:
        return None
    size = _ELEMENT_BYTES.get(value.removeprefix("torch.")) if isinstance(value, str) else None
    if size is None:
        raise Nonsense(name, value, f"none of {', '.join(_ELEMENT_BYTES)}")
    return size


def _short(value: Any) -> str:
    if value is None:
        return "missing"
    try:
        text = repr(value)
    except ValueError:         # Python prints no number of more than 4300 digits
        return "a number without end"
    return text if len(text) <= 40 else f"{text[:40]}…"
