"""The router's objects."""

from typing import Any

import pytest

from fairlane.api import spec as specs
from fairlane.core import errors, observed, service
from fairlane.core.objects import router, routerpod, routes
from fairlane.core.routing import document

REF = service.ServiceRef("assistant", "ml", "uid-0")
SETTINGS = observed.Settings(router_image="envoy:1", agent_image="fairlane:1")


def spec(lanes: int = 1, **fields: Any) -> specs.LLMServiceSpec:
    made = [{"name": f"lane{number}", "profile": "Interactive", "replicas": 1} for number in range(lanes)]
    engine = {"image": "vllm/vllm-openai:v0.32.0", "gpu": {"memory": "24Gi"}}
    return specs.LLMServiceSpec.model_validate({"model": {"uri": "hf://a/b"}, "engine": engine, "lanes": made, "router": {"defaultLane": "lane0"} | fields})


def by_kind(given: specs.LLMServiceSpec) -> dict[str, dict[str, Any]]:
    return {item["kind"]: item for item in router.objects(REF, given, SETTINGS)}


def test_there_is_one_object_of_each_kind_owned_by_the_service() -> None:
    made = router.objects(REF, spec(), SETTINGS)
    expected = ["ServiceAccount", "Role", "RoleBinding", "Service", "Deployment", "PodDisruptionBudget", "NetworkPolicy"]
    assert [item["kind"] for item in made] == expected
    assert {item["metadata"]["name"] for item in made} == {"assistant-router"}
    assert {item["metadata"]["ownerReferences"][0]["uid"] for item in made} == {"uid-0"}


def test_lanes_and_replicas_restart_no_router() -> None:
    few, many = by_kind(spec(1)), by_kind(spec(9, replicas=7))
    assert few["Deployment"]["spec"]["template"] == many["Deployment"]["spec"]["template"]
    assert (few["Deployment"]["spec"]["replicas"], many["Deployment"]["spec"]["replicas"]) == (2, 7)


def test_no_router_is_added_above_the_number_that_shares_the_bounds() -> None:
    assert by_kind(spec())["Deployment"]["spec"]["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}


def test_envoy_is_a_sidecar_that_starts_after_the_first_files_and_before_the_agent() -> None:
    pod = by_kind(spec())["Deployment"]["spec"]["template"]["spec"]
    assert [(one["name"], one.get("restartPolicy")) for one in pod["initContainers"]] == [("first-files", None), ("envoy", "Always")]
    assert [(one["name"], one["image"]) for one in pod["containers"]] == [("agent", "fairlane:1")]
    assert pod["initContainers"][0]["command"] == ["python", "-m", "fairlane", "agent", "--init"]
    assert pod["initContainers"][1]["image"] == "envoy:1"


def test_every_container_is_confined_and_envoy_has_no_token() -> None:
    pod = by_kind(spec())["Deployment"]["spec"]["template"]["spec"]
    containers = pod["initContainers"] + pod["containers"]
    confined = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    assert [one["securityContext"] for one in containers] == [confined] * 3
    assert (pod["securityContext"]["runAsUser"], pod["securityContext"]["seccompProfile"]) == (65532, {"type": "RuntimeDefault"})
    assert pod["automountServiceAccountToken"] is False
    assert ["api-access" in [mount["name"] for mount in one["volumeMounts"]] for one in containers] == [True, False, True]


def test_a_certificate_is_mounted_and_changes_port_and_probe() -> None:
    made = by_kind(spec(tls={"secretRef": {"name": "cert"}}))
    pod = made["Deployment"]["spec"]["template"]["spec"]
    assert {"name": "tls", "secret": {"secretName": "cert"}} in pod["volumes"]
    assert pod["initContainers"][1]["readinessProbe"]["httpGet"]["scheme"] == "HTTPS"
    assert made["Service"]["spec"]["ports"][0]["port"] == 443


def test_the_service_has_the_type_that_was_asked_for() -> None:
    made = by_kind(spec(service={"type": "LoadBalancer"}))["Service"]["spec"]
    assert (made["type"], made["ports"][0]["port"], made["ports"][0]["targetPort"]) == ("LoadBalancer", 80, "http")


def test_the_agent_may_do_no_more_than_it_does() -> None:
    rules = by_kind(spec())["Role"]["rules"]
    assert [(rule["resources"], rule.get("resourceNames"), rule["verbs"]) for rule in rules] == [
        (["configmaps"], ["assistant-routes"], ["get", "list", "watch"]),
        (["endpointslices"], None, ["get", "list", "watch"]),
        (["leases"], ["assistant-heartbeat"], ["get", "list", "watch"]),
        (["leases"], None, ["create", "patch"]),
    ]


def test_a_pod_fragment_is_merged() -> None:
    fragment = {"spec": {"tolerations": [{"key": "a"}], "initContainers": [{"name": "envoy", "resources": {"limits": {"memory": "1Gi"}}}]}}
    pod = by_kind(spec(pod=fragment))["Deployment"]["spec"]["template"]["spec"]
    assert pod["tolerations"] == [{"key": "a"}]
    assert pod["initContainers"][1]["resources"] == {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}}


REFUSED = {
    "a label of ours": ({"metadata": {"labels": {"fairlane.dev/service": "other"}}}, "spec.router.pod.metadata.labels.fairlane.dev/service"),
    "something that is no part of a template": ({"kind": "Pod"}, "spec.router.pod.kind"),
    "a container without name": ({"spec": {"containers": [{"image": "x"}]}}, "spec.router.pod.spec.containers"),
}


@pytest.mark.parametrize(("fragment", "field"), REFUSED.values(), ids=REFUSED.keys())
def test_a_pod_fragment_that_cannot_be_is_refused(fragment: dict[str, Any], field: str) -> None:
    with pytest.raises(errors.Refused) as refused:
        router.objects(REF, spec(pod=fragment), SETTINGS)
    assert refused.value.field == field


def test_the_metrics_port_has_the_name_that_monitors_use() -> None:
    ports = by_kind(spec())["Deployment"]["spec"]["template"]["spec"]["initContainers"][1]["ports"]
    assert {"name": routerpod.METRICS_PORT_NAME, "containerPort": 9902} in ports


def test_the_route_document_survives_its_config_map() -> None:
    lane = document.LaneRoute(name="chat", callers=("a",), tracks=(document.Track(role="stable", revision="r-1", weight=100),))
    route = document.RouteDocument(namespace="ml", service="assistant", model="m", default_lane="chat", lanes=(lane,))
    stored = routes.config_map(REF, route)
    assert (stored["metadata"]["name"], routes.parse(stored)) == ("assistant-routes", route)


@pytest.mark.parametrize("data", [None, {}, {"routes.json": "{"}, {"routes.json": "{}"}], ids=["no data", "no key", "no JSON", "no document"])
def test_a_config_map_that_carries_no_document_says_what_to_do(data: object) -> None:
    with pytest.raises(errors.FairlaneError, match=r"ConfigMap x: .*delete"):
        routes.parse({"metadata": {"name": "x"}, "data": data})
