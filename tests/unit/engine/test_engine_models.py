"""Where weights come from."""

from typing import Any

import pytest

from fairlane.api import spec as specs
from fairlane.core import errors
from fairlane.core.engine import models


@pytest.mark.parametrize(("model", "argument", "volumes"), [
    pytest.param({"uri": "hf://Qwen/Qwen2.5-7B-Instruct"}, "Qwen/Qwen2.5-7B-Instruct", [{"name": "model-cache", "emptyDir": {}}],
                 id="the hub, with a cache of the pod's own"),
    pytest.param({"uri": "hf://gpt2", "cache": {"sizeLimit": "40Gi"}}, "gpt2", [{"name": "model-cache", "emptyDir": {"sizeLimit": "40Gi"}}],
                 id="the hub, with a bounded cache"),
    pytest.param({"uri": "hf://gpt2", "cache": {"claimName": "weights"}}, "gpt2", [{"name": "model-cache", "persistentVolumeClaim": {"claimName": "weights"}}],
                 id="the hub, with a cache that all pods share"),
    pytest.param({"uri": "pvc://weights/qwen/7b/"}, "/models/qwen/7b", [{"name": "model", "persistentVolumeClaim": {"claimName": "weights", "readOnly": True}}],
                 id="a folder of a claim, read-only"),
    pytest.param({"uri": "pvc://weights"}, "/models", [{"name": "model", "persistentVolumeClaim": {"claimName": "weights", "readOnly": True}}],
                 id="a whole claim"),
    pytest.param({"uri": "file:///models/smollm2"}, "/models/smollm2", [], id="a folder of the image"),
])
def test_source_of_a_model(model: dict[str, Any], argument: str, volumes: list[dict[str, Any]]) -> None:
    source = models.resolve(specs.ModelSource.model_validate(model))
    assert (argument, volumes) == (source.argument, list(source.volumes))
    assert [volume["name"] for volume in volumes] == [mount["name"] for mount in source.mounts]


def test_token_comes_from_its_secret() -> None:
    source = models.resolve(specs.ModelSource.model_validate({"uri": "hf://a/b", "tokenSecretRef": {"name": "hf-token"}}))
    assert {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf-token", "key": "token"}}} in source.env


@pytest.mark.parametrize(("model", "field"), [
    pytest.param({"uri": "Qwen/Qwen2.5-7B-Instruct"}, "spec.model.uri", id="no scheme"),
    pytest.param({"uri": "s3://bucket/model"}, "spec.model.uri", id="a scheme that is not served"),
    pytest.param({"uri": "hf://a/b/c"}, "spec.model.uri", id="three parts"),
    pytest.param({"uri": "hf://a/b@main"}, "spec.model.uri", id="a revision in the name"),
    pytest.param({"uri": "hf://--trust-remote-code"}, "spec.model.uri", id="a flag in place of a model"),
    pytest.param({"uri": "pvc:///path"}, "spec.model.uri", id="no claim"),
    pytest.param({"uri": "pvc://Weights/path"}, "spec.model.uri", id="a claim that no object can have"),
    pytest.param({"uri": "pvc://weights/../secret"}, "spec.model.uri", id="a path that leads out"),
    pytest.param({"uri": "file://models/x"}, "spec.model.uri", id="a relative path"),
    pytest.param({"uri": "file:///"}, "spec.model.uri", id="the root"),
    pytest.param({"uri": "file:///models/x", "cache": {"claimName": "weights"}}, "spec.model.cache", id="a cache for what is not fetched"),
])
def test_what_is_no_model_is_refused(model: dict[str, Any], field: str) -> None:
    with pytest.raises(errors.Refused) as refused:
        models.resolve(specs.ModelSource.model_validate(model))
    assert field == refused.value.field
