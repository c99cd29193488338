"""Names, labels and annotations of everything Fairlane owns. Deterministic, bounded, never shared by two objects."""

import hashlib
import json
from collections.abc import Mapping

SERVICE_LABEL = "fairlane.dev/service"
LANE_LABEL = "fairlane.dev/lane"
REVISION_LABEL = "fairlane.dev/revision"
COMPONENT_LABEL = "fairlane.dev/component"     # engine | router | load | model
MANAGED_BY = {"app.kubernetes.io/managed-by": "fairlane"}

APPLIED_ANNOTATION = "fairlane.dev/applied"            # hash of the object as last applied
COMMAND_ANNOTATION = "fairlane.dev/command"            # {"command","lane","revision","id"} by the CLI
ROUTER_STATE_ANNOTATION = "fairlane.dev/router-state"  # on each router pod's Lease: what the agent serves

ENGINE_CONTAINER = "engine"
ENGINE_PORT = 8000
ROUTER_PORT = 8080
ROUTER_METRICS_PORT = 9902   # Envoy's Prometheus statistics and nothing else
FIELD_MANAGER = "fairlane"


def digest(value: object, length: int = 8) -> str:
    """Return the first `length` hex digits of the SHA-256 of the value's canonical JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def bounded(name: str, limit: int = 63) -> str:
    """Return the name, or its head and a hash of the whole where it is longer than `limit`: two names never become one."""
    if len(name) <= limit:
        return name
    return f"{name[: limit - 9].rstrip('-')}-{digest(name)}"


def router(service: str) -> str:
    """Name of the router's Deployment, Service, ServiceAccount, Role, PDB."""
    return bounded(f"{service}-router", 45)


def routes(service: str) -> str:
    """Name of the ConfigMap with the route document."""
    return bounded(f"{service}-routes")


def heartbeat(service: str) -> str:
    """Name of the service's Lease, renewed by the operator while a canary has weight."""
    return bounded(f"{service}-heartbeat")


def engine(service: str, lane: str, revision: str) -> str:
    """Name of a revision's Deployment, headless Service and ControllerRevision; short enough that pod names keep it whole."""
    return bounded(f"{service}-{lane}-{revision}", 45)


def lane(service: str, lane_name: str) -> str:
    """Name of a lane's PodDisruptionBudget."""
    return bounded(f"{service}-{lane_name}")


def load(service: str, lane_name: str) -> str:
    """Name of the Deployment and ConfigMap of a lane's synthetic load; no revision ends so."""
    return bounded(f"{service}-{lane_name}-load", 45)


def model_reader(service: str, content: object) -> str:
    """Name of the pod that reads a claim's model: another content has another name, for a pod cannot be changed."""
    return bounded(f"{service}-model-{digest(content)}")


def synthetic_key(uid: str, lane_name: str, canary: str) -> str:
    """What marks the synthetic requests of one rollout in one lane: no client of the router knows the service's uid."""
    return digest(["synthetic", uid, lane_name, canary], 32)


def labels(service: str, component: str, lane_name: str = "", revision: str = "") -> dict[str, str]:
    """Labels of one object."""
    optional: Mapping[str, str] = {LANE_LABEL: lane_name, REVISION_LABEL: revision}
    return MANAGED_BY | {SERVICE_LABEL: service, COMPONENT_LABEL: component} | {key: value for key, value in optional.items() if value}
