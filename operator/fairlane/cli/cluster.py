"""The port to Kubernetes: four methods, so that tests bring a cluster of their own."""

from typing import Any, Protocol


class Cluster(Protocol):
    """What the commands need of a cluster. Every method raises CommandError with a sentence."""

    namespace: str      # where nothing else is said

    def get(self, namespace: str, name: str) -> dict[str, Any]:
        """One service; CommandError says which there are."""

    def services(self, namespace: str | None) -> list[dict[str, Any]]:
        """The services of a namespace, or of all."""

    def config_map(self, namespace: str, name: str) -> dict[str, str] | None:
        """A ConfigMap's data; None where there is none."""

    def gpu_products(self, resource: str) -> frozenset[str]:
        """The products of the nodes that offer the resource; empty where one may not read nodes."""

    def annotate(self, namespace: str, name: str, annotations: dict[str, str]) -> None:
        """Set annotations of a service."""

    def events(self, namespace: str, name: str) -> list[dict[str, Any]]:
        """The events of a service, as far as one may read them: reason, message, version."""


def connect(kubeconfig: str | None, context: str | None) -> Cluster:
    """Return the cluster of the kubeconfig, or the one this runs in; CommandError where none is configured."""
    from . import kube  # here, because its client takes longer to load than all the rest, and not every command needs a cluster

    return kube.connect(kubeconfig, context)
