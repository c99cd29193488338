"""Fairlane on the cluster, by its chart, with the images built here."""
from __future__ import annotations

import dataclasses
import json
import time
from typing import Any

from e2e.cluster import Cluster, ClusterError

NAMESPACE = "fairlane-system"
RELEASE = "fairlane"
OWN = "fairlane-own-"   # how namespaces begin that have an operator of their own: the one of the cluster leaves them alone


def _values(cluster: Cluster) -> list[str]:
    """The chart's values for a cluster."""
    image, router = cluster.images["fairlane"], cluster.images["envoy"]
    return ["--set", f"image={image}", "--set", f"routerImage={router}", "--set", f"prometheus.url={cluster.prometheus_in_cluster}"]


@dataclasses.dataclass(frozen=True)
class Operator:
    """An operator in the cluster, known by its namespace."""

    cluster: Cluster
    namespace: str = NAMESPACE

    def install(self, release: str, *values: str) -> None:
        """Install or upgrade it, and wait until it is there."""
        where = ("--namespace", self.namespace, "--create-namespace")
        self.cluster.helm("upgrade", "--install", release, "charts/fairlane", *where, *_values(self.cluster), *values)
        self.wait()

    def wait(self) -> None:
        """Until the Deployment as it stands is the one that runs."""
        self._kubectl("rollout", "status", f"deployment/{self.deployment}", "--timeout=90s", timeout=100)

    @property
    def deployment(self) -> str:
        """The operator's Deployment."""
        return str(self._get("deployments")[0]["metadata"]["name"])

    def kill(self) -> None:
        """End it at once, wherever it stands in a pass."""
        for pod in self._get("pods"):
            self._kubectl("delete", "pod", pod["metadata"]["name"], "--grace-period=0", "--force", "--wait=false")

    def scale(self, replicas: int, *, seconds: float = 60) -> None:
        """0: away, and gone when this returns; 1: back, and ready."""
        self._kubectl("scale", f"deployment/{self.deployment}", f"--replicas={replicas}")
        deadline = time.monotonic() + seconds
        while True:
            pods = self._get("pods")
            ready = [pod for pod in pods if any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))]
            if (not pods) if replicas == 0 else len(ready) == replicas == len(pods):
                return
            if time.monotonic() > deadline:
                raise AssertionError(f"the operator has not come to {replicas} replicas within {seconds:.0f} s: {[pod['status'] for pod in pods]}")
            time.sleep(0.5)

    def logs(self) -> str:
        try:
            return self._kubectl("logs", f"deployment/{self.deployment}", "--tail=80")
        except (ClusterError, IndexError) as error:
            return str(error)

    def _get(self, kind: str) -> list[dict[str, Any]]:
        return list(json.loads(self._kubectl("get", kind, "-l", "app.kubernetes.io/name=fairlane", "-o", "json"))["items"])

    def _kubectl(self, *args: str, timeout: float = 60) -> str:
        return self.cluster.kubectl(*args, "--namespace", self.namespace, timeout=timeout)


def shared(cluster: Cluster) -> Operator:
    """Install the operator of all namespaces but those that have one of their own."""
    made = Operator(cluster)
    made.install(RELEASE, "--set", f"scope.excludedNamespaces={{{OWN}*}}")
    return made


def own(cluster: Cluster, namespace: str) -> Operator:
    """Install one for this namespace, in it and with no right elsewhere."""
    assert namespace.startswith(OWN), namespace
    made = Operator(cluster, namespace)
    made.install("own", "--set", f"scope.namespaces={{{namespace}}}", "--set", "crds.install=false")
    return made


def remove(cluster: Cluster) -> None:
    """Take all of it off a cluster of the user's; the chart leaves the CRD, and with it the services, to who deletes it."""
    cluster.helm("uninstall", RELEASE, "--namespace", NAMESPACE)
    cluster.kubectl("delete", "crd", "llmservices.fairlane.dev")
    cluster.kubectl("delete", "namespace", NAMESPACE, "--wait=false")
