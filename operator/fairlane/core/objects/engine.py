"""The objects of a lane's engines: Deployment and headless Service per live revision, ControllerRevision per stored one, a disruption budget per lane."""

from typing import Any

from .. import errors, names, revisions, service

_COMPONENT = "engine"
_NO_DEADLINE = 2**31 - 1   # Kubernetes' own "never": the rollout's phases have deadlines of their own


def deployment(ref: service.ServiceRef, revision: revisions.Revision, replicas: int) -> dict[str, Any]:
    """Return the Deployment of a revision. Its pods never change, so its strategy only matters to whoever edits it by hand."""
    labels = _labels(ref, revision)
    metadata = revision.template.get("metadata", {})
    pod = revision.template | {"metadata": metadata | {"labels": metadata.get("labels", {}) | labels}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": ref.metadata(_name(ref, revision), labels),
        "spec": {
            "replicas": replicas,
            "revisionHistoryLimit": 0,
            "progressDeadlineSeconds": _NO_DEADLINE,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
            "selector": {"matchLabels": _selector(labels)},
            "template": pod,
        },
    }


def headless_service(ref: service.ServiceRef, revision: revisions.Revision) -> dict[str, Any]:
    """Return the Service whose EndpointSlices, labelled as it is, tell the routers a revision's ready pods."""
    labels = _labels(ref, revision)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": ref.metadata(_name(ref, revision), labels),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": False,
            "selector": _selector(labels),
            "ports": [{"name": "http", "port": names.ENGINE_PORT, "targetPort": "http", "protocol": "TCP"}],
        },
    }


def controller_revision(ref: service.ServiceRef, revision: revisions.Revision) -> dict[str, Any]:
    """Return the stored form of a revision; immutable by the API server's own rule."""
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": ref.metadata(_name(ref, revision), _labels(ref, revision)),
        "revision": revision.ordinal,
        "data": {
            "lane": revision.lane,
            "hash": revision.hash,
            "ordinal": revision.ordinal,
            "gpus": revision.gpus,
            "inputs": revision.inputs,
            "template": revision.template,
        },
    }


def parse_controller_revision(stored: dict[str, Any]) -> revisions.Revision:
    """Return the revision that `controller_revision` stored; FairlaneError where the object is another's."""
    try:
        data = stored["data"]
        return revisions.Revision(
            lane=data["lane"], hash=data["hash"], ordinal=int(data["ordinal"]), inputs=data["inputs"], template=data["template"], gpus=int(data["gpus"])
        )
    except (KeyError, TypeError, ValueError) as error:
        name = stored.get("metadata", {}).get("name", "")
        raise errors.FairlaneError(f"ControllerRevision {name}: not written by Fairlane ({error!r}); delete it") from error


def pod_disruption_budget(ref: service.ServiceRef, lane: str) -> dict[str, Any]:
    """Return the budget of a lane over all its revisions: a node's drain takes one pod at a time."""
    labels = names.labels(ref.name, _COMPONENT, lane)
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": ref.metadata(names.lane(ref.name, lane), labels),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": _selector(labels)}},
    }


def _name(ref: service.ServiceRef, revision: revisions.Revision) -> str:
    return names.engine(ref.name, revision.lane, revision.id)


def _labels(ref: service.ServiceRef, revision: revisions.Revision) -> dict[str, str]:
    return names.labels(ref.name, _COMPONENT, revision.lane, revision.id)


def _selector(labels: dict[str, str]) -> dict[str, str]:
    """Only what identifies: a selector cannot be changed later."""
    return {key: value for key, value in labels.items() if key not in names.MANAGED_BY}
