"""`spec.router.pod`: what users may add to the router's pods, and what they may not say."""

from typing import Any

import pytest

from fairlane.api import spec as specs
from fairlane.core import errors, observed, service
from fairlane.core.objects import router

REF = service.ServiceRef("assistant", "prod", "uid")


def deployment(pod: dict[str, Any]) -> dict[str, Any]:
    """The router's Deployment with a fragment."""
    spec = specs.LLMServiceSpec.model_validate({
        "model": {"uri": "hf://a/b"}, "engine": {"image": "v:0.32.0"}, "lanes": [{"name": "chat", "profile": "Interactive", "replicas": 1}],
        "router": {"defaultLane": "chat", "pod": pod},
    })
    return next(item for item in router.objects(REF, spec, observed.Settings()) if item["kind"] == "Deployment")


@pytest.mark.parametrize(("pod", "field"), [
    pytest.param({"kind": "Pod"}, "spec.router.pod.kind", id="a whole object"),
    pytest.param({"metadata": {"labels": {"fairlane.dev/service": "x"}}}, "spec.router.pod.metadata.labels.fairlane.dev/service", id="whose pod it is"),
    pytest.param({"metadata": {"annotations": {"fairlane.dev/x": "y"}}}, "spec.router.pod.metadata.annotations.fairlane.dev/x", id="an annotation of ours"),
    pytest.param({"metadata": {"name": "x"}}, "spec.router.pod.metadata.name", id="a name"),
    pytest.param({"metadata": {"labels": [1]}}, "spec.router.pod.metadata.labels", id="labels that are a list"),
    pytest.param({"metadata": {"labels": 5}}, "spec.router.pod.metadata.labels", id="labels that are a number"),
    pytest.param({"spec": []}, "spec.router.pod.spec", id="a spec that is a list"),
    pytest.param({"spec": {"containers": [{"name": {}}]}}, "spec.router.pod.spec.containers", id="a name that is an object"),
])
def test_what_identifies_the_router_or_has_another_shape_is_refused(pod: dict[str, Any], field: str) -> None:
    with pytest.raises(errors.Refused) as refused:
        deployment(pod)
    assert field == refused.value.field


def test_labels_and_tolerations_are_merged() -> None:
    template = deployment({"metadata": {"labels": {"team": "a"}}, "spec": {"tolerations": [{"operator": "Exists"}]}})["spec"]["template"]
    assert (template["metadata"]["labels"]["team"], template["spec"]["tolerations"]) == ("a", [{"operator": "Exists"}])
