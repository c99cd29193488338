"""What scenarios and the demo see of a cluster; everything else in this package is how it comes about."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class ClusterError(Exception):
    """The cluster could not do what was asked; the message says what and, where known, the remedy."""


class Cluster:
    """A running cluster: the local one, or the user's own where KUBECONFIG points to one.

    `images` has the names fairlane, envoy, standin and engine.
    Pods and Services are reachable from this machine by their addresses (not by name: `service_address`).
    """

    kubeconfig: Path
    images: dict[str, str]
    model_uri = "file:///models/smollm2"
    prometheus_url: str             # from this machine
    prometheus_in_cluster = "http://prometheus.monitoring:9090"
    pod_reachable: bool             # False on a cluster of the user's: go through `kubectl port-forward` there

    @classmethod
    @contextmanager
    def running(cls) -> Iterator[Cluster]:
        """The cluster for the time of the block: started, or the one that runs where FAIRLANE_CLUSTER_KEEP=1 (which then stays up)."""
        raise NotImplementedError

    def kubectl(self, *args: str, input: str | None = None, timeout: float = 60) -> str:  # noqa: A002  subprocess's own name for it
        """Standard output of kubectl; ClusterError with its standard error where it fails."""
        raise NotImplementedError

    def helm(self, *args: str, timeout: float = 120) -> str:
        raise NotImplementedError

    def python_env_mounts(self) -> dict[str, Any]:
        """The `engine.pod` fragment that gives container `engine` vLLM and the model, read-only, from this machine."""
        raise NotImplementedError

    def service_address(self, namespace: str, name: str) -> str:
        """The Service's cluster IP."""
        raise NotImplementedError

    def stop_apiserver(self) -> None:
        raise NotImplementedError

    def start_apiserver(self, timeout: float = 60) -> None:
        """Back again, and ready when this returns."""
        raise NotImplementedError

    def stop_prometheus(self) -> None:
        raise NotImplementedError

    def start_prometheus(self, timeout: float = 30) -> None:
        """With the data it had; ready when this returns."""
        raise NotImplementedError
