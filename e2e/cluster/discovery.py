"""Prometheus's targets as a file, from the pods' annotations: python discovery.py STATE API_SERVER.

The same that kubernetes_sd and relabelling do elsewhere: prometheus.io/scrape, /port and /path choose the target, three of the pod's labels come along.
While the API server is away the last targets stand.
"""
from __future__ import annotations

import json
import ssl
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_LABELS = {"fairlane.dev/service": "fairlane_service", "fairlane.dev/lane": "fairlane_lane", "fairlane.dev/revision": "fairlane_revision"}


def target(pod: dict[str, Any]) -> dict[str, Any] | None:
    """One target per annotated pod that has an address and has not ended."""
    metadata, status = pod["metadata"], pod.get("status", {})
    annotations, labels = metadata.get("annotations", {}), metadata.get("labels", {})
    if annotations.get("prometheus.io/scrape") != "true" or not status.get("podIP") or status.get("phase") != "Running":
        return None
    return {
        "targets": [f"{status['podIP']}:{annotations.get('prometheus.io/port', '80')}"],
        "labels": {
            "__metrics_path__": annotations.get("prometheus.io/path", "/metrics"),
            "namespace": metadata["namespace"], "pod": metadata["name"],
            **{new: labels[name] for name, new in _LABELS.items() if name in labels},
        },
    }


def main(state: Path, server: str) -> None:
    context = ssl.create_default_context(cafile=state / "ca.crt")
    context.load_cert_chain(state / "admin.crt", state / "admin.key")
    while True:
        try:
            for pods in _changes(server, context):
                _write(state / "targets.json", list(filter(None, map(target, pods))))
        except (OSError, ValueError, KeyError) as error:  # away, cut in the middle of a line, or "too old": list again
            print(f"listing again after {error!r}", flush=True)
        time.sleep(0.5)


def _changes(server: str, context: ssl.SSLContext) -> Iterator[list[dict[str, Any]]]:
    """All pods, again after each change."""
    with urllib.request.urlopen(f"{server}/api/v1/pods", timeout=10, context=context) as answer:
        listed = json.load(answer)
    pods = {pod["metadata"]["uid"]: pod for pod in listed["items"]}
    yield list(pods.values())
    version = listed["metadata"]["resourceVersion"]
    # shorter than the time after which a silent connection counts as dead
    url = f"{server}/api/v1/pods?watch=1&resourceVersion={version}&timeoutSeconds=60"
    with urllib.request.urlopen(url, timeout=90, context=context) as answer:
        for line in answer:
            event = json.loads(line)
            pod = event["object"]
            if event["type"] == "DELETED":
                pods.pop(pod["metadata"]["uid"], None)
            else:
                pods[pod["metadata"]["uid"]] = pod
            yield list(pods.values())


def _write(path: Path, targets: list[dict[str, Any]]) -> None:
    text = json.dumps(targets, indent=1, sort_keys=True)
    if not path.exists() or path.read_text() != text:
        fresh = path.with_suffix(".new")
        fresh.write_text(text)
        fresh.rename(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
