"""The operator in one namespace, with no right in the cluster."""
from __future__ import annotations

import json

import pytest

from e2e.scenarios import install, manifests, prompts, traffic
from e2e.scenarios.conftest import Service
from e2e.scenarios.space import Space

pytestmark = pytest.mark.disruptive


def test_a_namespaced_operator_has_no_cluster_rights_and_rolls_out(space: Space, service: Service) -> None:
    install.scale_operator(space.cluster, 0)  # two operators would both serve this namespace
    try:
        scope = ("--set", f"scope.namespaces={{{space.namespace}}}", "--set", "crds.install=false")
        install.operator(space.cluster, *scope, namespace=space.namespace, release="scoped")
        bound = json.loads(space.cluster.kubectl("get", "clusterrolebindings", "-o", "json"))["items"]
        subjects = [subject.get("namespace") for binding in bound for subject in binding.get("subjects") or []]
        assert space.namespace not in subjects
        space.apply(service(manifests.lane("chat", scheduler={"maxNumSeqs": 8}), rollout=manifests.rollout((50, "10s"))))
        space.wait_ready()
        with traffic.Load(space.url, 5, prompts.short) as load:
            space.patch_lane("chat", scheduler={"maxNumSeqs": 16})
            space.wait_ended("chat", "Promoted")
        assert [answer.line() for answer in load.failures] == []
        space.cluster.helm("uninstall", "scoped", "--namespace", space.namespace)
    finally:
        install.scale_operator(space.cluster, 1)
