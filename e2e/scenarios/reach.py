"""How requests from this machine get to a Service or a pod: by its address, or through `kubectl port-forward` on a cluster of the user's."""
from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import urllib.parse

from e2e.cluster import Cluster, ClusterError


class Paths:
    """The addresses handed out; `close` ends what keeps them open."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster, self._namespace = cluster, namespace
        self._forwards: dict[str, tuple[subprocess.Popen[str], str]] = {}

    def url(self, target: str, port: int) -> str:
        """Of `service/NAME` or `pod/NAME`."""
        if not self._cluster.pod_reachable:
            return self._forwarded(target, port)
        field = {"service": "{.spec.clusterIP}", "pod": "{.status.podIP}"}[target.partition("/")[0]]
        address = self._cluster.kubectl("get", target, "--namespace", self._namespace, "-o", f"jsonpath={field}")
        return f"http://{address}:{port}"

    def close(self) -> None:
        for process, _ in self._forwards.values():
            process.terminate()
            process.wait(10)
        self._forwards.clear()

    def _forwarded(self, target: str, port: int) -> str:
        process, url = self._forwards.get(target, (None, ""))
        if process is not None and process.poll() is None:
            return url
        kubectl = shutil.which("kubectl") or "kubectl"
        command = [kubectl, "port-forward", "--namespace", self._namespace, target, f":{port}"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"KUBECONFIG": str(self._cluster.kubeconfig)})
        assert process.stdout is not None
        found = re.search(r"127\.0\.0\.1:(\d+)", process.stdout.readline())
        if not found:
            process.terminate()
            raise ClusterError(f"kubectl port-forward {target} said nothing of a port")
        self._forwards[target] = process, f"http://127.0.0.1:{found[1]}"
        return self._forwards[target][1]


def connects(url: str) -> bool:
    """Whether something accepts connections at a URL's host and port."""
    parts = urllib.parse.urlsplit(url)
    try:
        socket.create_connection((parts.hostname, parts.port), timeout=2).close()
    except OSError:
        return False
    return True
