"""The objects of a lane's synthetic load: one small pod without rights that sends, and the ConfigMap that tells it what."""

from collections.abc import Mapping
from typing import Any

import pydantic

from ...api import spec as specs
from .. import errors, names, service
from ..load import document

COMPONENT = "load"
_USER = 65532
_GRACE_SECONDS = 5     # it ends at once when it is told to
_PLACED = ("imagePullSecrets", "nodeSelector", "tolerations", "priorityClassName")   # of a pod of the same image: where the router may be, it may


def config_map(ref: service.ServiceRef, load: document.Load) -> dict[str, Any]:
    """Return the ConfigMap; a change of it reaches the pod within about a minute, without a restart."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": ref.metadata(names.load(ref.name, load.lane), _labels(ref, load.lane)),
        "data": {document.KEY: load.model_dump_json(indent=1)},
    }


def parse(stored: Mapping[str, Any]) -> document.Load:
    """Return what a ConfigMap tells; FairlaneError where it tells nothing that can be read."""
    try:
        return document.Load.model_validate_json((stored.get("data") or {}).get(document.KEY, ""))
    except pydantic.ValidationError as error:
        name = stored.get("metadata", {}).get("name", "")
        raise errors.FairlaneError(f"ConfigMap {name}: data[{document.KEY}] is no load ({error.error_count()} errors); it is written anew") from error


def deployment(ref: service.ServiceRef, lane: str, revision: str, image: str, router: specs.Router) -> dict[str, Any]:
    """Return the Deployment that sends beside one canary; the next canary's is another pod."""
    labels = _labels(ref, lane)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": ref.metadata(names.load(ref.name, lane), labels),
        "spec": {
            "replicas": 1,
            "revisionHistoryLimit": 0,
            "strategy": {"type": "Recreate"},   # two would send twice as much
            "selector": {"matchLabels": {key: value for key, value in labels.items() if key not in names.MANAGED_BY}},
            "template": {"metadata": {"labels": labels | {names.REVISION_LABEL: revision}}, "spec": _pod(ref, lane, image, router)},
        },
    }


def _labels(ref: service.ServiceRef, lane: str) -> dict[str, str]:
    return names.labels(ref.name, COMPONENT, lane)


def _pod(ref: service.ServiceRef, lane: str, image: str, router: specs.Router) -> dict[str, Any]:
    placed = router.pod.get("spec") or {}
    return {key: placed[key] for key in _PLACED if key in placed} | {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": _GRACE_SECONDS,
        "securityContext": {"runAsNonRoot": True, "runAsUser": _USER, "runAsGroup": _USER, "fsGroup": _USER, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(image)],
        "volumes": [
            {"name": "load", "configMap": {"name": names.load(ref.name, lane)}},
            {"name": "run", "emptyDir": {"sizeLimit": "1Mi"}},   # how many were sent, over restarts of the container
        ],
    }


def _container(image: str) -> dict[str, Any]:
    return {
        "name": COMPONENT,
        "image": image,
        "command": ["python", "-m", "fairlane", "load"],
        "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "192Mi"}},
        "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": "load", "mountPath": document.FOLDER, "readOnly": True}, {"name": "run", "mountPath": document.SCRATCH}],
    }
