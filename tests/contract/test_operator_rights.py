"""The operator's process on a real API server, in one namespace, with no rights but those that the chart gives it."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from e2e.cluster import gobuild

REPOSITORY = pathlib.Path(__file__).parents[2]
NAMESPACE, OTHER, SYSTEM = "rights", "rights-other", "rights-system"
SERVICE = {
    "apiVersion": "fairlane.dev/v1alpha1",
    "kind": "LLMService",
    "metadata": {"name": "assistant"},
    "spec": {
        "model": {"uri": "file:///models/m"},
        "engine": {"image": "vllm/vllm-openai:v0.32.0"},
        "lanes": [{"name": "chat", "profile": "Interactive", "replicas": 1}],
        "router": {"defaultLane": "chat"},
    },
}
OWNED = "deployments,controllerrevisions,services,serviceaccounts,configmaps,poddisruptionbudgets,networkpolicies,roles,rolebindings"


def kubectl(apiserver: Any, *arguments: str, stdin: str | None = None) -> str:
    done = apiserver.kubectl(*arguments, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Return once the condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def kubeconfig(apiserver: Any, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A KUBECONFIG of the operator's service account, with the chart's rights in one namespace."""
    for namespace in (NAMESPACE, OTHER, SYSTEM):
        kubectl(apiserver, "create", "namespace", namespace)
    program = gobuild.HELM.program("helm")
    scope = ["--set", f"scope.namespaces={{{NAMESPACE}}}", "--set", "crds.install=false"]
    command = [program, "template", "fairlane", REPOSITORY / "charts/fairlane", "--namespace", SYSTEM, "--kube-version", "1.34", *scope]
    rendered = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    kubectl(apiserver, "apply", "-f", "-", stdin=rendered)
    token = kubectl(apiserver, "-n", SYSTEM, "create", "token", "fairlane").strip()
    content = {
        "apiVersion": "v1", "kind": "Config", "current-context": "it",
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "clusters": [{"name": "it", "cluster": {"server": apiserver.url, "certificate-authority": str(apiserver.ca)}}],
        "users": [{"name": "it", "user": {"token": token}}],
    }
    path = tmp_path_factory.mktemp("rights") / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return path


class Process:
    """The running operator."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, log: pathlib.Path) -> None:
        self.process = process
        self.log = log
        self._port = port

    def metric(self, line: str) -> float:
        """Value of a metric, by its name and labels as they are exposed; 0 where it is not."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=5) as answer:
                text = answer.read().decode()
        except OSError:
            return 0.0
        return next((float(row.rsplit(" ", 1)[1]) for row in text.splitlines() if row.startswith(f"{line} ")), 0.0)


@contextlib.contextmanager
def operator(kubeconfig: pathlib.Path, tmp_path: pathlib.Path) -> Iterator[Process]:
    """The operator's process for the time of the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {"NAMESPACES": NAMESPACE, "LEASE_NAMESPACE": SYSTEM, "LEASE_NAME": "fairlane", "HTTP_PORT": str(port), "RESYNC_SECONDS": "1"}
    environment = os.environ | {"KUBECONFIG": str(kubeconfig), "PYTHONPATH": "operator"} | {f"FAIRLANE_{name}": value for name, value in settings.items()}
    log = tmp_path / "operator.log"
    with log.open("wb") as output:
        process = subprocess.Popen([sys.executable, "-m", "fairlane", "operator"], cwd=REPOSITORY, env=environment, stderr=output)
        try:
            yield Process(process, port, log)
        finally:
            process.kill()
            process.wait()


def test_a_namespaced_operator_needs_no_more_than_its_roles(apiserver: Any, kubeconfig: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for namespace in (NAMESPACE, OTHER):
        kubectl(apiserver, "-n", namespace, "apply", "-f", "-", stdin=json.dumps(SERVICE))
    with operator(kubeconfig, tmp_path) as running:
        until(lambda: bool(kubectl(apiserver, "-n", NAMESPACE, "get", "llmsvc", "assistant", "-o", "jsonpath={.status.observedGeneration}")))
        owned = kubectl(apiserver, "-n", NAMESPACE, "get", OWNED, "-l", "fairlane.dev/service=assistant", "-o", "jsonpath={.items[*].kind}").split()
        assert len(set(owned)) == 9, f"some kind is missing: {sorted(set(owned))}"

        until(lambda: running.metric('fairlane_reconciles_total{result="success"}') >= 2)
        writes = writes_of_objects(running)
        passes = running.metric('fairlane_reconciles_total{result="success"}')
        until(lambda: running.metric('fairlane_reconciles_total{result="success"}') >= passes + 3)
        assert writes_of_objects(running) == writes, "a pass over what has not changed wrote an object"

        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(timeout=10) == 0
    lines = [json.loads(line) for line in running.log.read_text().splitlines()]
    assert [line for line in lines if line["level"] in ("WARNING", "ERROR")] == []
    assert kubectl(apiserver, "-n", SYSTEM, "get", "lease", "fairlane", "-o", "jsonpath={.spec.holderIdentity}") == ""
    assert kubectl(apiserver, "-n", OTHER, "get", OWNED, "-l", "fairlane.dev/service", "-o", "name") == ""


def test_it_makes_the_pod_that_reads_a_claims_model_and_takes_it_away(apiserver: Any, kubeconfig: pathlib.Path, tmp_path: pathlib.Path) -> None:
    spec = SERVICE["spec"] | {"model": {"uri": "pvc://weights/m"}}   # type: ignore[operator]
    kubectl(apiserver, "-n", NAMESPACE, "apply", "-f", "-", stdin=json.dumps(SERVICE | {"metadata": {"name": "claimed"}, "spec": spec}))

    def pods() -> list[str]:
        return kubectl(apiserver, "-n", NAMESPACE, "get", "pods", "-l", "fairlane.dev/service=claimed", "-o", "name").split()

    with operator(kubeconfig, tmp_path):
        until(lambda: len(pods()) == 1)
        reason = "jsonpath={.status.lanes[0].reason}"
        until(lambda: kubectl(apiserver, "-n", NAMESPACE, "get", "llmsvc", "claimed", "-o", reason) == "ReadingModel")
        patch = json.dumps({"spec": {"rollout": {"preflight": "Off"}}})
        kubectl(apiserver, "-n", NAMESPACE, "patch", "llmsvc", "claimed", "--type=merge", "-p", patch)
        until(lambda: not pods())
        until(lambda: kubectl(apiserver, "-n", NAMESPACE, "get", "llmsvc", "claimed", "-o", reason) == "Starting")
    lines = [json.loads(line) for line in (tmp_path / "operator.log").read_text().splitlines()]
    assert [line for line in lines if line["level"] in ("WARNING", "ERROR")] == []
    kubectl(apiserver, "-n", NAMESPACE, "delete", "llmsvc", "claimed")


def writes_of_objects(running: Process) -> list[float]:
    """How often each kind was applied."""
    kinds = ("ConfigMap", "Deployment", "Service", "Role", "RoleBinding", "NetworkPolicy", "PodDisruptionBudget", "ControllerRevision", "ServiceAccount")
    return [running.metric(f'fairlane_writes_total{{kind="{kind}",verb="apply"}}') for kind in kinds]


def test_an_operator_that_starts_again_writes_no_object(apiserver: Any, kubeconfig: pathlib.Path, tmp_path: pathlib.Path) -> None:
    def versions() -> str:
        columns = "jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{'\\n'}{end}"
        return kubectl(apiserver, "-n", NAMESPACE, "get", OWNED, "-l", "fairlane.dev/service=assistant", "-o", columns)

    before = versions()
    with operator(kubeconfig, tmp_path) as running:
        until(lambda: running.metric('fairlane_reconciles_total{result="success"}') >= 3)
    assert versions() == before
