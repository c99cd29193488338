"""A flag's value as people write it, as vLLM takes it, and as the command line spells it."""

import json
import math
import re
from typing import Any, TypeVar

from .. import errors
from . import catalog, versions

_HUMAN = re.compile(r"(\d+(?:\.\d+)?)([kKmMgGtT]?)")
_DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_WHOLE = re.compile(r"-?\d+(_\d+)*")     # as Python reads a number, which vLLM leaves it to
_BOOLS = {"true": True, "false": False}
_Number = TypeVar("_Number", int, float)


def normalise(field: str, flag: catalog.Flag, value: Any, version: versions.Version) -> Any:
    """Return the value as its kind's Python type, so that two spellings of one value are equal; Refused where it is none of the flag's."""
    if value is None:
        raise errors.Refused(field, "null is no value; leave the flag out")
    if flag.auto_since is not None and value in ("auto", -1, "-1"):
        return _auto(field, flag.auto_since, version)
    match flag.kind:
        case "bool" | "switch" | "truth":
            return _bool(field, value)
        case "int" | "human":
            return _in_range(field, flag, _int(field, value, is_human=flag.kind == "human"))
        case "float":
            return _in_range(field, flag, _float(field, value))
        case "list" | "repeat":
            items = value if isinstance(value, list) else [value]
            return [_any(field, flag, item, version) for item in items]
        case _:
            return _any(field, flag, value, version)


def spelled(flag: catalog.Flag, name: str, value: Any) -> list[str]:
    """Return the words of the command line for a normalised value. `name` is the flag's, or has a part after a dot."""
    if flag.kind == "truth":
        return [f"--{name}={value}"]
    if isinstance(value, bool) and name == flag.name:
        if value:
            return [f"--{name}"]
        return [f"--no-{name}"] if flag.kind == "bool" else []
    words = [_word(item) for item in value] if flag.kind in ("list", "repeat") else [_word(value)]
    if flag.kind == "repeat":
        return [f"--{name}={word}" for word in words]
    if len(words) == 1 and words[0].startswith("-"):
        return [f"--{name}={words[0]}"]
    return [f"--{name}", *words]


def human(text: str) -> int | None:
    """Return the number that vLLM reads: `8k` is 8000, `8K` is 8192, `32.5k` is 32500; None where it reads none. (vllm/utils/argparse_utils.py)"""
    found = _HUMAN.fullmatch(text.strip())
    if found is None:
        return None
    number, suffix = found.groups()
    if suffix in _DECIMAL:
        return int(float(number) * _DECIMAL[suffix])
    return int(number) * _BINARY.get(suffix, 1) if number.isdigit() else None


def _auto(field: str, since: versions.Version, version: versions.Version) -> str:
    if version < since:
        raise errors.Refused(field, f"vLLM {version} does not know the value auto (since {since}); give a number")
    return "auto"


def _bool(field: str, value: Any) -> bool:
    parsed = _BOOLS.get(value.strip().lower()) if isinstance(value, str) else value
    if not isinstance(parsed, bool):
        raise errors.Refused(field, f"{value!r} is neither true nor false")
    return parsed


def _int(field: str, value: Any, *, is_human: bool) -> int:
    parsed: Any = value
    if isinstance(value, str):
        parsed = human(value) if is_human else (int(value) if _WHOLE.fullmatch(value.strip()) else None)
    if isinstance(parsed, bool) or not isinstance(parsed, int):
        remedy = "write it as 8192, 8k (8000) or 8K (8192)" if is_human else "write it in digits"
        raise errors.Refused(field, f"{value!r} is no whole number; {remedy}")
    return parsed


def _float(field: str, value: Any) -> float:
    try:
        parsed = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        parsed = math.nan
    if not math.isfinite(parsed):
        raise errors.Refused(field, f"{value!r} is no number; write it as 0.9")
    return parsed


def _in_range(field: str, flag: catalog.Flag, value: _Number) -> _Number:
    limits = (
        (flag.least is not None and value < flag.least, "at least", flag.least),
        (flag.above is not None and value <= flag.above, "above", flag.above),
        (flag.most is not None and value > flag.most, "at most", flag.most),
        (flag.below is not None and value >= flag.below, "below", flag.below),
    )
    wanted = [f"{words} {limit:g}" for broken, words, limit in limits if broken and limit is not None]
    if wanted:
        raise errors.Refused(field, f"{value} must be {wanted[0]}")
    return value


def _any(field: str, flag: catalog.Flag, value: Any, version: versions.Version) -> Any:
    if value is None or isinstance(value, bool):
        raise errors.Refused(field, f"{json.dumps(value)} is no value for {flag.name}; it takes text, a number or JSON")
    choices = flag.choices_in(version)
    if choices and (str(value).lower().replace("-", "_") if flag.folded else str(value)) not in choices:
        raise errors.Refused(field, f"{value!r} is none of {', '.join(choices)}")
    return value


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=(",", ":"))
