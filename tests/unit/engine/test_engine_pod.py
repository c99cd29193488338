"""`engine.pod`: what it may add, and what it may not change."""

from typing import Any

import pytest
from tests.unit.engine import make

from fairlane.core import errors
from fairlane.core.engine import strategic

ENGINE = "spec.engine.pod.spec.containers[engine]"


def patched(pod: dict[str, Any]) -> dict[str, Any]:
    return make.rendered(make.service(engine={"pod": pod})).template


def test_additions_leave_the_rest_as_it_was() -> None:
    template = patched({
        "metadata": {"labels": {"team": "nlp"}, "annotations": {"prometheus.io/scrape": "false"}},
        "spec": {
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "volumes": [{"name": "vllm", "hostPath": {"path": "/opt/vllm"}}],
            "containers": [
                {"name": "engine", "env": [{"name": "OMP_NUM_THREADS", "value": "1"}], "volumeMounts": [{"name": "vllm", "mountPath": "/opt/vllm"}],
                 "resources": {"requests": {"cpu": "2"}}},
                {"name": "sidecar", "image": "busybox"},
            ],
        },
    })
    plain = make.rendered(make.service()).template
    engine, before = template["spec"]["containers"][0], plain["spec"]["containers"][0]
    assert template["metadata"] == {
        "labels": plain["metadata"]["labels"] | {"team": "nlp"}, "annotations": plain["metadata"]["annotations"] | {"prometheus.io/scrape": "false"},
    }
    assert template["spec"]["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    assert template["spec"]["volumes"] == [*plain["spec"]["volumes"], {"name": "vllm", "hostPath": {"path": "/opt/vllm"}}]
    assert engine["env"] == [*before["env"], {"name": "OMP_NUM_THREADS", "value": "1"}]
    assert engine["volumeMounts"] == [*before["volumeMounts"], {"name": "vllm", "mountPath": "/opt/vllm"}]
    assert engine["resources"] == {"requests": {"nvidia.com/gpu": "1", "cpu": "2"}, "limits": {"nvidia.com/gpu": "1"}}
    assert (engine["command"], engine["ports"]) == (before["command"], before["ports"])
    assert [container["name"] for container in template["spec"]["containers"]] == ["engine", "sidecar"]


@pytest.mark.parametrize(("base", "patch", "expected"), [
    pytest.param({"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}, {"env": [{"name": "A", "value": "3"}]},
                 {"env": [{"name": "A", "value": "3"}, {"name": "B", "value": "2"}]}, id="an item of the same name is changed in its place"),
    pytest.param({"env": [{"name": "A", "value": "1"}]}, {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]},
                 {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]},
                 id="an env that changes its kind keeps nothing of the old"),
    pytest.param({"volumes": [{"name": "home", "emptyDir": {}}]}, {"volumes": [{"name": "home", "persistentVolumeClaim": {"claimName": "c"}}]},
                 {"volumes": [{"name": "home", "persistentVolumeClaim": {"claimName": "c"}}]}, id="a volume that changes its kind keeps nothing of the old"),
    pytest.param({"volumeMounts": [{"mountPath": "/a", "name": "x"}]}, {"volumeMounts": [{"mountPath": "/a", "name": "y"}]},
                 {"volumeMounts": [{"mountPath": "/a", "name": "y"}]}, id="mounts are known by their path"),
    pytest.param({"tolerations": [{"key": "a"}]}, {"tolerations": [{"key": "b"}]}, {"tolerations": [{"key": "b"}]}, id="a list without a key is replaced"),
    pytest.param({"env": [{"name": "A"}, {"name": "B"}]}, {"env": [{"name": "A", "$patch": "delete"}]}, {"env": [{"name": "B"}]},
                 id="an item is removed on request"),
    pytest.param({"nodeSelector": {"a": "1", "b": "2"}}, {"nodeSelector": {"a": None}}, {"nodeSelector": {"b": "2"}}, id="a null removes a field"),
    pytest.param({}, {"affinity": {"nodeAffinity": {"x": None, "y": 1}}}, {"affinity": {"nodeAffinity": {"y": 1}}}, id="a new object comes without its nulls"),
    pytest.param({"probe": {"httpGet": {"path": "/"}, "periodSeconds": 5}}, {"probe": {"exec": {"command": ["true"]}}},
                 {"probe": {"periodSeconds": 5, "exec": {"command": ["true"]}}},
                 id="a probe has one handler"),
])
def test_strategic_merge(base: dict[str, Any], patch: dict[str, Any], expected: dict[str, Any]) -> None:
    untouched = repr(base)
    assert expected == strategic.merge(base, patch, "x")
    assert untouched == repr(base)


@pytest.mark.parametrize(("pod", "field"), [
    pytest.param({"metadata": {"labels": {"fairlane.dev/lane": "batch"}}}, "spec.engine.pod.metadata.labels.fairlane.dev/lane", id="the lane's label"),
    pytest.param({"metadata": {"labels": {"app.kubernetes.io/managed-by": "me"}}},
                 "spec.engine.pod.metadata.labels.app.kubernetes.io/managed-by", id="whose pod it is"),
    pytest.param({"metadata": {"name": "x"}}, "spec.engine.pod.metadata.name", id="a name"),
    pytest.param({"kind": "Pod"}, "spec.engine.pod.kind", id="a whole object"),
    pytest.param({"spec": []}, "spec.engine.pod.spec", id="a spec that is a list"),
    pytest.param({"spec": {"restartPolicy": "Never"}}, "spec.engine.pod.spec.restartPolicy", id="the restart policy"),
    pytest.param({"spec": {"shareProcessNamespace": True}}, "spec.engine.pod.spec.shareProcessNamespace", id="another process 1"),
    pytest.param({"spec": {"containers": [{"name": "engine", "command": ["sh"]}]}}, f"{ENGINE}.command", id="the command"),
    pytest.param({"spec": {"containers": [{"name": "engine", "args": ["--x"]}]}}, f"{ENGINE}.args", id="arguments"),
    pytest.param({"spec": {"containers": [{"name": "engine", "ports": [{"containerPort": 9}]}]}}, f"{ENGINE}.ports", id="the port"),
    pytest.param({"spec": {"containers": [{"name": "engine", "image": "x"}]}}, f"{ENGINE}.image", id="the image"),
    pytest.param({"spec": {"containers": [{"name": "engine", "lifecycle": {}}]}}, f"{ENGINE}.lifecycle", id="the drain"),
    pytest.param({"spec": {"containers": [{"name": "engine", "$patch": "delete"}]}}, ENGINE, id="the engine itself"),
    pytest.param({"spec": {"containers": [{"name": "engine", "resources": {"limits": {"nvidia.com/gpu": "4"}}}]}},
                 f"{ENGINE}.resources.limits.nvidia.com/gpu", id="the GPUs"),
    pytest.param({"spec": {"containers": {"name": "engine"}}}, "spec.engine.pod.spec.containers", id="containers that are no list"),
    pytest.param({"spec": {"containers": [{"image": "x"}]}}, "spec.engine.pod.spec.containers", id="a container without a name"),
    pytest.param({"spec": {"containers": None}}, "spec.engine.pod.spec.containers", id="no containers"),
    pytest.param({"spec": {"containers": [{"name": []}]}}, "spec.engine.pod.spec.containers", id="a name that is a list"),
    pytest.param({"spec": {"containers": [{"name": "engine", "env": [{"value": "x"}]}]}}, f"{ENGINE}.env", id="a variable without a name"),
    pytest.param({"metadata": {"labels": [1]}}, "spec.engine.pod.metadata.labels", id="labels that are a list"),
    pytest.param({"spec": {"securityContext": "none"}}, "spec.engine.pod.spec.securityContext", id="text for an object"),
    pytest.param({"spec": {"$patch": "replace"}}, "spec.engine.pod.spec.$patch", id="replacing everything"),
])
def test_what_identifies_or_drives_the_engine_is_refused(pod: dict[str, Any], field: str) -> None:
    with pytest.raises(errors.Refused) as refused:
        patched(pod)
    assert field == refused.value.field


@pytest.mark.parametrize("pod", [{"metadata": None}, {"spec": None}, {"spec": {"containers": [{"name": "engine", "resources": None}]}}])
def test_nulls_leave_the_engine_as_it_is(pod: dict[str, Any]) -> None:
    assert patched({})["spec"]["containers"][0]["command"] == patched(pod)["spec"]["containers"][0]["command"]
