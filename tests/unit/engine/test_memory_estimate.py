"""The parts of a GPU's memory against published logs of real vLLM, and the KV cache against its own metrics."""

import dataclasses
from typing import Any

import pytest
from tests.unit.engine import memory_models as models

from fairlane.core.engine.memory import compare, estimate, need, overheads
from fairlane.core.engine.memory.architecture import Architecture, Experts
from fairlane.core.engine.memory.unknown import Unknown

GIB = models.GIB
CLOSE = 0.4 * GIB
LLAMA, QWEN = "llama-3.1-8b", "qwen2.5-72b"
BEFORE_GRAPHS = {"graphs_counted": False}
H100_LOG = {"gpu_memory_utilization": 0.95} | models.LARGE_STEPS | BEFORE_GRAPHS
WHOLE_PROMPTS = {"gpu_memory_utilization": 0.9, "max_num_seqs": 256, "max_num_batched_tokens": 2048, "chunked_prefill": False} | BEFORE_GRAPHS


def estimated(model: Architecture, gib: float, length: int = 8192, known: overheads.Overheads | None = None, **flags: Any) -> estimate.Estimate:
    """The parts for a GPU of so many GiB."""
    return estimate.estimate(model, int(gib * GIB), need.Demand(**flags), length, known=known)


@pytest.mark.parametrize(("name", "weights", "gib", "length", "flags", "measured"), [
    pytest.param(LLAMA, None, 23.58, 20000, WHOLE_PROMPTS, 3.81, id="RTX 3090, whole prompts of 20,000: vLLM issue 10517"),
    pytest.param(LLAMA, None, 23.58, 29000, WHOLE_PROMPTS, 2.89, id="RTX 3090, whole prompts of 29,000: vLLM issue 10517"),
    pytest.param(LLAMA, None, 79.19, 8192, H100_LOG, 58.11, id="H100, Llama-3.1-8B: vLLM 0.19, llm-d-planner's report"),
    pytest.param(LLAMA, None, 79.19, 8192, H100_LOG | {"tensor_parallel_size": 2}, 63.76, id="the same on two"),
    pytest.param(LLAMA, None, 79.19, 8192, H100_LOG | {"tensor_parallel_size": 4}, 67.44, id="the same on four"),
    pytest.param(LLAMA, None, 79.19, 8192, H100_LOG | {"dtype": "float32"}, 42.80, id="the same in float32"),
    pytest.param("qwen2.5-7b", None, 79.19, 8192, H100_LOG, 58.53, id="H100, Qwen2.5-7B: the same report"),
    pytest.param("llama-3.3-70b-fp8", int(2 * 33.88 * GIB), 79.19, 8192, H100_LOG | {"tensor_parallel_size": 2}, 37.28,
                 id="two H100, Llama-3.3-70B in fp8: the same report's log"),
    pytest.param(LLAMA, None, 79.25, 131072, {"gpu_memory_utilization": 0.92} | models.SMALL_STEPS, 56.21, id="A100, with CUDA graphs: a log of vLLM 0.31"),
])
def test_the_kv_cache_is_as_large_as_logs_say(name: str, weights: int | None, gib: float, length: int, flags: dict[str, Any], measured: float) -> None:
    assert pytest.approx(measured * GIB, abs=CLOSE) == estimated(models.model(name, weights), gib, length, **flags).left


def test_a_log_with_other_users_of_the_gpu() -> None:
    """vLLM PR 10511: 1.79 GiB were outside torch; the rest is the formula's."""
    known = dataclasses.replace(overheads.load(), non_torch=int(1.79 * GIB))
    found = estimated(models.model("llama-3-8b"), 79.22, 8192, known, **WHOLE_PROMPTS)
    assert pytest.approx(53.29 * GIB, abs=CLOSE) == found.left


@pytest.mark.parametrize(("name", "gib", "flags", "budget", "weights", "left"), [
    pytest.param(LLAMA, 22.03, models.SMALL_STEPS, 20.27, 14.96, 4.24, id="Llama-3.1-8B on an L4"),
    pytest.param(LLAMA, 22.03, models.SMALL_STEPS | {"kv_cache_dtype": "fp8"}, 20.27, 14.96, 4.24, id="the same with an fp8 KV cache"),
    pytest.param(LLAMA, 79.22, models.SMALL_STEPS, 72.88, 14.96, 56.85, id="Llama-3.1-8B on an A100"),
    pytest.param(QWEN, 79.10, models.LARGE_STEPS | BEFORE_GRAPHS | {"tensor_parallel_size": 4}, 72.77, 33.86, 34.14, id="Qwen2.5-72B on four H100"),
    pytest.param(QWEN, 79.10, models.LARGE_STEPS | BEFORE_GRAPHS | {"tensor_parallel_size": 2}, 72.77, 67.71, 0.28, id="Qwen2.5-72B on two H100"),
])
def test_worked_examples(name: str, gib: float, flags: dict[str, Any], budget: float, weights: float, left: float) -> None:
    """Estimates by others for the same flags. They count 1 GiB of CUDA graphs for 80 layers, where 1.8 were measured; so those are compared without."""
    found = estimated(models.model(name), gib, **flags)
    expected = (pytest.approx(budget * GIB, abs=0.01 * GIB), pytest.approx(weights * GIB, abs=0.01 * GIB), pytest.approx(left * GIB, abs=CLOSE))
    assert expected == (found.budget, found.weights, found.left)


@pytest.mark.parametrize(("name", "flags", "gib", "tokens"), [
    pytest.param(LLAMA, {}, 4.24, 34_720, id="Llama-3.1-8B on an L4"),
    pytest.param(LLAMA, {"kv_cache_dtype": "fp8"}, 4.24, 69_440, id="the same with an fp8 KV cache"),
    pytest.param(LLAMA, {}, 56.85, 465_728, id="Llama-3.1-8B on an A100"),
    pytest.param(QWEN, {"tensor_parallel_size": 4}, 34.14, 447_472, id="Qwen2.5-72B on four H100"),
    pytest.param(QWEN, {"tensor_parallel_size": 2}, 0.28, 1_856, id="Qwen2.5-72B on two H100"),
    pytest.param(LLAMA, {}, 58.11, 476_016, id="H100: vLLM 0.19 measured"),
    pytest.param(LLAMA, {"kv_cache_dtype": "fp8"}, 58.11, 952_032, id="H100 with an fp8 KV cache: vLLM 0.19 measured"),
    pytest.param("qwen2.5-7b", {}, 58.53, 1_096_000, id="H100, Qwen2.5-7B: vLLM 0.19 measured"),
    pytest.param("llama-3.3-70b-fp8", {"tensor_parallel_size": 2}, 37.28, 15269 * 16, id="two H100: vLLM 0.19 measured"),
    pytest.param(LLAMA, {}, 56.21, 460_496, id="A100: vLLM 0.31 measured"),
])
def test_tokens_in_a_kv_cache(name: str, flags: dict[str, Any], gib: float, tokens: int) -> None:
    assert pytest.approx(tokens, rel=0.02) == estimate.set_pool(models.model(name), need.Demand(**flags), int(gib * GIB)).tokens


# hidden, MLP, vocabulary, experts per token, their width -> peak activation in GiB, of vLLM 0.19 on H100 (llm-d-planner's report)
@pytest.mark.parametrize(("hidden", "width", "vocabulary", "chosen", "expert", "measured"), [
    pytest.param(4096, 11008, 32016, 0, 0, 0.77, id="CodeLlama-7B"),
    pytest.param(4096, 14336, 128256, 0, 0, 1.89, id="Llama-3.1-8B"),
    pytest.param(3584, 18944, 152064, 0, 0, 2.21, id="Qwen2.5-7B"),
    pytest.param(4096, 12288, 151936, 0, 0, 2.21, id="Qwen3-8B"),
    pytest.param(5120, 17920, 100352, 0, 0, 1.52, id="phi-4"),
    pytest.param(2048, 8192, 49155, 0, 0, 0.75, id="granite-3.1-2b"),
    pytest.param(4096, 12800, 49155, 0, 0, 0.85, id="granite-3.1-8b"),
    pytest.param(3072, 24576, 256000, 0, 0, 3.63, id="Gemma-7B"),
    pytest.param(8192, 28672, 128256, 0, 0, 1.97, id="Llama-3.3-70B"),
    pytest.param(2048, 10944, 102400, 6, 1408, 1.93, id="DeepSeek-V2-Lite"),
    pytest.param(2048, 0, 151936, 4, 1408, 2.47, id="Qwen1.5-MoE-A2.7B"),
    pytest.param(2048, 0, 151936, 8, 768, 2.68, id="Qwen3-30B-A3B"),
])
def test_activation_is_as_measured(hidden: int, width: int, vocabulary: int, chosen: int, expert: int, measured: float) -> None:
    experts = Experts(chosen, expert) if chosen else None
    model = dataclasses.replace(models.model(LLAMA), hidden=hidden, mlp_width=width, vocabulary=vocabulary, experts=experts)
    assert pytest.approx(measured * GIB, abs=0.3 * GIB) == estimate.activation(model, need.Demand(**models.LARGE_STEPS), 8192, overheads.load())


@pytest.mark.parametrize(("layers", "measured"), [pytest.param(32, 0.84, id="Llama-3.1-8B"), pytest.param(80, 1.82, id="Llama-3.3-70B")])
def test_cuda_graphs_are_as_measured(layers: int, measured: float) -> None:
    model = dataclasses.replace(models.model(LLAMA), layers=layers)
    assert pytest.approx(measured * GIB, abs=0.15 * GIB) == estimated(model, 79.19, **models.LARGE_STEPS).graphs


@pytest.mark.parametrize(("flags", "expected"), [
    pytest.param({"enforce_eager": True}, 0, id="none when eager"),
    pytest.param(BEFORE_GRAPHS, 0, id="not counted by older versions"),
    pytest.param({"device": need.Device.CPU}, 0, id="none on a CPU"),
])
def test_no_cuda_graphs(flags: dict[str, Any], expected: int) -> None:
    assert expected == estimated(models.model(LLAMA), 79.19, **flags).graphs


def test_a_stage_of_a_pipeline_holds_its_layers_and_an_embedding() -> None:
    """Llama-3.1-8B on two and four stages: 7.51 and 4.26 GiB (llm-d-planner's report)."""
    sizes = [estimated(models.model(LLAMA), 79.19, pipeline_parallel_size=stages).weights / GIB for stages in (2, 4)]
    assert [pytest.approx(7.51, abs=0.05), pytest.approx(4.26, abs=0.05)] == sizes


@pytest.mark.parametrize(("name", "flags", "tokens", "blocks"), [
    pytest.param(LLAMA, {}, 8192, 512, id="whole blocks"),
    pytest.param(LLAMA, {}, 8193, 513, id="one token more"),
    pytest.param(LLAMA, {"block_size": 32}, 8193, 257, id="larger blocks"),
    pytest.param(LLAMA, {"device": need.Device.CPU}, 8193, 65, id="a CPU's blocks of 128"),
    pytest.param("deepseek-v3", {}, 8193, 129, id="blocks of 64 for compressed vectors"),
    pytest.param("mistral-7b", {}, 32768, 385, id="a window of 4,096, a step of 2,048 and a block that is begun"),
    pytest.param("mistral-7b", {"steps_in_flight": 2}, 32768, 513, id="two steps not settled"),
    pytest.param("mistral-7b", {"max_num_batched_tokens": 16384}, 32768, 1281, id="a larger step holds more of each sequence"),
    pytest.param("mistral-7b", {}, 2048, 129, id="shorter than the window"),
])
def test_blocks_of_one_sequence(name: str, flags: dict[str, Any], tokens: int, blocks: int) -> None:
    demand = need.Demand(**{"max_num_batched_tokens": 2048} | flags)
    assert blocks == estimate.request_blocks(models.model(name), demand, tokens)


# What vLLM 0.32 on a CPU showed with --kv-cache-memory-bytes 1G and --max-model-len 2048: the label values that matter.
METRICS = {
    "block_size": "128", "cache_dtype": "auto", "num_gpu_blocks": "16384", "num_gpu_blocks_override": "None", "kv_cache_size_tokens": "2097152",
    "kv_cache_memory_bytes": "1073741824", "num_cpu_blocks": "None", "sliding_window": "None",
}
ON_CPU = need.Demand(kv_cache_memory_bytes=2**30, device=need.Device.CPU)


def test_a_set_kv_cache_is_exact() -> None:
    pool = estimate.set_pool(models.model("tiny"), ON_CPU, 2**30)
    assert (pool.blocks, pool.tokens) == (16384, 2097152)
    assert compare.Difference(0, 0, 2097152, correction=None) == compare.compare(pool, METRICS)


@pytest.mark.parametrize(("flags", "size"), [
    pytest.param({"dtype": "bfloat16"}, 256 * 2**20, id="bfloat16"),
    pytest.param({"dtype": "float32"}, 512 * 2**20, id="float32 in twice as much"),
])
def test_the_small_model_of_the_scenarios(flags: dict[str, Any], size: int) -> None:
    demand = need.Demand(device=need.Device.CPU, **flags)
    assert estimate.set_pool(models.model("smollm2-135m"), demand, size).tokens == 91 * 128


def test_a_measured_load_corrects_the_next_estimate() -> None:
    """After a load that left 460,496 tokens, the estimate is as much; a second comparison changes nothing."""
    flags: dict[str, Any] = {"gpu_memory_utilization": 0.92} | models.SMALL_STEPS
    labels = {"num_gpu_blocks": str(460_496 // 16), "block_size": "16", "cache_dtype": "auto"}
    for correction in (0, None):
        before = estimate.estimate(models.model(LLAMA), int(79.25 * GIB), need.Demand(**flags), 8192, correction=correction or 0)
        found = compare.compare(before.pool, labels)
        assert isinstance(found, compare.Difference)
        assert found.correction is not None
        after = estimate.estimate(models.model(LLAMA), int(79.25 * GIB), need.Demand(**flags), 8192, correction=found.correction)
        again = compare.compare(after.pool, labels)
        assert isinstance(again, compare.Difference)
        assert (460_496, 0, found.correction) == (after.pool.tokens, again.kv_tokens, again.correction)


def test_a_load_that_was_thought_impossible_corrects_all_that_was_missing() -> None:
    pool = estimated(models.model(LLAMA), 14.0, **models.SMALL_STEPS).pool
    found = compare.compare(pool, {"num_gpu_blocks": "100", "block_size": "16"})
    assert isinstance(found, compare.Difference)
    assert (100 * 16 * 131_072 - pool.bytes, 1600, 1.0) == (found.kv_bytes, found.kv_tokens, found.share)


@pytest.mark.parametrize(("changes", "reason"), [
    pytest.param({"num_gpu_blocks": "None"}, "no num_gpu_blocks", id="not loaded yet"),
    pytest.param({"num_gpu_blocks": "0"}, "no num_gpu_blocks", id="no blocks"),
    pytest.param({"num_gpu_blocks": "many"}, "no num_gpu_blocks", id="words"),
    pytest.param({"num_gpu_blocks": "-5"}, "no num_gpu_blocks", id="negative"),
    pytest.param({"num_gpu_blocks": "9" * 5000}, "no num_gpu_blocks", id="a number without end"),
    pytest.param({"block_size": "None"}, "no block_size", id="no block size"),
    pytest.param({"num_gpu_blocks_override": "10"}, "num-gpu-blocks-override", id="blocks that were set"),
    pytest.param({"cache_dtype": "fp8_e4m3"}, "stores its KV cache as fp8_e4m3, computed was 2 bytes", id="another type than was computed"),
])
def test_labels_that_do_not_say_the_size(changes: dict[str, str], reason: str) -> None:
    found = compare.compare(estimate.set_pool(models.model("tiny"), ON_CPU, 2**30), METRICS | changes)
    assert isinstance(found, Unknown)
    assert reason in found.reason


def test_no_labels() -> None:
    assert isinstance(compare.compare(estimate.set_pool(models.model("tiny"), ON_CPU, 2**30), {}), Unknown)
