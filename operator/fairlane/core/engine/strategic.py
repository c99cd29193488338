"""Kubernetes' strategic merge for pod templates: lists of named things merge by their key, other lists are replaced.

Keys as in k8s.io/api/core/v1 (patchMergeKey). A null or `$patch: delete` removes.
What is one of several kinds (a volume's source, an env's value, a probe's handler) is never a mix of two.
"""

from collections.abc import Mapping
from typing import Any

from .. import errors

_KEYS = {
    "containers": "name", "initContainers": "name", "volumes": "name", "env": "name",
    "imagePullSecrets": "name", "schedulingGates": "name", "resourceClaims": "name",
    "volumeMounts": "mountPath", "volumeDevices": "devicePath", "ports": "containerPort", "hostAliases": "ip", "topologySpreadConstraints": "topologyKey",
}
_WHOLE = frozenset({"volumes", "env"})                                    # items that are one of several kinds
_HANDLERS = frozenset({"exec", "httpGet", "tcpSocket", "grpc", "sleep"})  # of a probe or a hook: one of them


def merge(base: Mapping[str, Any], patch: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return `base` with `patch` over it; Refused, below `path`, where the patch has another shape than its field."""
    if "$patch" in patch:
        raise errors.Refused(f"{path}.$patch", f"{patch['$patch']!r} is not supported here; only `$patch: delete` of an item of a list is")
    if _HANDLERS & patch.keys():
        base = {key: value for key, value in base.items() if key not in _HANDLERS}
    merged = dict(base)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _value(key, merged.get(key), value, f"{path}.{key}")
    return merged


def _value(key: str, base: Any, patch: Any, path: str) -> Any:
    if key in _KEYS:
        return _items(key, base or [], _named(patch, _KEYS[key], path), path)
    if isinstance(base, dict):
        if not isinstance(patch, dict):
            raise errors.Refused(path, f"{patch!r} must be an object")
        return merge(base, patch, path)
    if isinstance(base, list) and not isinstance(patch, list):
        raise errors.Refused(path, f"{patch!r} must be a list")
    return merge({}, patch, path) if isinstance(patch, dict) else patch


def _named(patch: Any, merge_key: str, path: str) -> list[dict[str, Any]]:
    """The patch as a list of objects that all have the merge key."""
    if not isinstance(patch, list) or not all(isinstance(item, dict) and _is_key(item.get(merge_key)) for item in patch):
        raise errors.Refused(path, f"must be a list of objects that each have {merge_key}, which is text or a number")
    return patch


def _is_key(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _items(key: str, base: list[dict[str, Any]], patch: list[dict[str, Any]], path: str) -> list[dict[str, Any]]:
    """Items of the base keep their place; new ones follow in the patch's order."""
    merge_key = _KEYS[key]
    merged = {item[merge_key]: item for item in base}
    for item in patch:
        name = item[merge_key]
        if item.get("$patch") == "delete":
            merged.pop(name, None)
        else:
            old = {} if key in _WHOLE else merged.get(name, {})
            merged[name] = merge(old, item, f"{path}[{name}]")
    return list(merged.values())
