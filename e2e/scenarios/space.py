"""One namespace with one service in it, changed and seen as by a user: through kubectl."""
from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import urllib3
from kubernetes import client, config

from e2e.cluster import Cluster, ClusterError
from e2e.scenarios import reach

Status = Mapping[str, Any]


class Space:
    """A namespace and its LLMService `name`."""

    def __init__(self, cluster: Cluster, namespace: str, name: str = "assistant") -> None:
        self.cluster, self.namespace, self.name = cluster, namespace, name
        self.paths = reach.Paths(cluster, namespace)

    # --- doing

    def kubectl(self, *args: str, text: str | None = None, timeout: float = 60) -> str:
        return self.cluster.kubectl("--namespace", self.namespace, *args, input=text, timeout=timeout)

    def apply(self, manifest: Mapping[str, Any]) -> None:
        self.kubectl("apply", "-f", "-", text=json.dumps(manifest))

    def config_map(self, name: str, data: Mapping[str, str]) -> None:
        """Create or replace a ConfigMap."""
        self.kubectl("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": dict(data)}))

    def patch_lane(self, name: str, **fields: Any) -> None:
        """Change fields of one lane as `kubectl edit` would; a value None removes the field."""
        lanes = self.service()["spec"]["lanes"]
        index = next(i for i, lane in enumerate(lanes) if lane["name"] == name)
        changed = merged(lanes[index], fields)
        self.kubectl("patch", "llmsvc", self.name, "--type=json", "-p", json.dumps([{"op": "replace", "path": f"/spec/lanes/{index}", "value": changed}]))

    def patch(self, spec: Mapping[str, Any]) -> None:
        self.kubectl("patch", "llmsvc", self.name, "--type=merge", "-p", json.dumps({"spec": spec}))

    def fairlane(self, command: str, *args: str) -> str:
        """What the CLI prints."""
        done = self._run(command, self.name, "--namespace", self.namespace, *args)
        assert done.returncode == 0, f"fairlane {command}: {done.stdout}{done.stderr}"
        return done.stdout

    def plan(self, *args: str) -> tuple[int, str]:
        """The exit code of `fairlane plan`, and all that it prints."""
        done = self._run("plan", "--offline", "--namespace", self.namespace, *args)
        return done.returncode, done.stdout + done.stderr

    def _run(self, *args: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"KUBECONFIG": str(self.cluster.kubeconfig), "COLUMNS": "200"}
        return subprocess.run([Path(sys.executable).with_name("fairlane"), *args], capture_output=True, text=True, timeout=60, check=False, env=environment)

    # --- seeing

    def get(self, *args: str) -> list[dict[str, Any]]:
        """The items of `kubectl get …`."""
        return list(json.loads(self.kubectl("get", *args, "-o", "json"))["items"])

    def service(self) -> dict[str, Any]:
        """Read over one connection that stays: a new kubectl for every look of every wait takes a quarter of two cores. ClusterError where it fails."""
        try:
            which = ("fairlane.dev", "v1alpha1", self.namespace, "llmservices", self.name)
            return dict(self._objects.get_namespaced_custom_object(*which, _request_timeout=(5, 20)))
        except (client.ApiException, urllib3.exceptions.HTTPError, OSError) as error:
            raise ClusterError(f"{self.namespace}: reading {self.name}: {error}") from error

    @functools.cached_property
    def _objects(self) -> Any:
        return client.CustomObjectsApi(config.new_client_from_config(str(self.cluster.kubeconfig)))  # type: ignore[no-untyped-call]

    def status(self) -> Status:
        return dict(self.service().get("status") or {})

    def lane(self, name: str, status: Status | None = None) -> Status:
        """One lane's status; empty where there is none yet."""
        lanes = (self.status() if status is None else status).get("lanes", [])
        return next((lane for lane in lanes if lane["name"] == name), {})

    def condition(self, kind: str, status: Status | None = None) -> Status:
        conditions = (self.status() if status is None else status).get("conditions", [])
        return next((each for each in conditions if each["type"] == kind), {})

    def history(self, lane: str) -> list[Status]:
        """The lane's ended rollouts, the last first."""
        records = [record for record in self.status().get("history", []) if record["lane"] == lane]
        return sorted(records, key=lambda record: str(record["endedAt"]), reverse=True)

    def engine_pods(self, lane: str) -> list[dict[str, Any]]:
        return self.get("pods", "-l", f"fairlane.dev/service={self.name},fairlane.dev/lane={lane},fairlane.dev/component=engine")

    def restarts(self, lane: str) -> dict[str, int]:
        """Restarts of each live pod of a lane by pod UID."""
        pods = [pod for pod in self.engine_pods(lane) if "deletionTimestamp" not in pod["metadata"]]
        return {pod["metadata"]["uid"]: sum(c["restartCount"] for c in pod["status"].get("containerStatuses", [])) for pod in pods}

    def router_pods(self) -> list[dict[str, Any]]:
        return self.get("pods", "-l", f"fairlane.dev/service={self.name},fairlane.dev/component=router")

    def events(self) -> list[dict[str, Any]]:
        return [event for event in self.get("events") if event["involvedObject"]["kind"] == "LLMService"]

    @property
    def url(self) -> str:
        """The router's address, as reached from this machine."""
        port = json.loads(self.kubectl("get", "service", f"{self.name}-router", "-o", "json"))["spec"]["ports"][0]["port"]
        return self.paths.url(f"service/{self.name}-router", port)

    # --- waiting

    def wait(self, what: str, seen: Callable[[Status], Any], seconds: float) -> Status:
        """Poll the status until `seen` is true of it; AssertionError shows the last one."""
        deadline = time.monotonic() + seconds
        while True:
            status = self._try_status()
            if status is not None and seen(status):
                return status
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.namespace}: not within {seconds:.0f} s: {what}\n{brief(status or {})}")
            time.sleep(0.7)

    def _try_status(self) -> Status | None:
        try:
            return self.status()
        except ClusterError:  # the API server may be away on purpose
            return None

    def wait_ready(self, seconds: float = 120) -> Status:
        """Ready, and its address leads there: kube-proxy writes a Service's rules a moment after its endpoints are ready."""
        self.wait("Ready", lambda status: self.condition("Ready", status).get("status") == "True", seconds)
        url = self.url
        return self.wait(f"a connection to {url}", lambda _: reach.connects(url), 15)

    def wait_phase(self, lane: str, *phases: str, seconds: float = 60) -> Status:
        return self.wait(f"lane {lane} in {' or '.join(phases)}", lambda status: self.lane(lane, status).get("phase") in phases, seconds)

    def wait_ended(self, lane: str, result: str, *, after: int = 0, seconds: float = 120) -> Status:
        """Wait for the record of rollout number `after` + 1 in the lane's history, and that it ended so."""
        self.wait(f"rollout {after + 1} of lane {lane} ended", lambda status: len([r for r in status.get("history", []) if r["lane"] == lane]) > after, seconds)
        record = self.history(lane)[0]
        assert record["result"] == result, f"{self.namespace}: {record}"
        return record

    # --- the end

    def leave(self) -> None:
        """Delete the namespace, without waiting for it."""
        self.paths.close()
        self.cluster.kubectl("delete", "namespace", self.namespace, "--wait=false", "--ignore-not-found")

    def dump(self) -> str:
        """What one wants to read after a failure."""
        parts = []
        for args in (
            ("describe", "llmsvc"), ("get", "all,configmaps,leases,endpointslices,controllerrevisions"), ("get", "events", "--sort-by=.lastTimestamp"),
            ("get", "configmap", f"{self.name}-routes", "-o", "jsonpath={.data}"),
            ("logs", "-l", "fairlane.dev/component=router", "--all-containers", "--tail=40", "--prefix"),
            ("logs", "-l", "fairlane.dev/component=engine", "--tail=30", "--prefix"),
        ):
            try:
                parts.append(f"$ kubectl {' '.join(args)}\n{self.kubectl(*args)}")
            except ClusterError as error:
                parts.append(f"$ kubectl {' '.join(args)}\n{error}")
        return "\n".join(parts)


def merged(value: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A merge patch (RFC 7386) of nested mappings."""
    result = dict(value)
    for key, change in changes.items():
        if change is None:
            result.pop(key, None)
        elif isinstance(change, Mapping):
            result[key] = merged(result.get(key) or {}, change)
        else:
            result[key] = change
    return result


def brief(status: Status) -> str:
    """A status in a few lines."""
    shown = [f"{c['type']}={c['status']} {c['reason']}: {c.get('message', '')}" for c in status.get("conditions", [])]
    lanes = [{k: v for k, v in lane.items() if k not in ("decisions", "evidence")} for lane in status.get("lanes", [])]
    ended = [f"ended: {r['lane']} {r['canary']} {r['result']} {r['reason']}: {r['message']}" for r in status.get("history", [])]
    return "\n".join([*shown, *map(str, lanes), *ended])
