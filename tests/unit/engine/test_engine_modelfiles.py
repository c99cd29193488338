"""What a model's files say, from the texts of a folder, the hub or a ConfigMap."""

import json
from typing import Any

import pytest
from tests.unit.engine import make

from fairlane.core.engine import modelfiles
from fairlane.core.engine.memory.unknown import Unknown

CONFIG = json.dumps({"architectures": ["LlamaForCausalLM"]})
INDEX = json.dumps({"metadata": {"total_size": 16_060_522_496}, "weight_map": {}})


@pytest.mark.parametrize(("texts", "single", "expected"), [
    pytest.param({"config.json": CONFIG, "model.safetensors.index.json": INDEX}, None, 16_060_522_496, id="the index says the size"),
    pytest.param({"config.json": CONFIG}, 269_060_552, 269_060_552, id="without an index, the one file's size"),
    pytest.param({"config.json": CONFIG}, None, None, id="neither"),
    pytest.param({"config.json": CONFIG, "model.safetensors.index.json": "{}"}, 5, 5, id="an index without a size"),
    pytest.param({"config.json": CONFIG, "model.safetensors.index.json": '{"metadata": {"total_size": true}}'}, None, None, id="a size that is none"),
    pytest.param({"config.json": CONFIG, "model.safetensors.index.json": "nonsense"}, None, None, id="an index that is none"),
])
def test_the_size_of_the_weights(texts: dict[str, str], single: int | None, expected: int | None) -> None:
    found = modelfiles.parse(texts, "a/b at main", single)
    assert isinstance(found, modelfiles.ModelFiles)
    assert (found.weight_bytes, found.config) == (expected, json.loads(CONFIG))


@pytest.mark.parametrize(("texts", "expected"), [
    pytest.param({}, "x has no config.json", id="no file"),
    pytest.param({"config.json": "<html>"}, "config.json of x is no JSON object", id="a page"),
    pytest.param({"config.json": "[]"}, "config.json of x is no JSON object", id="a list"),
    pytest.param({"config.json": "[" * 100_000}, "config.json of x is no JSON object", id="a deep list"),
])
def test_what_is_no_config_is_unknown(texts: dict[str, str], expected: str) -> None:
    assert modelfiles.parse(texts, "x") == Unknown(expected)


@pytest.mark.parametrize(("data", "expected"), [
    pytest.param({"config.json": CONFIG, "weightBytes": " 15000000000\n"}, 15_000_000_000, id="the bytes as a number"),
    pytest.param({"config.json": CONFIG, "model.safetensors.index.json": INDEX, "weightBytes": "1"}, 16_060_522_496, id="an index goes before it"),
    pytest.param({"config.json": CONFIG}, None, id="no size"),
])
def test_a_config_map_has_the_same_files_or_the_bytes(data: dict[str, str], expected: int | None) -> None:
    found = modelfiles.of_config_map(data, "qwen")
    assert isinstance(found, modelfiles.ModelFiles)
    assert (found.weight_bytes, found.source) == (expected, "ConfigMap qwen")


@pytest.mark.parametrize("given", ["15 GB", "-1", "0", "1e9", "²", "9" * 30])
def test_bytes_that_are_none_are_named(given: str) -> None:
    found = modelfiles.of_config_map({"config.json": CONFIG, "weightBytes": given}, "qwen")
    assert found == Unknown(f"weightBytes of ConfigMap qwen is {given!r}; write the bytes of all weights as a whole number")


@pytest.mark.parametrize(("uri", "flags", "expected"), [
    pytest.param("hf://Qwen/Qwen2.5-7B-Instruct", {}, modelfiles.HubModel("Qwen/Qwen2.5-7B-Instruct", "main"), id="the hub's, at main"),
    pytest.param("hf://gpt2", {"revision": "607a30d"}, modelfiles.HubModel("gpt2", "607a30d"), id="at a commit"),
    pytest.param("hf://gpt2", {"revision": "../../x"}, None, id="a revision that leads elsewhere"),
    pytest.param("pvc://weights/qwen", {}, None, id="a claim's"),
    pytest.param("file:///models/qwen", {}, None, id="a folder's"),
])
def test_the_hub_is_asked_for_its_own_models_only(uri: str, flags: dict[str, Any], expected: modelfiles.HubModel | None) -> None:
    assert modelfiles.hub_model(make.service(model={"uri": uri}), flags) == expected
