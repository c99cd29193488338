"""What scenarios and the demo see of a cluster; everything else in this package is how it comes about."""
from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from . import controlplane, gobuild, images, local, node, paths, prometheus, vllm_env
from .errors import ClusterError
from .kubectl import call
from .process_id import ProcessId
from .progress import say


class Cluster:
    """A running cluster: the local one, or the user's own where KUBECONFIG points to one.

    `images` has the names fairlane, envoy, standin and engine.
    Pods and Services are reachable from this machine by their addresses (not by name: `service_address`).
    """

    model_uri = f"file://{vllm_env.MODEL_MOUNT}"
    prometheus_in_cluster = prometheus.SHARED.in_cluster
    prometheus_url = prometheus.SHARED.url     # from this machine
    scarce_gpu = node.SCARCE            # a resource of which the local cluster has one
    pod_reachable = True                # False on a cluster of the user's: go through `kubectl port-forward` there

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig

    @classmethod
    @contextmanager
    def running(cls) -> Iterator[Cluster]:
        """The cluster for the time of the block: started, or the one that runs where FAIRLANE_CLUSTER_KEEP=1 (which then stays up)."""
        if own := paths.user_kubeconfig():
            from .user_cluster import UserCluster
            yield UserCluster(own)
        elif os.environ.get("FAIRLANE_CLUSTER_KEEP") == "1":
            local.up(owner=None)
            yield Cluster(paths.kubeconfig())
        else:
            with _until_the_end():
                yield Cluster(paths.kubeconfig())

    @property
    def images(self) -> dict[str, str]:
        return images.loaded()

    def kubectl(self, *args: str, input: str | None = None, timeout: float = 60) -> str:  # noqa: A002  subprocess's own name for it
        """Standard output of kubectl; ClusterError with its standard error where it fails."""
        return call(gobuild.KUBERNETES.program("kubectl"), self.kubeconfig, args, input, timeout)

    def helm(self, *args: str, timeout: float = 120) -> str:
        return call(gobuild.HELM.program("helm"), self.kubeconfig, args, None, timeout)

    def engine_flags(self) -> dict[str, Any]:
        """The flags of vLLM that fit this cluster's nodes."""
        return vllm_env.flags()

    def model_config(self) -> str:
        """The config.json of the model that `model_uri` names."""
        return (vllm_env.model() / "config.json").read_text()

    def python_env_mounts(self) -> dict[str, Any]:
        """The `engine.pod` fragment that gives container `engine` vLLM and the model, read-only, from this machine."""
        return vllm_env.mounts()

    def service_address(self, namespace: str, name: str) -> str:
        """The Service's cluster IP."""
        return self.kubectl("get", "service", name, f"--namespace={namespace}", "--output=jsonpath={.spec.clusterIP}")

    def stop_apiserver(self) -> None:
        controlplane.stop_apiserver()

    def start_apiserver(self, timeout: float = 60) -> None:
        """Back again, and ready when this returns."""
        controlplane.start_apiserver()
        controlplane.wait_apiserver(timeout)

    @contextmanager
    def own_prometheus(self, namespace: str) -> Iterator[prometheus.Prometheus]:
        """A second Prometheus for the time of the block, of one namespace's pods: one that can be stopped while others go on being judged."""
        own = prometheus.Prometheus(prometheus.SHARED.port + 1, namespace)
        own.start()
        try:
            yield own
        finally:
            own.stop()


@contextmanager
def _until_the_end() -> Iterator[None]:
    """A cluster of this program's own, gone at the end of the block however it ends."""
    if local.running() and not local.abandoned():
        raise ClusterError("a cluster runs already: `make cluster-down` ends it, FAIRLANE_CLUSTER_KEEP=1 uses it")
    with _ended_by_exception():
        try:
            local.up(owner=ProcessId.current())
            yield
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not cut the tidying short
            say("taking the cluster down")
            local.down()


@contextmanager
def _ended_by_exception() -> Iterator[None]:
    """SIGTERM and SIGHUP unwind like Ctrl-C does, instead of ending the program where it is."""
    def leave(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    # set anew, because a shell's background job starts with Ctrl-C ignored
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
