"""The pod that reads the files of a model on a claim, once: it may go where the engines may, and tells what it found as it ends."""

from collections.abc import Mapping
from typing import Any

from ...api import spec as specs
from .. import names, service
from ..engine import models

COMPONENT = "model"
_USER = 65532
_DEADLINE_SECONDS = 120
_GRACE_SECONDS = 5
# Of the engine's pod: who may read the claim. What else its user asks for is not for this pod.
_READS = ("runAsUser", "runAsGroup", "fsGroup", "fsGroupChangePolicy", "supplementalGroups", "supplementalGroupsPolicy", "seLinuxOptions")


def pod(ref: service.ServiceRef, spec: specs.LLMServiceSpec, engine: Mapping[str, Any], image: str) -> dict[str, Any]:
    """Return the Pod for `spec.model.uri`, which is of a claim. `engine` is the spec of an engine's pod, `image` Fairlane's own."""
    wanted = _spec(ref, spec, engine, image)
    name = names.model_reader(ref.name, [spec.model.uri, wanted])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": ref.metadata(name, names.labels(ref.name, COMPONENT)), "spec": wanted}


def _spec(ref: service.ServiceRef, spec: specs.LLMServiceSpec, engine: Mapping[str, Any], image: str) -> dict[str, Any]:
    source = models.resolve(spec.model)
    found: dict[str, Any] = {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": _DEADLINE_SECONDS,
        "terminationGracePeriodSeconds": _GRACE_SECONDS,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": _security(_mapping(engine.get("securityContext"))),
        "containers": [_container(source, image)],
        "volumes": list(source.volumes),
        "affinity": _affinity(ref, _mapping(engine.get("affinity"))),
        "tolerations": [*_list(engine.get("tolerations")), _gpu_nodes(spec.engine.gpu)],
    }
    if selector := _mapping(engine.get("nodeSelector")):
        found["nodeSelector"] = selector
    if secrets := _list(_mapping(spec.router.pod.get("spec")).get("imagePullSecrets")):   # the router's pods have the same image
        found["imagePullSecrets"] = secrets
    return found


def _security(engine: Mapping[str, Any]) -> dict[str, Any]:
    """Never root, even where the engine is."""
    plain = {"runAsUser": _USER, "runAsGroup": _USER, "fsGroup": _USER, "fsGroupChangePolicy": "OnRootMismatch"}
    given = {key: engine[key] for key in _READS if key in engine}
    if not given.get("runAsUser"):
        given.pop("runAsUser", None)
    return plain | given | {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def _affinity(ref: service.ServiceRef, engine: Mapping[str, Any]) -> dict[str, Any]:
    """The engine's nodes, best one that has an engine: a claim may be of one node at a time (ReadWriteOnce)."""
    selector = {"matchLabels": {names.SERVICE_LABEL: ref.name, names.COMPONENT_LABEL: "engine"}}
    beside = {"weight": 100, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}}
    nodes = {"nodeAffinity": engine["nodeAffinity"]} if engine.get("nodeAffinity") else {}
    return nodes | {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [beside]}}


def _gpu_nodes(gpu: specs.Gpu) -> dict[str, Any]:
    """A pod that asks for a GPU gets this by itself where the API server has the plugin ExtendedResourceToleration; this one asks for none."""
    return {"key": gpu.resource, "operator": "Exists", "effect": "NoSchedule"}


def _container(source: models.Source, image: str) -> dict[str, Any]:
    return {
        "name": COMPONENT,
        "image": image,
        "command": ["python", "-m", "fairlane", "model", source.argument],
        "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}},   # an index of 32 MiB as Python objects
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": list(source.mounts),
    }


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
