"""Debian's Prometheus as a daemon on the node's address, known in the cluster as the Service prometheus.monitoring.

Debian builds it without the discovery of Kubernetes, so discovery.py beside it writes the targets as a file.
"""
from __future__ import annotations

import json
import sys
import urllib.request

import yaml

from . import paths, sandbox
from .kubectl import kubectl
from .progress import wait_until

_PROGRAM = "/usr/bin/prometheus"
URL = f"http://{paths.NODE_IP}:9090"
IN_CLUSTER = "http://prometheus.monitoring:9090"


def start() -> None:
    state = paths.state()
    (state / "prometheus.yaml").write_text(yaml.safe_dump(_config()))
    sandbox.start([
        _PROGRAM, f"--config.file={state}/prometheus.yaml", f"--storage.tsdb.path={state}/prometheus", "--storage.tsdb.retention.time=12h",
        f"--web.listen-address={paths.NODE_IP}:9090", "--log.level=warn",
    ], paths.daemon_logs() / "prometheus.log")


def start_discovery() -> None:
    """Goes on while Prometheus is stopped, so that it knows its targets the moment it is back."""
    sandbox.start([sys.executable, paths.HERE / "discovery.py", paths.state(), paths.API_SERVER], paths.daemon_logs() / "discovery.log")


def stop() -> None:
    sandbox.stop(_PROGRAM)


def wait_ready(timeout: float = 30) -> None:
    wait_until("Prometheus", ready, timeout, log=paths.daemon_logs() / "prometheus.log")


def ready() -> bool:
    try:
        with urllib.request.urlopen(f"{URL}/-/ready", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


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


def _config() -> dict[str, object]:
    targets = {"files": [f"{paths.state()}/targets.json"], "refresh_interval": "30s"}  # it also sees a new file at once
    return {
        "global": {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "5s"},
        "scrape_configs": [{"job_name": "pods", "file_sd_configs": [targets]}],
    }
