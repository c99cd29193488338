"""The pod template of a lane's engine."""

import dataclasses
from typing import Any

from ...api import spec as specs
from .. import names
from . import lifecycle, models, versions

_HOME = "/home/fairlane"
_UID = 65532
_CACHE = f"{_HOME}/.cache"
_PARALLEL = ("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size", "prefill-context-parallel-size")

# The root is read-only: everything that vLLM, torch and Triton write goes below the home folder. torch asks for the user's name and fails on a uid without one.
_ENV = {
    "HOME": _HOME, "USER": "fairlane", "LOGNAME": "fairlane", "TMPDIR": "/tmp",
    "XDG_CACHE_HOME": _CACHE, "HF_HOME": f"{_CACHE}/huggingface", "VLLM_CACHE_ROOT": f"{_CACHE}/vllm",
    "TORCHINDUCTOR_CACHE_DIR": f"{_CACHE}/torchinductor", "TRITON_CACHE_DIR": f"{_CACHE}/triton",
    "VLLM_NO_USAGE_STATS": "1", "VLLM_ENGINE_READY_TIMEOUT_S": str(lifecycle.LOADING_SECONDS),
}


@dataclasses.dataclass(frozen=True)
class Parts:
    """What a template is made of, all decided."""

    service: str
    lane: str
    engine: specs.Engine
    version: versions.Version
    source: models.Source
    command: list[str]
    gpus: int
    drain_seconds: int


def gpus(flags: dict[str, Any]) -> int:
    """Return how many accelerators one engine needs: the product of its parallel sizes."""
    count = 1
    for name in _PARALLEL:
        count *= int(flags.get(name, 1))
    return count


def template(parts: Parts) -> dict[str, Any]:
    """Return the PodTemplateSpec, before the user's own fragment. The revision's label is added where the revision is known."""
    product = parts.engine.gpu.product
    spec: dict[str, Any] = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,     # a Service named vllm would set VLLM_PORT, which vLLM reads as its own
        "terminationGracePeriodSeconds": lifecycle.grace_seconds(parts.drain_seconds),
        "securityContext": {
            "runAsNonRoot": True, "runAsUser": _UID, "runAsGroup": _UID, "fsGroup": _UID, "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(parts)],
        "volumes": [
            {"name": "home", "emptyDir": {}},
            {"name": "tmp", "emptyDir": {}},
            {"name": "shm", "emptyDir": {"medium": "Memory"}},
            *parts.source.volumes,
        ],
    }
    if product is not None:
        spec["nodeSelector"] = {"nvidia.com/gpu.product": product}   # set by the GPU operator's feature discovery
    return {"metadata": _metadata(parts), "spec": spec}


def _metadata(parts: Parts) -> dict[str, Any]:
    scrape = {"prometheus.io/scrape": "true", "prometheus.io/port": str(names.ENGINE_PORT), "prometheus.io/path": "/metrics"}
    return {"labels": names.labels(parts.service, "engine", parts.lane), "annotations": scrape}


def _container(parts: Parts) -> dict[str, Any]:
    accelerators = {parts.engine.gpu.resource: str(parts.gpus)}
    return {
        "name": names.ENGINE_CONTAINER,
        "image": parts.engine.image,
        "imagePullPolicy": "IfNotPresent",
        "command": parts.command,
        "ports": [{"name": "http", "containerPort": names.ENGINE_PORT, "protocol": "TCP"}],
        "env": _env(parts),
        "resources": {"requests": accelerators, "limits": accelerators},
        "volumeMounts": [
            {"name": "home", "mountPath": _HOME},
            {"name": "tmp", "mountPath": "/tmp"},
            {"name": "shm", "mountPath": "/dev/shm"},
            *parts.source.mounts,
        ],
        "lifecycle": {"preStop": lifecycle.pre_stop(parts.version, parts.drain_seconds)},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
        **lifecycle.probes(),
    }


def _env(parts: Parts) -> list[dict[str, Any]]:
    named: dict[str, dict[str, Any]] = {name: {"name": name, "value": value} for name, value in _ENV.items()}
    return list((named | {entry["name"]: entry for entry in parts.source.env}).values())
