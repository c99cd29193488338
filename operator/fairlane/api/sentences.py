"""Problems that pydantic finds, as sentences: the field, its value, what is wrong."""

import json
from collections.abc import Mapping, Sequence
from typing import Any


def problem(root: str, found: Mapping[str, Any]) -> str:
    """Return one entry of `ValidationError.errors()` as a sentence."""
    path = field((root, *found["loc"]))
    if found["type"] == "missing":
        return f"{path}: is required"
    if found["type"] == "extra_forbidden":
        return f'unknown field "{path}"'
    return f"{path}: {json.dumps(found['input'], default=str)[:100]}: {found['msg']}"


def field(path: Sequence[str | int]) -> str:
    """Return a path as the API server writes it: `spec.lanes[0].name`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
