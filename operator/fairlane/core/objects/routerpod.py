"""The router's pod: an init container writes Envoy's first files, Envoy runs as a native sidecar, the agent is the main container.

Nothing here depends on lanes or on replicas: a change of those must restart no router pod.
"""

from typing import Any, Protocol

from ...api import spec as specs
from .. import names
from ..engine import fragments, strategic
from ..routing import place as places

AGENT, ENVOY, INIT = "agent", "envoy", "first-files"
METRICS_PORT_NAME = "metrics"
GRACE_SECONDS = 3660
"""Above the longest drain of the agent (router/settings.py): it leaves as soon as its streams have ended, so that this is no waiting time."""



class Images(Protocol):
    """The installation's images (observed.Settings)."""

    @property
    def router_image(self) -> str:
        """Any Envoy image."""
        ...

    @property
    def agent_image(self) -> str:
        """Fairlane's own."""
        ...


_USER = 65532
_PATH = "spec.router.pod"
_PLACE = places.Place()
# misc: Envoy calls it an error when a try that the client left has no duration to count. The access log is written each second, not each ten.
_ENVOY_FLAGS = ["--concurrency", "2", "--disable-hot-restart", "-l", "warning", "--component-log-level", "misc:critical", "--file-flush-interval-msec", "1000"]
_RUN = {"name": "run", "mountPath": _PLACE.root}
# Process 1 of a container does not get a SIGTERM that comes before its handler is set: the file tells an agent that still starts.
_LEAVE = {"preStop": {"exec": {"command": ["touch", _PLACE.leaving]}}}
_TOKEN = {"name": "api-access", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True}


def template(service_name: str, labels: dict[str, str], router: specs.Router, settings: Images) -> dict[str, Any]:
    """Return the pod template; Refused where `spec.router.pod` would change what identifies or drives the router."""
    scrape = {"prometheus.io/scrape": "true", "prometheus.io/port": str(names.ROUTER_METRICS_PORT), "prometheus.io/path": "/stats/prometheus"}
    pod = {"metadata": {"labels": labels, "annotations": scrape}, "spec": _spec(service_name, labels, router, settings)}
    fragments.parts(router.pod, _PATH)
    return strategic.merge(pod, router.pod, _PATH)


def _spec(service_name: str, labels: dict[str, str], router: specs.Router, settings: Images) -> dict[str, Any]:
    volumes: list[dict[str, Any]] = [{"name": "run", "emptyDir": {}}, _token_volume()]
    if router.tls:
        volumes.append({"name": "tls", "secret": {"secretName": router.tls.secret_ref.name}})
    return {
        "serviceAccountName": names.router(service_name),
        "automountServiceAccountToken": False,   # Envoy gets none
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "securityContext": {"runAsNonRoot": True, "runAsUser": _USER, "runAsGroup": _USER, "fsGroup": _USER, "seccompProfile": {"type": "RuntimeDefault"}},
        "topologySpreadConstraints": [_spread(labels)],
        "initContainers": [_agent(INIT, service_name, settings, ["--init"]), _envoy(router, settings)],
        "containers": [_agent(AGENT, service_name, settings, []) | {"lifecycle": _LEAVE}],
        "volumes": volumes,
    }


def _spread(labels: dict[str, str]) -> dict[str, Any]:
    selector = {key: value for key, value in labels.items() if key not in names.MANAGED_BY}
    return {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": selector}}


def _token_volume() -> dict[str, Any]:
    """What Kubernetes would mount into every container, for those that need it."""
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    sources = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [namespace]}},
    ]
    return {"name": "api-access", "projected": {"sources": sources}}


def _agent(name: str, service_name: str, settings: Images, extra: list[str]) -> dict[str, Any]:
    env = [{"name": "FAIRLANE_SERVICE", "value": service_name}]
    fields = {"FAIRLANE_NAMESPACE": "metadata.namespace", "POD_NAME": "metadata.name", "POD_UID": "metadata.uid"}
    env += [{"name": key, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}} for key, path in fields.items()]   # type: ignore[dict-item]
    return {
        "name": name,
        "image": settings.agent_image,
        "command": ["python", "-m", "fairlane", "agent", *extra],
        "env": env,
        "resources": {"requests": {"cpu": "20m", "memory": "96Mi"}},
        "securityContext": _security(),
        "volumeMounts": [_RUN, _TOKEN],
    }


def _envoy(router: specs.Router, settings: Images) -> dict[str, Any]:
    mounts: list[dict[str, Any]] = [_RUN]
    if router.tls:
        mounts.append({"name": "tls", "mountPath": _PLACE.tls_dir, "readOnly": True})
    ready = {"path": "/readyz", "port": "http", "scheme": "HTTPS" if router.tls else "HTTP"}
    return {
        "name": ENVOY,
        "image": router.image or settings.router_image,
        "restartPolicy": "Always",
        "command": ["envoy", "-c", _PLACE.bootstrap, *_ENVOY_FLAGS],
        "ports": [{"name": "http", "containerPort": names.ROUTER_PORT}, {"name": METRICS_PORT_NAME, "containerPort": names.ROUTER_METRICS_PORT}],
        "startupProbe": {"httpGet": ready, "periodSeconds": 1, "timeoutSeconds": 2, "failureThreshold": 120},
        # through the traffic listener: Envoy's own /ready says yes without routes (measured)
        "readinessProbe": {"httpGet": ready, "periodSeconds": 2, "timeoutSeconds": 2, "failureThreshold": 2},
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
        "securityContext": _security(),
        "volumeMounts": mounts,
    }


def _security() -> dict[str, Any]:
    return {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
