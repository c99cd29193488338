"""What a model's config.json says about memory, and when it says nothing."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.engine import memory_models as models

from fairlane.core.engine.memory import architecture, estimate, need
from fairlane.core.engine.memory.attention import Kind
from fairlane.core.engine.memory.unknown import Unknown


@pytest.mark.parametrize(("name", "flags", "expected"), [
    pytest.param("llama-3.1-8b", {}, 131_072, id="grouped heads, as vLLM's own config says (131072)"),
    pytest.param("llama-3.1-8b", {"kv_cache_dtype": "fp8"}, 65_536, id="fp8 halves it"),
    pytest.param("llama-3.1-8b", {"dtype": "float32"}, 262_144, id="float32 doubles it"),
    pytest.param("llama-3.1-8b", {"dtype": "float32", "kv_cache_dtype": "bfloat16"}, 131_072, id="a type of its own"),
    pytest.param("llama-3.1-8b", {"pipeline_parallel_size": 2}, 65_536, id="half of the layers on each of two stages"),
    pytest.param("qwen2.5-72b", {"tensor_parallel_size": 4}, 81_920, id="heads shared among four, as vLLM's own config says (81920)"),
    pytest.param("qwen2.5-72b", {"tensor_parallel_size": 8}, 40_960, id="one head on each of eight"),
    pytest.param("qwen2.5-72b", {"tensor_parallel_size": 16}, 40_960, id="more GPUs than heads: each keeps a copy"),
    pytest.param("deepseek-v3", {}, 70_272, id="one compressed vector: 61 x 576 x 2"),
    pytest.param("deepseek-v3", {"tensor_parallel_size": 8}, 70_272, id="which nobody shares"),
    pytest.param("mistral-small-3.1-24b", {}, 163_840, id="fields in text_config"),
    pytest.param("smollm2-135m", {}, 23_040, id="a small model"),
])
def test_bytes_per_token(name: str, flags: dict[str, Any], expected: int) -> None:
    assert expected == estimate.cache(models.model(name), need.Demand(**flags)).token_bytes


@pytest.mark.parametrize(("name", "parameters"), [
    pytest.param("tiny", 213_312, id="tiny"),
    pytest.param("smollm2-135m", 134_515_008, id="SmolLM2-135M, whose output shares the embeddings"),
    pytest.param("llama-3.1-8b", 8_030_261_248, id="Llama-3.1-8B"),
    pytest.param("mistral-7b", 7_241_732_096, id="Mistral-7B"),
    pytest.param("qwen3-8b", 8_190_735_360 - 36 * 2 * 128, id="Qwen3-8B, without the norms of its heads"),
    pytest.param("qwen2.5-7b", 7_615_616_512 - 28 * (3584 + 2 * 512), id="Qwen2.5-7B, without its biases"),
])
def test_weights_of_dense_models_follow_from_the_config(name: str, parameters: int) -> None:
    found = models.model(name)
    assert (2 * parameters, "the formula for dense models") == (found.weight_bytes, found.weights_from)


def test_the_files_win_over_the_formula() -> None:
    found = models.model("llama-3.1-8b", weight_bytes=5_730_000_000)
    assert (found.weight_bytes, found.weights_from) == (5_730_000_000, "the weights' files")


@pytest.mark.parametrize("name", ["mixtral-8x7b", "deepseek-v3", "llama-3.3-70b-fp8", "mistral-small-3.1-24b"])
def test_no_formula_for_experts_quantised_or_seeing_models(name: str) -> None:
    assert models.model(name).weight_bytes is None


@pytest.mark.parametrize(("name", "changes", "expected"), [
    pytest.param("mistral-7b", {}, 4096, id="one window for all layers"),
    pytest.param("mistral-7b", {"sliding_window": 0}, None, id="a window of 0 is none"),
    pytest.param("mistral-7b", {"layer_types": ["sliding_attention"] * 32}, 4096, id="said for each layer"),
    pytest.param("mistral-7b", {"layer_types": ["full_attention"] * 32}, None, id="all layers see all tokens"),
    pytest.param("qwen2.5-7b", {}, None, id="a window that is not used"),
    pytest.param("qwen2.5-7b", {"use_sliding_window": True}, None, id="a window above the last layer"),
    pytest.param("qwen2.5-7b", {"use_sliding_window": True, "max_window_layers": 0}, 131072, id="a window that all layers use"),
])
def test_windows(name: str, changes: dict[str, Any], expected: int | None) -> None:
    found = models.model(name, **changes).attention
    assert (expected, Kind.FULL if expected is None else Kind.SLIDING) == (found.window, found.kind)


@pytest.mark.parametrize(("name", "changes", "expected"), [
    pytest.param("llama-3.1-8b", {}, 131072, id="llama3 has its factor in the length already"),
    pytest.param("deepseek-v3", {}, 163840, id="yarn too"),
    pytest.param("llama-3-8b", {"rope_scaling": {"type": "linear", "factor": 4.0}}, 32768, id="a linear factor counts"),
    pytest.param("llama-3-8b", {"rope_parameters": {"rope_type": "dynamic", "factor": 2}}, 16384, id="under its newer name"),
    pytest.param("llama-3-8b", {"rope_scaling": {"type": "linear", "factor": "4"}}, 8192, id="a factor in words does not"),
    pytest.param("llama-3-8b", {"rope_scaling": {"rope_type": "longrope"}, "original_max_position_embeddings": 4096}, 4096, id="longrope: the original"),
    pytest.param("llama-3-8b", {"seq_length": 2048}, 2048, id="the smallest of what is stated"),
    pytest.param("llama-3-8b", {"max_position_embeddings": None}, None, id="nothing is stated"),
])
def test_the_longest_sequence_of_the_config(name: str, changes: dict[str, Any], expected: int | None) -> None:
    assert expected == models.model(name, **changes).longest


@pytest.mark.parametrize(("name", "changes", "reason"), [
    pytest.param("jamba-1.5-mini", {}, "JambaForCausalLM: it mixes attention with layers that keep a state", id="mamba"),
    pytest.param("qwen3-next-80b", {}, "Qwen3NextForCausalLM: it mixes attention with layers that keep a state", id="linear attention"),
    pytest.param("gemma-3-12b", {}, "it mixes layers that see a sliding window with layers that see all tokens", id="windows in some layers"),
    pytest.param("mistral-7b", {"layer_types": ["sliding_attention", "full_attention"] * 16}, "layer_types", id="windows in some layers, by the config"),
    pytest.param("llama-3-8b", {"layer_types": ["full_attention", "linear_attention"] * 16}, "linear_attention", id="other layers"),
    pytest.param("llama-3-8b", {"mamba_d_state": 16}, "mamba_d_state", id="a known name with other layers"),
    pytest.param("qwen2.5-7b", {"use_sliding_window": True, "max_window_layers": 20}, "max_window_layers", id="a window above some layers"),
    pytest.param("deepseek-v3", {"index_topk": 2048}, "index_topk", id="an index beside the cache"),
    pytest.param("llama-3-8b", {"kv_lora_rank": 256}, "kv_lora_rank", id="compressed, but not known how"),
    pytest.param("llama-3-8b", {"architectures": ["NewForCausalLM"]}, "NewForCausalLM is not one of the architectures", id="an architecture not known"),
    pytest.param("llama-3-8b", {"architectures": []}, "names no architectures", id="no architecture"),
    pytest.param("llama-3-8b", {"architectures": "LlamaForCausalLM"}, "architectures is 'LlamaForCausalLM', no list of words", id="no list"),
    pytest.param("llama-3-8b", {"num_attention_heads": 0}, "num_attention_heads is 0, no whole number above 0", id="no heads"),
    pytest.param("llama-3-8b", {"num_key_value_heads": 0}, "num_key_value_heads is 0", id="no KV heads"),
    pytest.param("llama-3-8b", {"num_attention_heads": 8192}, "num_attention_heads is 8192, more than hidden_size", id="heads of no width"),
    pytest.param("llama-3-8b", {"hidden_size": "4096"}, "hidden_size is '4096'", id="a string for a number"),
    pytest.param("llama-3-8b", {"num_hidden_layers": -32}, "num_hidden_layers is -32", id="negative"),
    pytest.param("llama-3-8b", {"num_hidden_layers": True}, "num_hidden_layers is True", id="a boolean for a number"),
    pytest.param("llama-3-8b", {"vocab_size": 2**40}, "vocab_size is 1099511627776", id="beyond all models"),
    pytest.param("llama-3-8b", {"vocab_size": 10**5000}, "vocab_size is a number without end", id="beyond all printing"),
    pytest.param("llama-3-8b", {"intermediate_size": None}, "intermediate_size is missing", id="null for what is needed"),
    pytest.param("llama-3-8b", {"torch_dtype": "int3"}, "torch_dtype is 'int3'", id="a type not known"),
    pytest.param("llama-3-8b", {"tie_word_embeddings": "yes"}, "tie_word_embeddings is 'yes'", id="a word for a boolean"),
    pytest.param("llama-3-8b", {"layer_types": [1, 2]}, "layer_types is [1, 2]", id="numbers for words"),
    pytest.param("llama-3-8b", {"text_config": 7}, "text_config is 7, no object", id="a number for an object"),
    pytest.param("llama-3-8b", {"quantization_config": "fp8"}, "quantization_config is 'fp8', no object", id="a word for an object"),
    pytest.param("mixtral-8x7b", {"num_experts_per_tok": None}, "num_experts_per_tok is missing", id="experts, but not how many at once"),
    pytest.param("deepseek-v3", {"qk_rope_head_dim": 0}, "qk_rope_head_dim is 0", id="a compressed cache of half a shape"),
])
def test_what_cannot_be_computed_says_why(name: str, changes: dict[str, Any], reason: str) -> None:
    found = architecture.read(models.config(name, **changes), None)
    assert isinstance(found, Unknown)
    assert reason in found.reason


@pytest.mark.parametrize("size", [0, -1])
def test_files_without_size_are_nonsense(size: int) -> None:
    assert Unknown(f"config.json: the size of the weights' files is {size}, no number above 0") == architecture.read(models.config("llama-3-8b"), size)


_KNOWN = sorted({key for path in models.MODELS.glob("*.json") for key in models.config(path.stem)} | {"use_sliding_window", "layer_types", "n_positions"})
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 300) | st.integers() | st.floats() | st.sampled_from(["bfloat16", "full_attention", "sliding_attention", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KNOWN), inner, max_size=3), max_leaves=6,
)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(
    name=st.sampled_from(sorted(path.stem for path in models.MODELS.glob("*.json"))),
    changes=st.dictionaries(st.sampled_from(_KNOWN), _VALUES, max_size=4),
    weight_bytes=st.none() | st.integers(-1, 2**42),
)
def test_no_config_breaks_the_reader(name: str, changes: dict[str, Any], weight_bytes: int | None) -> None:
    found = architecture.read(models.config(name, **changes), weight_bytes)
    assert (isinstance(found, Unknown) and found.reason) or (isinstance(found, architecture.Architecture) and found.attention.elements(1) > 0)


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(st.dictionaries(st.sampled_from(_KNOWN) | st.text(max_size=5), _VALUES, max_size=12))
def test_no_dictionary_breaks_the_reader(config: dict[str, Any]) -> None:
    found = architecture.read(config, None)
    assert (isinstance(found, Unknown) and found.reason) or isinstance(found, architecture.Architecture)
