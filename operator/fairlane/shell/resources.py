"""The kinds that the operator reads and writes, and where the API server serves them."""

import dataclasses

from ..api import base


@dataclasses.dataclass(frozen=True)
class Resource:
    """One kind and its place in the API."""

    api_version: str
    kind: str
    plural: str

    @property
    def group(self) -> str:
        """API group; empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        """Version within the group."""
        return self.api_version.rpartition("/")[2]

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """URL path of the collection, of one object, or of an object's subresource; all namespaces without `namespace`."""
        root = f"/apis/{self.api_version}" if self.group else f"/api/{self.api_version}"
        scope = f"/namespaces/{namespace}" if namespace else ""
        return f"{root}{scope}/{self.plural}" + (f"/{name}" if name else "") + (f"/{subresource}" if subresource else "")


SERVICE_OBJECT = Resource(f"{base.GROUP}/{base.VERSION}", base.KIND, base.PLURAL)
DEPLOYMENT = Resource("apps/v1", "Deployment", "deployments")
CONTROLLER_REVISION = Resource("apps/v1", "ControllerRevision", "controllerrevisions")
POD = Resource("v1", "Pod", "pods")
SERVICE = Resource("v1", "Service", "services")
SERVICE_ACCOUNT = Resource("v1", "ServiceAccount", "serviceaccounts")
CONFIG_MAP = Resource("v1", "ConfigMap", "configmaps")
NODE = Resource("v1", "Node", "nodes")
SECRET = Resource("v1", "Secret", "secrets")
EVENT = Resource("v1", "Event", "events")
LEASE = Resource("coordination.k8s.io/v1", "Lease", "leases")
BUDGET = Resource("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets")
NETWORK_POLICY = Resource("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies")
ROLE = Resource("rbac.authorization.k8s.io/v1", "Role", "roles")
ROLE_BINDING = Resource("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings")
POD_MONITOR = Resource("monitoring.coreos.com/v1", "PodMonitor", "podmonitors")
PROMETHEUS_RULE = Resource("monitoring.coreos.com/v1", "PrometheusRule", "prometheusrules")

MONITORING = (POD_MONITOR, PROMETHEUS_RULE)
OWNED = (DEPLOYMENT, CONTROLLER_REVISION, SERVICE, SERVICE_ACCOUNT, CONFIG_MAP, BUDGET, NETWORK_POLICY, ROLE, ROLE_BINDING)
"""Kinds of the objects that belong to a service, beside its Leases and the monitoring kinds, which not every cluster has."""

WATCHED = (DEPLOYMENT, POD, LEASE, CONFIG_MAP, SERVICE)
"""Kinds whose changes wake a pass. The others change only by someone's hand, which the next pass corrects."""

_BY_KIND = {(resource.api_version, resource.kind): resource for resource in (*OWNED, *MONITORING, LEASE, POD)}


def of(api_version: str, kind: str) -> Resource:
    """Return the resource of an object's `apiVersion` and `kind`; KeyError names a kind that the operator has no business with."""
    return _BY_KIND[api_version, kind]
