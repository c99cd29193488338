"""Fairlane on the cluster, by its chart, with the images built here."""
from __future__ import annotations

import json
import time
from typing import Any

from e2e.cluster import Cluster, ClusterError

NAMESPACE = "fairlane-system"
RELEASE = "fairlane"


def values(cluster: Cluster) -> list[str]:
    """The chart's values for a cluster."""
    image, router = cluster.images["fairlane"], cluster.images["envoy"]
    return ["--set", f"image={image}", "--set", f"routerImage={router}", "--set", f"prometheus.url={cluster.prometheus_in_cluster}"]


def operator(cluster: Cluster, *more: str, namespace: str = NAMESPACE, release: str = RELEASE) -> None:
    """Install or upgrade, and wait until the operator is there."""
    cluster.helm("upgrade", "--install", release, "charts/fairlane", "--namespace", namespace, "--create-namespace", *values(cluster), *more)
    name = deployment(cluster, namespace)
    cluster.kubectl("rollout", "status", f"deployment/{name}", "--namespace", namespace, "--timeout=90s", timeout=100)


def remove(cluster: Cluster) -> None:
    """Take all of it off a cluster of the user's; the chart leaves the CRD, and with it the services, to who deletes it."""
    cluster.helm("uninstall", RELEASE, "--namespace", NAMESPACE)
    cluster.kubectl("delete", "crd", "llmservices.fairlane.dev")
    cluster.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def deployment(cluster: Cluster, namespace: str = NAMESPACE) -> str:
    """The operator's Deployment."""
    label = "app.kubernetes.io/name=fairlane"
    items = json.loads(cluster.kubectl("get", "deployments", "--namespace", namespace, "-l", label, "-o", "json"))["items"]
    return str(items[0]["metadata"]["name"])


def operator_pods(cluster: Cluster, namespace: str = NAMESPACE) -> list[dict[str, Any]]:
    return list(json.loads(cluster.kubectl("get", "pods", "--namespace", namespace, "-l", "app.kubernetes.io/name=fairlane", "-o", "json"))["items"])


def delete_operator_pods(cluster: Cluster) -> None:
    """Kill it at once, wherever it stands in a pass."""
    for pod in operator_pods(cluster):
        cluster.kubectl("delete", "pod", pod["metadata"]["name"], "--namespace", NAMESPACE, "--grace-period=0", "--force", "--wait=false")


def scale_operator(cluster: Cluster, replicas: int, *, namespace: str = NAMESPACE, seconds: float = 60) -> None:
    """0: away, and gone when this returns; 1: back, and ready."""
    cluster.kubectl("scale", f"deployment/{deployment(cluster, namespace)}", "--namespace", namespace, f"--replicas={replicas}")
    deadline = time.monotonic() + seconds
    while True:
        pods = operator_pods(cluster, namespace)
        ready = [pod for pod in pods if any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))]
        if (not pods) if replicas == 0 else len(ready) == replicas == len(pods):
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"the operator has not come to {replicas} replicas within {seconds:.0f} s: {[pod['status'] for pod in pods]}")
        time.sleep(0.5)


def operator_logs(cluster: Cluster) -> str:
    try:
        return cluster.kubectl("logs", "--namespace", NAMESPACE, f"deployment/{deployment(cluster)}", "--tail=80")
    except (ClusterError, IndexError) as error:
        return str(error)
