"""A pod's fragment as users write it, for engines and routers alike: which parts it has, and what of it is ours."""

from collections.abc import Mapping
from typing import Any

from .. import errors

_NEEDED = ("containers", "initContainers", "volumes")
_OURS = ("fairlane.dev/", "app.kubernetes.io/managed-by")


def parts(fragment: Mapping[str, Any], path: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return metadata and spec of a fragment; Refused, below `path`, where it has others, or labels that say whose pod it is."""
    _only(path, fragment, {"metadata", "spec"})
    metadata, spec = (mapping(f"{path}.{part}", fragment.get(part)) for part in ("metadata", "spec"))
    _only(f"{path}.metadata", metadata, {"labels", "annotations"})
    for part in ("labels", "annotations"):
        for key in mapping(f"{path}.metadata.{part}", metadata.get(part)):
            if key.startswith(_OURS):
                raise errors.Refused(f"{path}.metadata.{part}.{key}", "it says whose pod this is; leave it out")
    for key in _NEEDED:
        if key in spec and spec[key] is None:
            raise errors.Refused(f"{path}.spec.{key}", "null would remove what the pod needs; leave it out")
    return metadata, spec


def mapping(path: str, value: Any) -> dict[str, Any]:
    """Return the value as an object with text as keys, null as an empty one; Refused where it is none."""
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise errors.Refused(path, f"{value!r} must be an object")
    return value


def _only(path: str, patch: Mapping[str, Any], allowed: set[str]) -> None:
    for key in patch:
        if key not in allowed:
            raise errors.Refused(f"{path}.{key}", f"a pod's fragment has only {' and '.join(sorted(allowed))} here")
