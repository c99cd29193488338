"""Router pods and engine pods that go away under load."""
from __future__ import annotations

import time

from e2e.scenarios import manifests, prompts, traffic
from e2e.scenarios.conftest import Service
from e2e.scenarios.space import Space


def test_router_pods_restarted_one_by_one_cut_nothing(space: Space, service: Service) -> None:
    space.apply(service(manifests.lane("chat"), router={"replicas": 2, "defaultLane": "chat"}))
    space.wait_ready()
    with traffic.Load(space.url, 10, prompts.mixed) as load:
        for pod in space.router_pods():
            space.kubectl("delete", "pod", pod["metadata"]["name"], timeout=180)
            space.wait("both router pods ready again", lambda status: status["router"].get("readyReplicas") == 2 and _ready(space) == 2, 90)
    assert [answer.line() for answer in load.failures] == []
    assert len(load.answers) > 50


def test_router_scales_up_and_down_without_a_failure(space: Space, service: Service) -> None:
    space.apply(service(manifests.lane("chat")))
    space.wait_ready()
    with traffic.Load(space.url, 10, prompts.mixed) as load:
        for replicas in (3, 1):
            space.patch({"router": {"replicas": replicas}})
            _wait_router(space, replicas)
    assert [answer.line() for answer in load.failures] == []


def test_an_engine_pod_killed_fails_only_the_requests_on_it(space: Space, service: Service) -> None:
    space.apply(service(manifests.lane("chat", replicas=2), env={"STANDIN_STEP_SECONDS": "0.03"}))
    space.wait_ready()
    victim = space.engine_pods("chat")[0]["metadata"]["name"]
    with traffic.Load(space.url, 10, prompts.mixed) as load:
        time.sleep(3)  # so that some streams run on it
        killed = time.time()
        space.kubectl("delete", "pod", victim, "--grace-period=0", "--force")
        space.wait("two ready replicas again", lambda status: space.lane("chat", status).get("readyReplicas") == 2, 60)
    late = [answer.line() for answer in load.failures if answer.at > killed + 1]
    assert late == []
    assert len(load.failures) <= 12, [answer.line() for answer in load.failures]


def _wait_router(space: Space, replicas: int) -> None:
    space.wait(f"{replicas} router pods", lambda _: _ready(space) == replicas == len(space.router_pods()), 120)


def _ready(space: Space) -> int:
    pods = [pod for pod in space.router_pods() if "deletionTimestamp" not in pod["metadata"]]
    return sum(any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", [])) for pod in pods)
