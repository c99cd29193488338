"""`spec.engine.pod`: what users may add to an engine's pod, and what they may not change."""

from typing import Any

from .. import errors, names
from . import fragments, strategic

_PATH = "spec.engine.pod"
_ENGINE_PATH = f"{_PATH}.spec.containers[{names.ENGINE_CONTAINER}]"
_POD_RULES = {
    "restartPolicy": "a Deployment restarts its containers always",
    "hostPID": "the engine must be process 1 of its container to get its signals",
    "shareProcessNamespace": "the engine must be process 1 of its container to get its signals",
}
_ENGINE_RULES = {
    "image": "set spec.engine.image",
    "command": "Fairlane writes the command line; set flags",
    "args": "Fairlane writes the command line; set flags",
    "ports": "the router and the probes use the port that Fairlane sets",
    "lifecycle": "the drain of what runs hangs on it",
}


def apply(template: dict[str, Any], patch: dict[str, Any], gpu_resource: str) -> dict[str, Any]:
    """Return the template with the user's fragment merged into it; Refused where that would change what identifies or drives the engine."""
    metadata, spec = fragments.parts(patch, _PATH)
    _refuse(f"{_PATH}.spec", spec, _POD_RULES)
    merged = strategic.merge(template, {"metadata": metadata, "spec": spec}, _PATH)
    for container in spec.get("containers", []):
        if container["name"] == names.ENGINE_CONTAINER:
            _check_engine(container, gpu_resource)
    return merged


def _check_engine(container: dict[str, Any], gpu_resource: str) -> None:
    if "$patch" in container:
        raise errors.Refused(_ENGINE_PATH, "the engine's container cannot be removed")
    _refuse(_ENGINE_PATH, container, _ENGINE_RULES)
    for part, amounts in fragments.mapping(f"{_ENGINE_PATH}.resources", container.get("resources")).items():
        if isinstance(amounts, dict) and gpu_resource in amounts:
            field = f"{_ENGINE_PATH}.resources.{part}.{gpu_resource}"
            raise errors.Refused(field, "it follows from spec.engine.gpu and the parallel sizes; set tensorParallelSize")


def _refuse(path: str, patch: dict[str, Any], rules: dict[str, str]) -> None:
    for key, reason in rules.items():
        if key in patch:
            raise errors.Refused(f"{path}.{key}", f"it cannot be changed: {reason}")
