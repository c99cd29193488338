"""One failing canary: the change, the pod's states until it is rolled back, the times."""
from __future__ import annotations

import contextlib
import datetime
import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from e2e.cluster import Cluster, gobuild
from e2e.scenarios import manifests, traffic, vllm
from e2e.scenarios.space import Space, merged

from fairlane.shell import lastwords

from . import kinds

RECORDINGS = Path(__file__).with_name("recordings")
_ENGINES = "fairlane.dev/lane=chat,fairlane.dev/component=engine"
_LOADING = 300      # seconds that vLLM may take to find out


def base(cluster: Cluster) -> dict[str, Any]:
    """The service before each change, serving, with the preflight off: the failures are to happen."""
    manifest = manifests.service(cluster.images["engine"], kinds.lane(), rollout=manifests.rollout((50, "60s"), preflight="Off"))
    manifest["spec"]["model"]["uri"] = cluster.model_uri
    manifest["spec"]["engine"] |= {"flags": vllm.flags(cluster), "pod": cluster.python_env_mounts()}
    return manifest


def changed(manifest: Mapping[str, Any], kind: kinds.Kind) -> dict[str, Any]:
    """The manifest with the kind's change; what is added to the pod goes to its engine container."""
    spec = merged(manifest["spec"], {key: value for key, value in kind.change.items() if key != "engine"})
    engine = dict(kind.change.get("engine", {}))
    if "pod" in engine:
        engine["pod"] = _pod(manifest["spec"]["engine"]["pod"], engine["pod"])
    spec["engine"] = merged(spec["engine"], engine)
    spec["lanes"] = [merged(spec["lanes"][0], kind.lane)]
    return {**manifest, "spec": spec}


def play(space: Space, manifest: Mapping[str, Any], kind: kinds.Kind) -> dict[str, Any]:
    """Change, wait for the rollback, put it back; the row of the table. AssertionError where it did not end as it must."""
    before = len(space.history("chat"))
    with traffic.Load(space.url, 0.5, vllm.question, paced=True, together=8) as load:
        states, log = _watched(space, before, lambda: space.apply(changed(manifest, kind)))
        record = space.wait_ended("chat", "RolledBack", after=before, seconds=30)
        space.apply(manifest)
        space.wait_phase("chat", "Idle", seconds=120)
    died = _died(states)
    row = {
        "kind": kind.name, "what": kind.what, "reason": record["reason"], "message": record["message"], "canaryRequests": record["canaryRequests"],
        "seconds": round(_instant(record["endedAt"]) - died), "failedAnswers": sum(bool(answer.failure) for answer in load.answers),
        "loading": round(died - _instant(record["startedAt"])),
    }
    RECORDINGS.mkdir(exist_ok=True)
    (RECORDINGS / f"{kind.name}.json").write_text(json.dumps({"row": row, "states": states, "log": log}, indent=1) + "\n")
    return row


def _watched(space: Space, before: int, change: Callable[[], None]) -> tuple[list[dict[str, Any]], str]:
    """The canary's pod at each of its changes until the rollout is over, and the end of its log. Watched: what is rolled back is soon gone."""
    stable = space.lane("chat")["stable"]
    kubectl = [str(gobuild.KUBERNETES.program("kubectl")), f"--kubeconfig={space.cluster.kubeconfig}", "--namespace", space.namespace]
    with tempfile.TemporaryFile("w+") as pods, tempfile.TemporaryFile("w+") as log, contextlib.ExitStack() as stack:
        stack.enter_context(_running([*kubectl, "get", "pods", "--watch", "--output=json", "--selector", _ENGINES], pods))
        change()
        deadline, following = time.monotonic() + _LOADING, None
        while len(space.history("chat")) == before:
            assert time.monotonic() < deadline, f"{space.namespace}: not rolled back within {_LOADING} s"
            canary = space.lane("chat").get("canary")
            if canary and (following is None or following.poll()):   # refused while the container is not there yet
                words = ["logs", "--follow", "--container=engine", "--tail=-1", f"--selector=fairlane.dev/revision={canary}"]
                following = stack.enter_context(_running([*kubectl, *words], log))
            time.sleep(0.5)
        states = [_thin(pod) for pod in _objects(_read(pods)) if pod["metadata"]["labels"]["fairlane.dev/revision"] != stable]
        return _distinct(states), "\n".join(_read(log).splitlines()[-lastwords.LINES:])


@contextlib.contextmanager
def _running(command: list[str], output: IO[str]) -> Iterator[subprocess.Popen[str]]:
    """A program that writes into a file for the time of the block."""
    process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def _read(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The objects that a watch printed one after the other; the last one may be cut off."""
    decoder, at = json.JSONDecoder(), 0
    while (at := text.find("{", at)) >= 0:
        try:
            found, at = decoder.raw_decode(text, at)
        except ValueError:
            return
        yield found


def _distinct(pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [pod for number, pod in enumerate(pods) if not number or pod != pods[number - 1]]


def _thin(pod: Mapping[str, Any]) -> dict[str, Any]:
    """What a pass reads of a pod, as the API server says it."""
    metadata = {key: pod["metadata"][key] for key in ("name", "labels", "creationTimestamp")}
    return {"metadata": metadata, "status": {key: pod["status"][key] for key in ("phase", "conditions", "containerStatuses") if key in pod["status"]}}


def _died(states: list[dict[str, Any]]) -> float:
    """When the engine's container ended for the first time, seconds since the epoch."""
    for pod in states:
        for container in pod["status"].get("containerStatuses", []):
            ended = container.get("state", {}).get("terminated") or container.get("lastState", {}).get("terminated")
            if ended:
                return _instant(ended["finishedAt"])
    raise AssertionError("the canary's container was never seen dead")


def _instant(text: str) -> float:
    return datetime.datetime.fromisoformat(text).timestamp()


def _pod(fragment: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """The cluster's fragment with more in its engine container."""
    own = next(iter(fragment.get("spec", {}).get("containers", [])), {"name": "engine"})
    added = more["spec"]["containers"][0]
    return {**fragment, "spec": {**fragment.get("spec", {}), "containers": [merged(own, added)]}}
