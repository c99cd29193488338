"""Which fields of two specs differ, and which of them need a canary."""

from collections.abc import Iterator, Mapping
from typing import Any

from ...api import spec as specs
from . import types

_OF_PODS = ("profile", "scheduler", "flags")     # of a lane: they change what an engine pod is
_NO_POD = "engine.gpu.memory"                    # says which of vLLM's defaults hold, and nothing to a pod


def of_lane(before: specs.LLMServiceSpec, after: specs.LLMServiceSpec, name: str) -> tuple[tuple[types.Difference, ...], tuple[types.Difference, ...]]:
    """Return the lane's differences: those that make another revision, the model's and the engine's among them, and those that apply at once."""
    old, new = _lane(before, name), _lane(after, name)
    own = [item for item in _between(old, new, f"lanes[{name}]") if item.field != f"lanes[{name}].name"]
    pods = tuple(item for item in own if item.field.removeprefix(f"lanes[{name}].").partition(".")[0] in _OF_PODS)
    shared = tuple(item for part in ("model", "engine") for item in _between(_dump(before)[part], _dump(after)[part], part) if item.field != _NO_POD)
    return shared + pods, tuple(item for item in own if item not in pods)


def outside(before: specs.LLMServiceSpec, after: specs.LLMServiceSpec) -> tuple[types.Difference, ...]:
    """Return the differences of what is no lane's: router, rollout, metrics. They apply at once."""
    old, new = _dump(before), _dump(after)
    return tuple(item for part in ("router", "rollout", "metrics") for item in _between(old[part], new[part], part))


def _lane(spec: specs.LLMServiceSpec, name: str) -> Any:
    return next(lane for lane in _dump(spec)["lanes"] if lane["name"] == name)


def _dump(spec: specs.LLMServiceSpec) -> dict[str, Any]:
    return spec.model_dump(mode="json", by_alias=True, exclude_none=True)


def _between(before: Any, after: Any, path: str) -> Iterator[types.Difference]:
    """The leaves that differ; lists count as leaves."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            yield from _between(before.get(key), after.get(key), f"{path}.{key}")
    elif before != after:
        if isinstance(before or after, Mapping) and (before or {}) != (after or {}):
            for key in sorted({*(before or {}), *(after or {})}):
                yield from _between((before or {}).get(key), (after or {}).get(key), f"{path}.{key}")
        elif (before or None) != (after or None):
            yield types.Difference(path, before, after)
