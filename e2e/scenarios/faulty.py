"""A Prometheus of the scenario's own that breaks on demand: a pod before the cluster's."""
from __future__ import annotations

import json
import urllib.request

from e2e.engine import faulty_prometheus
from e2e.scenarios.space import Space

NAME = "metrics"


class FaultyPrometheus:
    """Its pod and Service in the scenario's namespace."""

    def __init__(self, space: Space) -> None:
        self._space = space
        labels = {"app": NAME}
        environment = {"PYTHONPATH": "/opt/standin", "PYTHONDONTWRITEBYTECODE": "1", "UPSTREAM": space.cluster.prometheus_in_cluster}
        container = {
            "name": "proxy", "image": space.cluster.images["standin"], "command": ["python3", "-m", faulty_prometheus.__name__],
            "env": [{"name": name, "value": value} for name, value in environment.items()],
            "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}},
            "readinessProbe": {"tcpSocket": {"port": faulty_prometheus.PORT}, "periodSeconds": 1},
        }
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": NAME, "labels": labels}, "spec": {"containers": [container]}}
        ports = [{"port": faulty_prometheus.PORT}]
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": NAME}, "spec": {"selector": labels, "ports": ports}}
        space.kubectl("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod, service]}))
        space.kubectl("wait", "--for=condition=Ready", f"pod/{NAME}", "--timeout=60s", timeout=70)

    @property
    def in_cluster(self) -> str:
        """Its address for pods."""
        return f"http://{NAME}.{self._space.namespace}:{faulty_prometheus.PORT}"

    def set(self, fault: faulty_prometheus.Fault) -> None:
        """Break, or mend."""
        url = self._space.paths.url(f"pod/{NAME}", faulty_prometheus.PORT)
        with urllib.request.urlopen(urllib.request.Request(f"{url}/fault/{fault}", method="POST"), timeout=10) as answer:
            assert answer.read().decode() == fault
