"""The workloads of nothing that Argo and Flagger canary while ours is judged: one namespace a trial."""
from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from e2e.cluster import Cluster

from . import argo, flagger, outcomes, rules

_NEUTRAL = {"ttft": "vector(0)", "errors": "vector(0)"}   # until there is a canary to ask about
_FIRST, _SECOND = "first", "second"


class Dummies:
    """Two Rollouts (failureLimit 0 and 3) and a Canary."""

    def __init__(self, cluster: Cluster, namespace: str, interval: int) -> None:
        self._cluster, self.namespace, self._interval = cluster, namespace, interval
        self._image, self._prometheus = cluster.images["pause"], cluster.prometheus_in_cluster

    def prepare(self, seconds: float = 240) -> None:
        """Their first revisions, until they stand."""
        self._cluster.kubectl("delete", "namespace", self.namespace, "--ignore-not-found", timeout=180)
        self._cluster.kubectl("create", "namespace", self.namespace)
        self._apply(*self._templates(_NEUTRAL), *self._workloads(_FIRST), flagger.canary(self._interval))
        self._wait("Argo's first revisions", lambda: all(argo.ready(self._get("rollout", argo.name(limit))) for limit in rules.LIMITS), seconds)
        self._wait("Flagger's first revision", lambda: flagger.ready(self._get("canary", flagger.NAME)), seconds)

    def start(self, target: rules.Target) -> None:
        """Their canaries begin, and read our canary's series."""
        self._apply(*self._templates({"ttft": rules.latency(target), "errors": rules.errors(target)}))
        self._apply(*self._workloads(_SECOND))

    def outcomes(self) -> dict[str, outcomes.Outcome]:
        """What they did, by the names of the results."""
        runs = self._items("analysisruns")
        found = {argo.name(limit): argo.outcome(self._get("rollout", argo.name(limit)), runs) for limit in rules.LIMITS}
        return {**found, "flagger": flagger.outcome(self._get("canary", flagger.NAME), self._items("events"))}

    def words(self) -> str:
        """Their own records, for whoever doubts the table."""
        kinds = "rollouts.argoproj.io,analysisruns,canaries.flagger.app,events"
        return self._cluster.kubectl("get", kinds, "--namespace", self.namespace, "-o", "yaml")

    def leave(self) -> None:
        """Delete them, without waiting."""
        self._cluster.kubectl("delete", "namespace", self.namespace, "--wait=false", "--ignore-not-found")

    def _templates(self, queries: Mapping[str, str]) -> list[dict[str, Any]]:
        of_argo = [argo.template(limit, queries, self._interval, self._prometheus) for limit in rules.LIMITS]
        return [*of_argo, *flagger.templates(queries, self._prometheus)]

    def _workloads(self, revision: str) -> list[dict[str, Any]]:
        return [*(argo.rollout(limit, self._image, revision) for limit in rules.LIMITS), flagger.deployment(self._image, revision)]

    def _apply(self, *objects: Mapping[str, Any]) -> None:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
        self._cluster.kubectl("apply", "--namespace", self.namespace, "-f", "-", input=text)

    def _get(self, kind: str, name: str) -> dict[str, Any]:
        return dict(json.loads(self._cluster.kubectl("get", kind, name, "--namespace", self.namespace, "-o", "json")))

    def _items(self, kind: str) -> list[dict[str, Any]]:
        return list(json.loads(self._cluster.kubectl("get", kind, "--namespace", self.namespace, "-o", "json"))["items"])

    def _wait(self, what: str, seen: Callable[[], bool], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not seen():
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.namespace}: not within {seconds:.0f} s: {what}\n{self.words()}")
            time.sleep(1)
