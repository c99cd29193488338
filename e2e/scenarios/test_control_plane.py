"""The API server or Prometheus stops while a canary runs."""
from __future__ import annotations

import os
import time

import pytest

from e2e.scenarios import manifests, prompts, traffic
from e2e.scenarios.conftest import Service
from e2e.scenarios.space import Space

pytestmark = pytest.mark.own_cluster

CHAT = manifests.lane("chat", scheduler={"maxNumSeqs": 8})
OUTAGE = float(os.environ.get("FAIRLANE_E2E_OUTAGE", "120"))  # seconds without Prometheus


@pytest.mark.disruptive
@pytest.mark.xdist_group("outages")
def test_api_server_stopped_for_30_s_during_a_canary(space: Space, service: Service) -> None:
    space.apply(service(CHAT, router={"replicas": 2, "defaultLane": "chat"}, rollout=manifests.rollout((50, "40s"), failSafeAfter="90s")))
    space.wait_ready()
    with traffic.Load(space.url, 8, prompts.mixed) as load:
        space.patch_lane("chat", scheduler={"maxNumSeqs": 16})
        space.wait_phase("chat", "Analyzing", seconds=90)
        stopped = time.time()
        space.cluster.stop_apiserver()
        try:
            time.sleep(30)
            during = load.since(stopped)
        finally:
            space.cluster.start_apiserver()
        space.wait_ended("chat", "Promoted")
        space.wait_ready()
    assert [answer.line() for answer in load.failures] == []
    assert {answer.track for answer in during} == {"stable", "canary"}


@pytest.mark.long
def test_prometheus_stopped_during_a_canary_holds_every_decision(space: Space, service: Service) -> None:
    with space.cluster.own_prometheus(space.namespace) as store:
        space.apply(service(CHAT, rollout=manifests.rollout((50, "20s")), metrics={"prometheus": {"url": store.in_cluster}}))
        space.wait_ready()
        with traffic.Load(space.url, 5, prompts.mixed) as load:
            space.patch_lane("chat", scheduler={"maxNumSeqs": 16})
            space.wait_phase("chat", "Analyzing", seconds=90)
            store.stop()
            space.wait("MetricsAvailable is False", lambda status: space.condition("MetricsAvailable", status).get("status") == "False", 60)
            time.sleep(OUTAGE)
            status = space.status()
            store.start()
            lane = space.lane("chat", status)
            assert (lane["phase"], lane["weight"], lane["verdict"]) == ("Analyzing", 50, "Unavailable")
            assert status.get("history", []) == []
            space.wait("MetricsAvailable is True", lambda status: space.condition("MetricsAvailable", status).get("status") == "True", 60)
            space.wait_ended("chat", "Promoted")
    assert [answer.line() for answer in load.failures] == []
