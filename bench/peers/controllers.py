"""The two controllers in the cluster, each in a namespace of its own: programs and CRDs come from the cache, where they were built from their Go modules."""
from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from e2e.cluster import Cluster, gobuild

from . import argo, flagger

_MOUNT = "/opt/peer"


@contextlib.contextmanager
def installed(cluster: Cluster) -> Iterator[None]:
    """Both for the time of the block; nothing of them is left after it."""
    gobuild.build(gobuild.PEERS)
    try:
        install(cluster)
        yield
    finally:
        remove(cluster)


def install(cluster: Cluster) -> None:
    """CRDs, rights, controllers; until they run."""
    # server-side: the CRDs are longer than an annotation may be
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=yaml.safe_dump_all(crds()))
    items = objects(cluster.images["pause"], cluster.prometheus_in_cluster)
    cluster.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    for namespace, program in _WHERE:
        cluster.kubectl("rollout", "status", f"deployment/{program}", "--namespace", namespace, "--timeout=90s", timeout=100)


def remove(cluster: Cluster) -> None:
    """All of it, however much there is; deleting a CRD deletes its objects."""
    names = [crd["metadata"]["name"] for crd in crds()]
    for namespace, program in _WHERE:
        cluster.kubectl("delete", "deployment", program, "--namespace", namespace, "--ignore-not-found")
    cluster.kubectl("delete", "crd", *names, "--ignore-not-found", "--wait=false")
    cluster.kubectl("delete", "clusterrolebinding", *(namespace for namespace, _ in _WHERE), "--ignore-not-found")
    cluster.kubectl("delete", "namespace", *(namespace for namespace, _ in _WHERE), "--ignore-not-found", "--wait=false")


def crds() -> list[dict[str, Any]]:
    """The CustomResourceDefinitions that both modules ship."""
    files = [path for module in gobuild.PEERS for path in sorted(module.place.glob("crds/*.yaml"))]
    documents = [document for path in files for document in yaml.safe_load_all(path.read_text())]
    return [document for document in documents if document and document["kind"] == "CustomResourceDefinition"]


def objects(image: str, prometheus: str) -> list[dict[str, Any]]:
    """What runs them. All rights: they are gone with the trial, and nothing here depends on what they may not do."""
    arguments: dict[str, Sequence[str]] = {argo.PROGRAM: (), flagger.PROGRAM: ("-mesh-provider=kubernetes", f"-metrics-server={prometheus}", "-log-level=info")}
    places = {argo.PROGRAM: gobuild.ARGO_ROLLOUTS.place, flagger.PROGRAM: gobuild.FLAGGER.place}
    return [item for namespace, program in _WHERE for item in _controller(namespace, program, places[program], arguments[program], image)]


def _controller(namespace: str, program: str, place: Path, arguments: Sequence[str], image: str) -> list[dict[str, Any]]:
    labels = {"app": program}
    container = {
        "name": program, "image": image, "command": [f"{_MOUNT}/{program}", *arguments], "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}},
        "volumeMounts": [{"name": "program", "mountPath": _MOUNT, "readOnly": True}],
    }
    # from the cache, because the node is this machine
    pod = {"serviceAccountName": program, "containers": [container], "volumes": [{"name": "program", "hostPath": {"path": str(place), "type": "Directory"}}]}
    here = {"name": program, "namespace": namespace}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": here},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": namespace},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", **here}],
        },
        {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": here,
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}},
        },
    ]


_WHERE = ((argo.NAMESPACE, argo.PROGRAM), (flagger.NAMESPACE, flagger.PROGRAM))
