"""The router's objects: Deployment, Service, what its agent may do, disruption budget, network policy."""

from typing import Any

from ...api import spec as specs
from .. import names, service
from . import routerpod

_COMPONENT = "router"


def objects(ref: service.ServiceRef, spec: specs.LLMServiceSpec, settings: routerpod.Images) -> list[dict[str, Any]]:
    """Return the router's objects in the order of applying; Refused where `spec.router.pod` asks for what cannot be."""
    return [
        _service_account(ref),
        _role(ref),
        _role_binding(ref),
        _service(ref, spec.router),
        _deployment(ref, spec.router, settings),
        _disruption_budget(ref),
        _network_policy(ref),
    ]


def _metadata(ref: service.ServiceRef) -> dict[str, Any]:
    return ref.metadata(names.router(ref.name), _labels(ref))


def _labels(ref: service.ServiceRef) -> dict[str, str]:
    return names.labels(ref.name, _COMPONENT)


def _selector(ref: service.ServiceRef) -> dict[str, str]:
    return {key: value for key, value in _labels(ref).items() if key not in names.MANAGED_BY}


def _service_account(ref: service.ServiceRef) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata(ref), "automountServiceAccountToken": False}


def _role(ref: service.ServiceRef) -> dict[str, Any]:
    """What an agent may do. RBAC can name neither the slices, which have generated names, nor the Leases of pods to come."""
    read = ["get", "list", "watch"]
    rules = [
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [names.routes(ref.name)], "verbs": read},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": read},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": [names.heartbeat(ref.name)], "verbs": read},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", "patch"]},
    ]
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": _metadata(ref), "rules": rules}


def _role_binding(ref: service.ServiceRef) -> dict[str, Any]:
    name = names.router(ref.name)
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": _metadata(ref),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": ref.namespace}],
    }


def _service(ref: service.ServiceRef, router: specs.Router) -> dict[str, Any]:
    port = {"name": "https", "port": 443} if router.tls else {"name": "http", "port": 80}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(ref),
        "spec": {"type": router.service.type.value, "selector": _selector(ref), "ports": [port | {"targetPort": "http", "protocol": "TCP"}]},
    }


def _deployment(ref: service.ServiceRef, router: specs.Router, settings: routerpod.Images) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(ref),
        "spec": {
            "replicas": router.replicas,
            "revisionHistoryLimit": 2,
            # no surge: each pod takes its share of the lanes' bounds, and one more would exceed them
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "selector": {"matchLabels": _selector(ref)},
            "template": routerpod.template(ref.name, _labels(ref), router, settings),
        },
    }


def _disruption_budget(ref: service.ServiceRef) -> dict[str, Any]:
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": _selector(ref)}}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": _metadata(ref), "spec": spec}


def _network_policy(ref: service.ServiceRef) -> dict[str, Any]:
    ports = [{"protocol": "TCP", "port": port} for port in (names.ROUTER_PORT, names.ROUTER_METRICS_PORT)]
    spec = {"podSelector": {"matchLabels": _selector(ref)}, "policyTypes": ["Ingress"], "ingress": [{"ports": ports}]}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": _metadata(ref), "spec": spec}
