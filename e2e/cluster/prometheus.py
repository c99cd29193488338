"""Debian's Prometheus as a daemon on the node's address, known in the cluster as the Service prometheus.monitoring.

Debian builds it without the discovery of Kubernetes, so discovery.py beside it writes the targets as a file.
"""
from __future__ import annotations

import dataclasses
import json
import sys
import urllib.request
from pathlib import Path

import yaml

from . import paths, sandbox
from .kubectl import kubectl
from .progress import wait_until

_PROGRAM = "/usr/bin/prometheus"
_SERVICE = "http://prometheus.monitoring:9090"


@dataclasses.dataclass(frozen=True)
class Prometheus:
    """One on the port of its own; with `namespace` it scrapes the pods of that one only."""

    port: int
    namespace: str = ""

    @property
    def url(self) -> str:
        """From this machine; by the node's address from pods too."""
        return f"http://{paths.NODE_IP}:{self.port}"

    @property
    def in_cluster(self) -> str:
        return self.url if self.namespace else _SERVICE

    def start(self, timeout: float = 30) -> None:
        """With the data it had; ready when this returns."""
        self.launch()
        self.wait_ready(timeout)

    def launch(self) -> None:
        """Started, and not waited for."""
        config, data = (paths.state() / f"prometheus-{self.port}{end}" for end in (".yaml", ""))
        config.write_text(yaml.safe_dump(self._config()))
        sandbox.start([
            _PROGRAM, f"--config.file={config}", f"--storage.tsdb.path={data}", "--storage.tsdb.retention.time=12h", self._listening, "--log.level=warn",
        ], self._log)

    def stop(self) -> None:
        sandbox.stop(_PROGRAM, self._listening)

    def wait_ready(self, timeout: float = 30) -> None:
        wait_until("Prometheus", self.ready, timeout, log=self._log)

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    @property
    def _listening(self) -> str:
        return f"--web.listen-address={paths.NODE_IP}:{self.port}"

    @property
    def _log(self) -> Path:
        return paths.daemon_logs() / f"prometheus-{self.port}.log"

    def _config(self) -> dict[str, object]:
        targets = {"files": [f"{paths.state()}/targets.json"], "refresh_interval": "30s"}  # it also sees a new file at once
        only = [{"source_labels": ["namespace"], "regex": self.namespace, "action": "keep"}] if self.namespace else []
        return {
            "global": {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "5s"},
            "scrape_configs": [{"job_name": "pods", "file_sd_configs": [targets], "relabel_configs": only}],
        }


SHARED = Prometheus(9090)


def start_discovery() -> None:
    """Goes on while Prometheus is stopped, so that it knows its targets the moment it is back."""
    sandbox.start([sys.executable, paths.HERE / "discovery.py", paths.state(), paths.API_SERVER], paths.daemon_logs() / "discovery.log")


def publish() -> None:
    """A Service without a selector and the one address behind it."""
    metadata = {"name": "prometheus", "namespace": "monitoring", "labels": {"kubernetes.io/service-name": "prometheus"}}
    ports = [{"name": "http", "port": 9090, "protocol": "TCP"}]
    addresses = {"addressType": "IPv4", "ports": ports, "endpoints": [{"addresses": [paths.NODE_IP]}]}
    items: list[dict[str, object]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "monitoring"}},
        {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}},
        {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata, **addresses},
    ]
    kubectl("apply", "--filename=-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))

