"""The pod that sends synthetic load: small, without rights, one at a time."""

import pytest

from fairlane.api import spec as specs
from fairlane.core import errors, names, service
from fairlane.core.load import document
from fairlane.core.objects import load

REF = service.ServiceRef(name="assistant", namespace="llm", uid="u-1")
LOAD = document.Load(
    url="http://r", lane="chat", model="m", key="k", rate=1.5, max_requests=9, in_flight=2, prompt_tokens=(1, 2), output_tokens=(3,), measured=True
)


def router(**pod: object) -> specs.Router:
    return specs.Router.model_validate({"defaultLane": "chat", "pod": {"spec": pod}})


def test_what_is_told_is_read_as_it_was_told() -> None:
    assert load.parse(load.config_map(REF, LOAD)) == LOAD


@pytest.mark.parametrize("data", [None, {}, {"load.json": "{"}, {"load.json": '{"lane": "chat"}'}], ids=["nothing", "no key", "no JSON", "half"])
def test_what_cannot_be_read_is_said(data: object) -> None:
    with pytest.raises(errors.FairlaneError, match=r"ConfigMap assistant-chat-load: data\[load.json\] is no load"):
        load.parse({"metadata": {"name": "assistant-chat-load"}, "data": data})


def test_it_has_no_rights_and_writes_nothing() -> None:
    made = load.deployment(REF, "chat", "aaaaaaaa-1", "fairlane:1", router())
    pod = made["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert (pod["automountServiceAccountToken"], pod["securityContext"]["runAsNonRoot"], "serviceAccountName" in pod) == (False, True, False)
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    assert (container["image"], container["command"]) == ("fairlane:1", ["python", "-m", "fairlane", "load"])
    assert (made["spec"]["replicas"], made["spec"]["strategy"]) == (1, {"type": "Recreate"})
    assert made["metadata"]["ownerReferences"] == [REF.owner]


def test_the_next_canary_has_another_pod_of_the_same_deployment() -> None:
    first, second = (load.deployment(REF, "chat", revision, "fairlane:1", router()) for revision in ("aaaaaaaa-1", "aaaaaaaa-2"))
    assert first["spec"]["template"] != second["spec"]["template"]
    assert (first["metadata"]["name"], first["spec"]["selector"]) == (second["metadata"]["name"], second["spec"]["selector"])
    assert first["spec"]["selector"]["matchLabels"].items() <= first["spec"]["template"]["metadata"]["labels"].items()


def test_it_may_run_where_the_router_may_and_takes_nothing_else_of_its_pod() -> None:
    placed = {"imagePullSecrets": [{"name": "s"}], "nodeSelector": {"a": "b"}, "tolerations": [{"key": "x"}], "priorityClassName": "p"}
    pod = load.deployment(REF, "chat", "aaaaaaaa-1", "fairlane:1", router(**placed, hostNetwork=True))["spec"]["template"]["spec"]
    assert {key: pod[key] for key in placed} == placed
    assert "hostNetwork" not in pod


def test_it_is_no_engine_and_no_router_and_named_apart() -> None:
    labels = load.deployment(REF, "chat", "aaaaaaaa-1", "fairlane:1", router())["spec"]["template"]["metadata"]["labels"]
    assert labels[names.COMPONENT_LABEL] == "load"
    others = {names.router("assistant"), names.routes("assistant"), names.engine("assistant", "chat", "aaaaaaaa-1"), names.lane("assistant", "chat")}
    assert names.load("assistant", "chat") not in others
    assert len(names.load("a" * 38, "b" * 20)) <= 45
