"""The operator dies, is away, or is another one. Each is in one namespace and has no right elsewhere."""
from __future__ import annotations

import json
import time

import pytest

from e2e.scenarios import install, manifests, other_build, prompts, traffic
from e2e.scenarios.conftest import Service
from e2e.scenarios.space import Space

CHAT = manifests.lane("chat", scheduler={"maxNumSeqs": 8, "maxNumBatchedTokens": 2048})


@pytest.mark.long
def test_a_namespaced_operator_deleted_in_each_phase_changes_no_end(space: Space, service: Service, operator: install.Operator) -> None:
    long = {"rollout": manifests.rollout((10, "60s"), warmup={"requests": 1000, "duration": "10s"}, failSafeAfter="60s")}
    assert_no_cluster_rights(operator)
    space.apply(service(CHAT | {"replicas": 2}, env={"STANDIN_STEP_SECONDS": "0.05", "STANDIN_LOAD_SECONDS": "5"}, **long))
    space.wait_ready()
    # so few that the slow one keeps up on any machine: what waits half a minute in an engine that falls behind is cut, and that is no fault of an operator away
    with traffic.Load(space.url, 5, prompts.page) as load:
        for change, phases, end in (
            ({"maxNumSeqs": 16}, ("Loading", "Warming", "Analyzing", "Promoting"), "Promoted"),
            ({"maxNumBatchedTokens": 16}, ("Loading", "Warming", "Analyzing", "RollingBack"), "RolledBack"),
        ):
            before = len(space.history("chat"))
            space.patch_lane("chat", scheduler=change)
            killed = _kill_in_each(operator, space, phases, before)
            space.wait_ended("chat", end, after=before, seconds=180)
            assert tuple(killed) == phases, f"{end}: the operator was killed in {killed}"
        space.wait_phase("chat", "Idle")
    assert [answer.line() for answer in load.failures] == []
    assert len(space.history("chat")) == 2


def assert_no_cluster_rights(operator: install.Operator) -> None:
    bound = json.loads(operator.cluster.kubectl("get", "clusterrolebindings", "-o", "json"))["items"]
    assert operator.namespace not in [subject.get("namespace") for binding in bound for subject in binding.get("subjects") or []]


def _kill_in_each(operator: install.Operator, space: Space, phases: tuple[str, ...], records: int) -> list[str]:
    """Kill the operator once in each phase, as soon as it is seen; the phases in which it was."""
    killed: list[str] = []
    deadline = time.monotonic() + 180
    while len(killed) < len(phases) and len((status := space.status()).get("history", [])) == records and time.monotonic() < deadline:
        phase = space.lane("chat", status).get("phase", "")
        if phase in phases and phase not in killed:
            operator.kill()
            killed.append(phase)
        time.sleep(0.1)
    return killed


@pytest.mark.long
def test_without_an_operator_all_traffic_goes_to_the_stable_and_deletion_leaves_nothing(space: Space, service: Service, operator: install.Operator) -> None:
    space.apply(service(CHAT, rollout=manifests.rollout((50, "60s"), failSafeAfter="10s")))
    space.wait_ready()
    with traffic.Load(space.url, 5, prompts.short) as load:
        space.patch_lane("chat", scheduler={"maxNumSeqs": 16})
        space.wait_phase("chat", "Analyzing", seconds=90)
        operator.scale(0)
        time.sleep(16)  # failSafeAfter, and what the agents need to act
        safe = time.time()
        time.sleep(10)
        assert {answer.track for answer in load.since(safe)} == {"stable"}
        operator.scale(1)
        back = time.time()
        space.wait("the canary has traffic again", lambda _: any(answer.track == "canary" for answer in load.since(back)), 60)
        operator.scale(0)
    assert [answer.line() for answer in load.failures] == []
    assert_deletes(space)


def test_deleting_a_service_leaves_nothing_of_it(space: Space, service: Service) -> None:
    space.apply(service(CHAT))
    space.wait_ready()
    assert_deletes(space)


def assert_deletes(space: Space) -> None:
    """Delete the service: nothing of it is left within 60 s, and the namespace goes too."""
    space.kubectl("delete", "llmsvc", space.name)
    deadline = time.monotonic() + 60
    while (left := owned(space)) and time.monotonic() < deadline:
        time.sleep(1)
    assert left == []
    space.cluster.kubectl("delete", "namespace", space.namespace, "--timeout=60s", timeout=70)
    space.cluster.kubectl("create", "namespace", space.namespace)  # for the fixture's own end


def owned(space: Space) -> list[str]:
    kinds = "deployments,replicasets,pods,services,endpointslices,configmaps,leases,serviceaccounts,roles,rolebindings,pdb,networkpolicies,controllerrevisions"
    items = json.loads(space.kubectl("get", kinds, "-l", f"fairlane.dev/service={space.name}", "-o", "json"))["items"]
    return [f"{item['kind']}/{item['metadata']['name']}" for item in items]


def test_an_operator_that_renders_differently_restarts_no_pod(space: Space, service: Service, operator: install.Operator) -> None:
    space.apply(service(CHAT))
    space.wait_ready()
    before = space.restarts("chat")
    other_build.changed_renderer(operator)
    generation = space.service()["metadata"]["generation"]
    space.patch_lane("chat", admission={"maxInFlight": 12})
    status = space.wait("the new operator has seen the service", lambda status: status["observedGeneration"] > generation, 60)
    space.patch_lane("chat", replicas=2)
    space.wait("its second pod is ready", lambda status: space.lane("chat", status).get("readyReplicas") == 2, 60)
    space.wait_ready()
    assert space.lane("chat", status)["phase"] == "Idle"
    assert before.items() <= space.restarts("chat").items()
    other = Space(space.cluster, space.namespace, "other")
    other.apply(service(CHAT, name="other"))
    other.wait_ready()
    annotations = [pod["metadata"]["annotations"].get("example.com/renderer") for pod in other.engine_pods("chat")]
    assert annotations == ["changed"], "the operator of the test build renders as the other one does"
