"""What the process that reads a claim's model tells, and what is made of it."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from tests.unit.engine import memory_models as models

from fairlane.core.engine import modelfiles, termination
from fairlane.core.engine.memory import architecture, attention, essence, lengths
from fairlane.core.engine.memory.unknown import Unknown

URI = "pvc://weights/m"
NAMES = sorted(path.stem for path in models.MODELS.glob("*.json"))


def told(config: Mapping[str, Any], weight_bytes: int | None = 10**9) -> modelfiles.ModelFiles | Unknown:
    """What arrives of a config.json."""
    return termination.parse(termination.message(modelfiles.ModelFiles(config, weight_bytes, "/models/m")), URI)


class Recorder(Mapping[str, Any]):
    """A config.json that knows what was asked of it."""

    def __init__(self, value: Mapping[str, Any]) -> None:
        self._value, self.asked = value, set[str]()

    def __getitem__(self, key: str) -> Any:
        self.asked.add(key)
        return self._value[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._value)

    def __len__(self) -> int:
        return len(self._value)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("weight_bytes", [None, 10**9])
def test_of_what_arrives_the_same_is_computed(name: str, weight_bytes: int | None) -> None:
    config = models.config(name)
    found = told(config, weight_bytes)
    assert isinstance(found, modelfiles.ModelFiles)
    assert (weight_bytes, URI) == (found.weight_bytes, found.source)
    assert architecture.read(config, weight_bytes) == architecture.read(found.config, found.weight_bytes)
    assert len(termination.message(found)) < termination.LIMIT / 4


@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_asked_of_a_config_arrives(name: str) -> None:
    config = models.config(name)
    inner = Recorder(config.get("text_config") or config)
    assert isinstance(config.get("text_config", {}), dict)
    architecture.read(inner, None)
    everything = dict.fromkeys(inner.asked - {"text_config"}, 1)
    assert sorted(everything) == sorted(essence.essence(everything))


CHANGES = [
    pytest.param({"layer_types": ["full_attention", "sliding_attention"] * 40}, id="layers of two kinds"),
    pytest.param({"layer_types": ["full_attention"] * 500}, id="layers of one kind"),
    pytest.param({"layer_types": ["full_attention", 5]}, id="layers that are none"),
    pytest.param({"layer_types": "all"}, id="layers that are no list"),
    pytest.param({"quantization_config": {"quant_method": "gptq", "modules_to_not_convert": ["m"] * 5000}}, id="a long quantisation"),
    pytest.param({"quantization_config": None, "compression_config": {"kv_cache_scheme": {"num_bits": 8}}}, id="a quantisation that is null"),
    pytest.param({"compression_config": {"kv_cache_scheme": {"num_bits": 8}}}, id="a smaller type of the KV cache"),
    pytest.param({"quantization_config": {}}, id="an empty quantisation"),
    pytest.param({"quantization_config": "gptq"}, id="a quantisation that is none"),
    pytest.param({"rope_scaling": {"rope_type": "linear", "factor": 4.0, "long_factor": [1.5] * 5000}}, id="a longer context"),
    pytest.param({"rope_parameters": {"rope_theta": 1e6}, "rope_scaling": {"type": "linear", "factor": 4}}, id="parameters that hide the scaling"),
    pytest.param({"rope_parameters": {}, "rope_scaling": {"type": "linear", "factor": 4}}, id="empty parameters, which hide nothing"),
    pytest.param({"rope_scaling": {"rope_type": "longrope", "original_max_position_embeddings": 4096}}, id="longrope"),
    pytest.param({"block_configs": [{"attention": {"n_heads": 8}}] * 500}, id="a long list of blocks"),
    pytest.param({"text_config": {"mamba_d_state": 0}, "mamba_d_state": 16}, id="a zero that hides the outer value"),
    pytest.param({"text_config": None}, id="a text_config that is null"),
    pytest.param({"text_config": [1]}, id="a text_config that is none"),
    pytest.param({"hidden_size": -1}, id="a number that cannot be"),
    pytest.param({"hidden_size": None}, id="a number that is null"),
    pytest.param({"architectures": "Llama"}, id="a word for a list"),
    pytest.param({"torch_dtype": "int3"}, id="a type that is none"),
]


@pytest.mark.parametrize("changes", CHANGES)
def test_what_is_odd_stays_odd(changes: dict[str, Any]) -> None:
    config = models.config("llama-3.1-8b", **changes)
    found = told(config)
    assert isinstance(found, modelfiles.ModelFiles)
    assert architecture.read(config, 10**9) == architecture.read(found.config, 10**9)


def test_every_kind_of_layer_and_length_is_kept() -> None:
    wanted = dict.fromkeys((*attention.OTHER_LAYERS, *lengths.NAMES, *architecture.EXPERTS), 7)
    assert sorted(wanted) == sorted(essence.essence(wanted))


def deep(levels: int) -> Any:
    """A list in a list in a list."""
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


@pytest.mark.parametrize("config", [
    pytest.param({"architectures": ["x" * 5000]}, id="a field that is too long"),
    pytest.param({"architectures": deep(50_000)}, id="a field that is too deep"),
])
def test_what_is_too_much_is_said(config: dict[str, Any]) -> None:
    found = told(config)
    assert found == Unknown(f"{URI}: config.json of /models/m has more in the fields that matter than a pod can tell (4096 bytes)")


@pytest.mark.parametrize("reason", ["there is no folder /models/m", "no such thing: \U0001f600" + "\U0001f600" * 5000, '"', "\x00\n"])
def test_an_error_is_told_in_any_words(reason: str) -> None:
    text = termination.message(Unknown(reason))
    assert (text.isascii(), len(text) <= termination.LIMIT) == (True, True)
    assert termination.parse(text, URI) == Unknown(f"{URI}: {reason[:300]}")


@pytest.mark.parametrize(("text", "words"), [
    pytest.param("", "ended without a word", id="nothing"),
    pytest.param(" \n", "ended without a word", id="nothing but spaces"),
    pytest.param("ModuleNotFoundError: fairlane", "ModuleNotFoundError: fairlane", id="the end of a log"),
    pytest.param("[" * 3000, "[[[", id="brackets without end"),
    pytest.param('{"config":{"hidden_size":64', '"hidden_size":64', id="a message that was cut off"),
    pytest.param("[1]", "[1]", id="a list"),
    pytest.param("{}", "is nothing that the pod", id="an empty object"),
    pytest.param('{"config": [], "weightBytes": 1}', "is nothing that the pod", id="a config that is none"),
    pytest.param('{"config": {}, "weightBytes": -1}', "is nothing that the pod", id="weights below zero"),
    pytest.param('{"config": {}, "weightBytes": true}', "is nothing that the pod", id="weights that are a truth"),
    pytest.param('{"config": {}, "weightBytes": "1"}', "is nothing that the pod", id="weights that are text"),
    pytest.param('{"error": 5}', "is nothing that the pod", id="an error that is a number"),
])
def test_what_nobody_said_is_unknown(text: str, words: str) -> None:
    found = termination.parse(text, URI)
    assert isinstance(found, Unknown)
    assert (found.reason.startswith(f"{URI}: "), words in found.reason) == (True, True), found.reason


def test_a_model_without_sizes_arrives_without_sizes() -> None:
    assert told({"hidden_size": 64}, None) == modelfiles.ModelFiles({"hidden_size": 64}, None, URI)
