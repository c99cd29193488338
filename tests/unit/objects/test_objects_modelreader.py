"""The pod that reads a claim's model: small, without rights, where the engines may be."""

from typing import Any

import pytest
from tests.unit.engine import make

from fairlane.core import names, service
from fairlane.core.objects import modelreader

REF = service.ServiceRef(name="assistant", namespace="llm", uid="u-1")


def pod(uri: str = "pvc://weights/llama/8b", image: str = "fairlane:1", fragment: dict[str, Any] | None = None, **engine: Any) -> dict[str, Any]:
    """The pod of a service whose engines have this fragment as their pod's spec."""
    spec = make.service(engine={"pod": {"spec": fragment or {}}} | engine, model={"uri": uri})
    return modelreader.pod(REF, spec, make.rendered(spec).template["spec"], image)


def test_it_has_no_rights_writes_nothing_and_ends() -> None:
    made = pod()
    spec = made["spec"]
    (container,) = spec["containers"]
    assert (spec["automountServiceAccountToken"], spec["enableServiceLinks"], "serviceAccountName" in spec) == (False, False, False)
    assert (spec["restartPolicy"], spec["activeDeadlineSeconds"]) == ("Never", 120)
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert made["metadata"]["ownerReferences"] == [REF.owner]
    assert made["metadata"]["labels"] == names.labels("assistant", "model")


def test_it_reads_what_the_engine_reads_and_cannot_write_it() -> None:
    (container,) = pod()["spec"]["containers"]
    assert container["command"] == ["python", "-m", "fairlane", "model", "/models/llama/8b"]
    assert pod()["spec"]["volumes"] == [{"name": "model", "persistentVolumeClaim": {"claimName": "weights", "readOnly": True}}]
    assert container["volumeMounts"] == [{"name": "model", "mountPath": "/models", "readOnly": True}]
    assert "env" not in container


def test_it_asks_for_no_gpu() -> None:
    (container,) = pod()["spec"]["containers"]
    assert container["resources"] == {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}}


def test_it_goes_where_the_engines_may_go_and_best_beside_one() -> None:
    nodes = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}}
    fragment = {
        "nodeSelector": {"pool": "gpu"}, "tolerations": [{"key": "team", "operator": "Exists"}],
        "affinity": {"nodeAffinity": nodes, "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]}},
    }
    spec = pod(fragment=fragment, gpu={"product": "NVIDIA-L4"})["spec"]
    assert spec["nodeSelector"] == {"pool": "gpu", "nvidia.com/gpu.product": "NVIDIA-L4"}
    assert spec["tolerations"] == [{"key": "team", "operator": "Exists"}, {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert (spec["affinity"]["nodeAffinity"], "podAntiAffinity" in spec["affinity"]) == (nodes, False)
    (beside,) = spec["affinity"]["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert beside["podAffinityTerm"]["labelSelector"]["matchLabels"] == {names.SERVICE_LABEL: "assistant", names.COMPONENT_LABEL: "engine"}


@pytest.mark.parametrize(("engine", "expected"), [
    pytest.param({}, {"runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532}, id="as the engine is by itself"),
    pytest.param({"runAsUser": 1000, "supplementalGroups": [5]}, {"runAsUser": 1000, "supplementalGroups": [5]}, id="who may read the share"),
    pytest.param({"runAsUser": 0, "runAsNonRoot": False}, {"runAsUser": 65532}, id="never root"),
    pytest.param({"fsGroup": None}, {"fsGroup": 65532}, id="a null of the engine's"),
    pytest.param({"sysctls": [{"name": "a", "value": "b"}]}, {"runAsUser": 65532}, id="nothing that is not about reading"),
])
def test_it_reads_as_the_engine_does_but_never_as_root(engine: dict[str, Any], expected: dict[str, Any]) -> None:
    found = pod(fragment={"securityContext": engine})["spec"]["securityContext"]
    assert {key: found[key] for key in expected} == expected
    assert (found["runAsNonRoot"], "sysctls" in found) == (True, False)


@pytest.mark.parametrize("fragment", [{"tolerations": 5}, {"nodeSelector": "gpu"}, {"affinity": [1]}], ids=lambda fragment: next(iter(fragment)))
def test_what_the_api_server_would_refuse_is_left_out(fragment: dict[str, Any]) -> None:
    assert pod(fragment=fragment) == pod()


def test_the_image_comes_from_where_the_routers_come() -> None:
    spec = make.service(model={"uri": "pvc://weights/m"})
    router = spec.router.model_copy(update={"pod": {"spec": {"imagePullSecrets": [{"name": "s"}], "hostNetwork": True}}})
    made = modelreader.pod(REF, spec.model_copy(update={"router": router}), {}, "fairlane:1")["spec"]
    assert (made["imagePullSecrets"], "hostNetwork" in made) == ([{"name": "s"}], False)


@pytest.mark.parametrize("other", [
    pytest.param(pod("pvc://weights/llama/70b"), id="another path"),
    pytest.param(pod("pvc://other/llama/8b"), id="another claim"),
    pytest.param(pod(image="fairlane:2"), id="another image: a pod cannot be changed"),
    pytest.param(pod(fragment={"nodeSelector": {"a": "b"}}), id="other nodes"),
])
def test_what_is_another_pod_has_another_name(other: dict[str, Any]) -> None:
    assert pod()["metadata"]["name"] == pod()["metadata"]["name"] != other["metadata"]["name"]


def test_its_name_tells_whose_it_is_and_has_an_end() -> None:
    assert pod()["metadata"]["name"].startswith("assistant-model-")
    assert len(names.model_reader("a" * 63, "m")) <= 63
