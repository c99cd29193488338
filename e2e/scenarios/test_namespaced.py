"""The operator in one namespace, with no right in the cluster."""
from __future__ import annotations

import json

from e2e.scenarios import install, manifests, prompts, traffic
from e2e.scenarios.conftest import Service
from e2e.scenarios.space import Space


def test_a_namespaced_operator_has_no_cluster_rights_and_rolls_out(space: Space, service: Service, operator: install.Operator) -> None:
    bound = json.loads(space.cluster.kubectl("get", "clusterrolebindings", "-o", "json"))["items"]
    subjects = [subject.get("namespace") for binding in bound for subject in binding.get("subjects") or []]
    assert operator.namespace not in subjects
    space.apply(service(manifests.lane("chat", scheduler={"maxNumSeqs": 8}), rollout=manifests.rollout((50, "10s"))))
    space.wait_ready()
    with traffic.Load(space.url, 5, prompts.short) as load:
        space.patch_lane("chat", scheduler={"maxNumSeqs": 16})
        space.wait_ended("chat", "Promoted")
    assert [answer.line() for answer in load.failures] == []
