"""A cluster in memory for the commands."""

import copy
import json
from typing import Any

import pytest
from tests.unit.cli import served

from fairlane.cli import cluster, failures, ordering
from fairlane.core import names


class FakeCluster:
    """Services, and an operator that follows each order once it was looked for, unless told otherwise."""

    def __init__(self, *services: dict[str, Any]) -> None:
        self.namespace = "prod"
        self.kept = list(services)
        self.orders: list[dict[str, str]] = []
        self.answer: dict[str, str] | None = {"reason": "CommandFollowed", "message": "the weight stays"}
        self.away = False
        self.products = frozenset[str]()
        self.config_maps: dict[tuple[str, str], dict[str, str]] = {}
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

    def config_map(self, namespace: str, name: str) -> dict[str, str] | None:
        return self.config_maps.get((namespace, name))

    def gpu_products(self, resource: str) -> frozenset[str]:
        assert resource == "nvidia.com/gpu"
        return self.products

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
    made = FakeCluster(served.service())
    passed = [0.0]

    def sleep(seconds: float) -> None:
        passed[0] += seconds

    monkeypatch.setattr(cluster, "connect", lambda *_: made)
    monkeypatch.setattr(ordering, "REAL", ordering.Clock(lambda: passed[0], sleep))
    return made
