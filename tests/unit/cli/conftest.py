"""A cluster in memory for the commands."""

import copy
import json
from typing import Any

import pytest

from fairlane.cli import cluster, failures, ordering
from fairlane.core import names

EVIDENCE = {
    "since": "2026-01-01T12:00:00Z",
    "until": "2026-01-01T12:05:00Z",
    "stable": {"revision": "old-1", "requests": 540, "errors": 1, "replicas": 1, "ttftP50Ms": 176, "ttftP99Ms": 250},
    "canary": {"revision": "new-1", "requests": 61, "errors": 0, "replicas": 1, "ttftP50Ms": 220, "ttftP99Ms": 987},
    "metric": "ttft",
    "edge": "0.25 s",
    "canaryShare": "0.3770",
    "stableShare": "0.0093",
    "canaryBound": "0.2484",
    "stableBound": "0.0248",
    "rule": "the rule",
}
WHY = "TTFT: 23 of 61 canary requests (38 %) took longer than 0.25 s, of the stable's 0.9 %"
DECISION = {"time": "2026-01-01T12:05:00Z", "step": 0, "weight": 10, "verdict": "Fail", "reason": "TailWorse", "message": WHY, "evidence": EVIDENCE}
RECORD = {
    "lane": "chat", "stable": "old-1", "canary": "new-1", "result": "RolledBack", "startedAt": "2026-01-01T11:58:00Z", "endedAt": "2026-01-01T12:05:30Z",
    "reason": "TailWorse", "message": WHY, "canaryRequests": 61, "decisions": [DECISION],
}  # fmt: skip
CHAT = {
    "name": "chat", "phase": "Analyzing", "stable": "old-1", "canary": "new-2", "desiredHash": "new", "replicas": 2, "readyReplicas": 2, "canaryReplicas": 1,
    "canaryReadyReplicas": 1, "weight": 10, "phaseSince": "2026-01-01T12:00:00Z", "verdict": "Insufficient", "message": "no harm seen in 61 canary requests",
    "evidence": EVIDENCE,
}  # fmt: skip
DOCUMENTS = {"name": "documents", "phase": "Idle", "stable": "doc-1", "desiredHash": "bad", "replicas": 1, "readyReplicas": 1, "message": ""}


def service(name: str = "assistant", **status: Any) -> dict[str, Any]:
    """A service with chat on trial and documents idle."""
    ready = {"type": "Ready", "status": "True", "reason": "Serving", "message": "all lanes serve", "lastTransitionTime": "2026-01-01T11:00:00Z"}
    whole = {"conditions": [ready], "lanes": [CHAT, DOCUMENTS], "history": [RECORD], "lanesReady": "2/2", "rollout": "chat 10% canary", "handledCommands": []}
    meta = {"name": name, "namespace": "prod", "creationTimestamp": "2026-01-01T10:00:00Z"}
    return copy.deepcopy({"metadata": meta, "spec": {"model": {"name": "default"}}, "status": whole | status})


class FakeCluster:
    """Services, and an operator that follows each order once it was looked for, unless told otherwise."""

    def __init__(self, *services: dict[str, Any]) -> None:
        self.namespace = "prod"
        self.kept = list(services)
        self.orders: list[dict[str, str]] = []
        self.answer: dict[str, str] | None = {"reason": "CommandFollowed", "message": "the weight stays"}
        self.away = False
        self._events: list[dict[str, Any]] = [{"reason": "CommandIgnored", "message": "of yesterday", "version": "1"}]
        self._due: list[str] = []

    def services(self, namespace: str | None) -> list[dict[str, Any]]:
        return [copy.deepcopy(item) for item in self.kept if namespace in (None, item["metadata"]["namespace"])]

    def get(self, namespace: str, name: str) -> dict[str, Any]:
        for item in self.kept:
            if (item["metadata"]["namespace"], item["metadata"]["name"]) == (namespace, name):
                seen = copy.deepcopy(item)
                self._operate(item)
                return seen
        raise failures.missing("service", name, f"namespace {namespace}", [item["metadata"]["name"] for item in self.kept])

    def annotate(self, namespace: str, name: str, annotations: dict[str, str]) -> None:
        assert (namespace, name) == ("prod", "assistant")
        order = json.loads(annotations[names.COMMAND_ANNOTATION])
        self.orders.append(order)
        self._due.append(order["id"])

    def events(self, namespace: str, name: str) -> list[dict[str, Any]]:
        assert (namespace, name) == ("prod", "assistant")
        return list(self._events)

    def _operate(self, item: dict[str, Any]) -> None:
        if self.away or not self._due:
            return
        item["status"]["handledCommands"].append(self._due.pop())
        if self.answer:
            self._events.append({**self.answer, "version": "2"})


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    """The cluster that the commands find, with a clock that only sleeping moves."""
    made = FakeCluster(service())
    passed = [0.0]

    def sleep(seconds: float) -> None:
        passed[0] += seconds

    monkeypatch.setattr(cluster, "connect", lambda *_: made)
    monkeypatch.setattr(ordering, "REAL", ordering.Clock(lambda: passed[0], sleep))
    return made
