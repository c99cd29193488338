"""A Prometheus that answers slowly, wrongly or not at all during a canary: it holds, says why, and then ends as it would have."""
from __future__ import annotations

import time

import pytest

from e2e.engine.faulty_prometheus import Fault
from e2e.scenarios import faulty, manifests, prompts, traffic
from e2e.scenarios.conftest import Service
from e2e.scenarios.space import Space, Status

CHAT = manifests.lane("chat", scheduler={"maxNumSeqs": 8})
LASTING = 6.0     # seconds that a fault goes on after it was told: three ticks
FAULTS = {
    Fault.STOPPED: ("PrometheusUnreachable", "disconnected"),
    Fault.SLOW: ("PrometheusUnreachable", "did not answer within 5 s"),
    Fault.NAN: ("PrometheusError", "nan is no count"),
    Fault.EMPTY: ("NoSeries", "are they scraped"),
    Fault.DUPLICATE: ("DuplicateSeries", 'prometheus_replica="a"'),
    Fault.HTML: ("PrometheusError", "<!doctype html>"),
    Fault.AHEAD: ("ClockSkew", "60 s ahead of the operator's"),
}


@pytest.mark.long
def test_no_fault_of_prometheus_decides_a_canary(space: Space, service: Service) -> None:
    store = faulty.FaultyPrometheus(space)
    space.apply(service(CHAT, rollout=manifests.rollout((50, "20s")), metrics={"prometheus": {"url": store.in_cluster}}))
    space.wait_ready()
    with traffic.Load(space.url, 5, prompts.mixed) as load:
        space.patch_lane("chat", scheduler={"maxNumSeqs": 16})
        space.wait("the canary is judged on numbers", lambda status: _judged(space.lane("chat", status)), 90)
        store.set(Fault.LOST)
        space.wait("the lost history is told", lambda _: any("HistoryLost" in event["message"] for event in space.events()), 20)
        for fault, (reason, words) in FAULTS.items():
            store.set(fault)
            _holds(space, reason, words)
        store.set(Fault.NONE)
        space.wait("numbers again", lambda status: space.condition("MetricsAvailable", status).get("status") == "True", 30)
        space.wait_ended("chat", "Promoted")
    assert [answer.line() for answer in load.failures] == []


def _judged(lane: Status) -> bool:
    return lane.get("phase") == "Analyzing" and lane.get("evidence", {}).get("canary", {}).get("requests", 0) > 0


def _holds(space: Space, reason: str, words: str) -> None:
    """The condition comes to say why there are no numbers, and some ticks later the rollout stands where it stood."""
    def told(status: Status) -> bool:
        condition = space.condition("MetricsAvailable", status)
        return (condition.get("status"), condition.get("reason"), words in condition.get("message", "")) == ("False", reason, True)

    space.wait(f"MetricsAvailable is False, {reason}: {words}", told, 30)
    time.sleep(LASTING)
    status = space.status()
    lane = space.lane("chat", status)
    assert told(status), space.condition("MetricsAvailable", status)
    assert (lane["phase"], lane["weight"], lane["verdict"], status.get("history", [])) == ("Analyzing", 50, "Unavailable", []), reason
