"""Will it load? The answer, its numbers, its doubts, and the nearest value that fits."""

import dataclasses
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.unit.engine import memory_models as models

from fairlane.core.engine.memory import case, gpus, need, preflight
from fairlane.core.engine.memory.answer import Answer
from fairlane.core.engine.memory.unknown import Doubt, Unknown

GIB = models.GIB
LLAMA, QWEN = "llama-3.1-8b", "qwen2.5-72b"


@pytest.mark.parametrize(("name", "product", "flags", "answer", "sentence"), [
    pytest.param(LLAMA, models.L4, {"max_model_len": 8192}, Answer.FITS,
                 "fits: 3.89 GiB of 20.27 GiB per GPU are left for the KV cache (31,888 tokens), one sequence of 8,192 tokens takes 1.00 GiB, "
                 "so 3.9 run at once", id="short sequences on an L4"),
    pytest.param(LLAMA, models.L4, {"max_model_len": 32768}, Answer.UNCERTAIN,
                 "a margin of -0.11 GiB is within what may be wrong (from -0.75 GiB to 0.75 GiB); max-model-len 25,728 fits", id="long sequences on an L4"),
    pytest.param(LLAMA, models.L4, {}, Answer.NO, "one sequence of 131,072 tokens takes 16.00 GiB; the rest: weights 14.96 GiB, activation 0.46 GiB, "
                 "outside torch 0.27 GiB, CUDA graphs 0.69 GiB; max-model-len 25,728 fits", id="the model's own length on an L4"),
    pytest.param(LLAMA, models.L4, {"picks_length": True}, Answer.FITS, "max-model-len auto becomes about 31,872", id="a length that vLLM picks"),
    pytest.param(LLAMA, models.L4, {"max_model_len": 32768, "kv_cache_dtype": "fp8"}, Answer.FITS, "(63,776 tokens)", id="an fp8 KV cache on an L4"),
    pytest.param(LLAMA, models.A100, {}, Answer.FITS, "so 3.5 run at once", id="the model's own length on an A100, as a log of vLLM 0.31 says"),
    pytest.param(LLAMA, "Tesla-T4", {"max_model_len": 1024}, Answer.NO,
                 "does not fit: of 13.40 GiB per GPU nothing is left for the KV cache", id="weights larger than the GPU"),
    pytest.param(QWEN, models.H100, models.LARGE_STEPS | {"tensor_parallel_size": 4, "max_model_len": 32768}, Answer.FITS, "one sequence of 32,768 tokens",
                 id="72B on four H100"),
    pytest.param(QWEN, models.H100, models.LARGE_STEPS | {"tensor_parallel_size": 2, "max_model_len": 8192}, Answer.NO,
                 "no max-model-len fits; tensor-parallel-size 4 does", id="72B on two H100"),
    pytest.param(QWEN, models.H100, models.LARGE_STEPS | {"tensor_parallel_size": 2, "max_model_len": 32768}, Answer.NO,
                 "no max-model-len fits; tensor-parallel-size 4 does", id="72B on two H100, longer"),
    pytest.param(QWEN, models.H100, {"tensor_parallel_size": 3, "max_model_len": 8192}, Answer.NO,
                 "does not load: 64 attention heads of which 8 have keys and values cannot be shared by tensor-parallel-size 3; set 1, 2, 4, 8, 16",
                 id="heads that three GPUs cannot share"),
    pytest.param("qwen2.5-7b", models.L4, {"tensor_parallel_size": 8}, Answer.NO, "28 attention heads", id="heads that eight GPUs cannot share"),
    pytest.param("mistral-7b", models.L4, {"max_model_len": 32768}, Answer.FITS, "one sequence of 32,768 tokens takes 0.75 GiB", id="a sliding window"),
    pytest.param(LLAMA, models.L4, {"max_model_len": 8192, "kv_cache_memory_bytes": 4 * GIB}, Answer.FITS,
                 "4.00 GiB of 22.03 GiB per GPU are set for the KV cache (32,768 tokens)", id="a set KV cache with room beside it"),
    pytest.param(LLAMA, models.L4, {"max_model_len": 8192, "kv_cache_memory_bytes": 6 * GIB}, Answer.UNCERTAIN,
                 "a margin of -0.34 GiB is within what may be wrong (from -0.75 GiB to 0.75 GiB); no max-model-len fits; kv-cache-memory-bytes 5265948672 does",
                 id="a set KV cache that may be too large"),
    pytest.param(LLAMA, models.L4, {"max_model_len": 8192, "kv_cache_memory_bytes": 8 * GIB}, Answer.NO, "and the KV cache are 2.34 GiB too much",
                 id="a set KV cache that is too large"),
    pytest.param(LLAMA, models.L4, {"max_model_len": 8192, "kv_cache_memory_bytes": GIB}, Answer.NO, "max-model-len 8,176 fits",
                 id="a set KV cache of one block too few: vLLM keeps one for itself"),
])
def test_answers(name: str, product: str, flags: dict[str, Any], answer: Answer, sentence: str) -> None:
    found = models.asked(name, product, **flags)
    assert answer == found.answer, found.sentence
    assert sentence in found.sentence


def test_the_numbers_of_an_answer() -> None:
    found = models.asked(LLAMA, models.L4, max_model_len=8192, typical_tokens=2000)
    assert [part.name for part in found.parts] == ["budget", "weights", "activation", "outside torch", "CUDA graphs", "KV cache"]
    assert found.parts[0].bytes == sum(part.bytes for part in found.parts[1:])
    assert (found.kv_tokens, found.concurrency, found.concurrency_typical) == (31_888, 31_888 / 8192, 31_888 / 2000)
    assert found.pool is not None
    assert found.margin is not None
    assert (found.pool.bytes - 513 * 16 * 131_072, found.margin / found.pool.bytes) == (found.margin, found.margin_share)


@pytest.mark.parametrize(("name", "flags", "remedy"), [
    pytest.param(LLAMA, {"gpu_memory_utilization": 0.72}, "gpu-memory-utilization 0.79", id="a larger share of the memory, where it helps"),
    pytest.param(LLAMA, {"gpu_memory_utilization": 0.72, "max_model_len": 65536}, "tensor-parallel-size 2", id="else more GPUs"),
    pytest.param("qwen2.5-7b", {"gpu_memory_utilization": 0.2, "max_model_len": 131072}, "None", id="else nothing: eight cannot share 28 heads"),
])
def test_another_flag_where_no_length_fits(name: str, flags: dict[str, Any], remedy: str) -> None:
    found = models.asked(name, models.L4, **{"max_model_len": 1024} | flags)
    assert (None, remedy) == (found.longest, str(found.remedy))


@pytest.mark.parametrize(("flags", "usable", "answer"), [
    pytest.param({"max_model_len": 8192}, gpus.Usable(int(21.84 * GIB), 24 * GIB, False, "24Gi"), Answer.FITS, id="it fits in the least there can be"),
    pytest.param({"max_model_len": 45000}, gpus.Usable(int(21.84 * GIB), 24 * GIB, False, "24Gi"), Answer.UNCERTAIN, id="it might in the most"),
    pytest.param({"max_model_len": 60000}, gpus.Usable(int(21.84 * GIB), 24 * GIB, False, "24Gi"), Answer.NO, id="nor in the most"),
    pytest.param({"max_model_len": 180000, "tensor_parallel_size": 2}, gpus.Usable(22 * GIB, 22 * GIB, False, "no NVLink"), Answer.UNCERTAIN,
                 id="two GPUs without NVLink may have more left"),
    pytest.param({"max_model_len": 180000, "tensor_parallel_size": 2}, gpus.Usable(22 * GIB, 22 * GIB, True, "NVLink"), Answer.NO, id="with it they have not"),
])
def test_memory_that_is_a_range(flags: dict[str, Any], usable: gpus.Usable, answer: Answer) -> None:
    found = preflight.preflight(models.model(LLAMA), usable, need.Demand(**models.SMALL_STEPS | flags))
    assert answer == found.answer, found.sentence


@pytest.mark.parametrize(("correction", "length", "answer"), [
    pytest.param(None, 32768, Answer.UNCERTAIN, id="never loaded"),
    pytest.param(None, 29000, Answer.UNCERTAIN, id="never loaded, shorter"),
    pytest.param(0, 29000, Answer.FITS, id="a load that was as computed"),
    pytest.param(0, 31000, Answer.UNCERTAIN, id="a load that was as computed, too close all the same"),
    pytest.param(int(0.5 * GIB), 32768, Answer.FITS, id="a load that left more"),
    pytest.param(int(-0.5 * GIB), 32768, Answer.NO, id="a load that left less"),
])
def test_an_earlier_load_narrows_the_doubt(correction: int | None, length: int, answer: Answer) -> None:
    found = models.asked(LLAMA, models.L4, max_model_len=length, correction=correction)
    assert answer == found.answer, found.sentence


@pytest.mark.parametrize(("flags", "usable", "named"), [
    pytest.param({"kv_cache_dtype": "int4_per_token_head"}, models.L4, "kv-cache-dtype int4_per_token_head", id="a type of the KV cache that is not known"),
    pytest.param({"quantization": "fp8"}, models.L4, "quantization fp8", id="weights made smaller as they load"),
    pytest.param({"doubts": (Doubt("cpu-offload-gb (x) keeps a part"),)}, models.L4, "cpu-offload-gb", id="a flag that is not computed"),
    pytest.param({}, "NVIDIA-L4-SHARED", "shared with other pods", id="a GPU that others use"),
])
@pytest.mark.parametrize("length", [1024, 32768])
def test_a_doubt_stands_in_the_way_of_a_yes_and_is_named(flags: dict[str, Any], usable: str, named: str, length: int) -> None:
    found = models.asked(LLAMA, usable, max_model_len=length, **flags)
    assert (found.answer, found.longest, found.remedy) == (Answer.UNCERTAIN, None, None)
    assert any(named in doubt for doubt in found.doubts)
    assert named in found.sentence or "within what may be wrong" in found.sentence


@pytest.mark.parametrize(("doubt", "answer"), [
    pytest.param(Doubt("adapters", of_no=False), Answer.NO, id="what only takes more leaves a no"),
    pytest.param(Doubt("offloading"), Answer.UNCERTAIN, id="what may take less does not"),
    pytest.param(Doubt("speculation", of_yes=False), Answer.UNCERTAIN, id="nor what only takes less"),
    pytest.param(Doubt("a remark", of_yes=False, of_no=False), Answer.NO, id="a remark stands in the way of nothing"),
])
def test_a_doubt_stands_in_the_way_of_a_no_where_less_may_be_needed(doubt: Doubt, answer: Answer) -> None:
    found = models.asked(LLAMA, models.L4, max_model_len=131072, doubts=(doubt,))
    assert answer == found.answer
    assert answer is Answer.NO or doubt.reason in found.sentence


def test_quantised_weights_need_no_doubt_of_their_flag() -> None:
    flags: dict[str, Any] = {"tensor_parallel_size": 2, "max_model_len": 8192, "quantization": "compressed-tensors"}
    found = models.asked("llama-3.3-70b-fp8", models.H100, weight_bytes=int(67.8 * GIB), **flags)
    assert (found.answer, found.doubts) == (Answer.FITS, ())


def test_files_with_layers_that_are_not_loaded() -> None:
    """DeepSeek-V3 on eight H200: its files have 641 GiB."""
    fits = models.asked("deepseek-v3", "NVIDIA-H200", weight_bytes=688_586_727_753, tensor_parallel_size=8, max_model_len=16384, **models.LARGE_STEPS)
    unsure = models.asked("deepseek-v3", models.H100, weight_bytes=688_586_727_753, tensor_parallel_size=8, max_model_len=16384, **models.LARGE_STEPS)
    assert [fits.answer, unsure.answer] == [Answer.FITS, Answer.UNCERTAIN]
    assert "num_nextn_predict_layers" in unsure.sentence


def test_a_model_that_also_sees_may_take_more() -> None:
    found = models.asked("mistral-small-3.1-24b", models.H100, weight_bytes=48_022_792_280, max_model_len=8192)
    assert (found.answer, found.doubts[0]) == (Answer.UNCERTAIN, "the activation of the model's vision encoder is not computed")


NOT_KNOWN = Unknown("neither product nor memory of the GPU is given; set spec.engine.gpu.memory")


@pytest.mark.parametrize(("name", "usable", "flags", "answer", "sentence", "tokens"), [
    pytest.param("llama-3-8b", NOT_KNOWN, {}, Answer.UNCERTAIN, f"cannot say: {NOT_KNOWN.reason}", None, id="a GPU not known"),
    pytest.param("mixtral-8x7b", models.usable(models.H100), {}, Answer.UNCERTAIN, "cannot say: the size of the weights is not known", None,
                 id="weights not known"),
    pytest.param("smollm2-135m", NOT_KNOWN, {"device": need.Device.CPU, "kv_cache_memory_bytes": 256 * 2**20}, Answer.UNCERTAIN, "cannot say", 11_648,
                 id="a CPU with a KV cache that is large enough"),
    pytest.param("smollm2-135m", NOT_KNOWN, {"device": need.Device.CPU, "kv_cache_memory_bytes": 128 * 2**20}, Answer.NO,
                 "kv-cache-memory-bytes gives 5,760 tokens in 45 blocks, and one sequence of 8,192 tokens needs 65; set it to 191692800 (0.18 GiB)", 5_760,
                 id="one that is too small"),
    pytest.param("smollm2-135m", models.usable(models.L4), {"device": need.Device.CPU}, Answer.UNCERTAIN, "what an engine takes on a CPU is not computed", None,
                 id="a CPU without"),
    pytest.param("smollm2-135m", NOT_KNOWN, {"kv_cache_memory_bytes": 2**20, "doubts": (Doubt("another config"),)}, Answer.UNCERTAIN, "cannot say", 32,
                 id="too small, if the config is right"),
])
def test_what_is_not_known_is_no_number(
    name: str, usable: gpus.Usable | Unknown, flags: dict[str, Any], answer: Answer, sentence: str, tokens: int | None,
) -> None:
    found = preflight.preflight(models.model(name), usable, need.Demand(**flags), typical_tokens=100)
    assert (answer, tokens) == (found.answer, found.kv_tokens)
    assert sentence in found.sentence


def test_a_model_not_known_is_no_number() -> None:
    found = preflight.preflight(Unknown("JambaForCausalLM: it mixes"), models.usable(models.L4), need.Demand())
    assert (found.answer, found.sentence, found.kv_tokens) == (Answer.UNCERTAIN, "cannot say: JambaForCausalLM: it mixes", None)


def test_a_length_not_known_is_no_number() -> None:
    model = models.model(LLAMA, max_position_embeddings=None)
    assert "set max-model-len" in preflight.preflight(model, models.usable(models.L4), need.Demand()).sentence


_demands = st.builds(
    need.Demand,
    max_model_len=st.integers(1, 200_000),
    picks_length=st.sampled_from([False, False, False, True]),
    max_num_seqs=st.integers(1, 2048),
    max_num_batched_tokens=st.integers(1, 32_768),
    tensor_parallel_size=st.sampled_from([1, 2, 4]),
    pipeline_parallel_size=st.integers(1, 3),
    gpu_memory_utilization=st.floats(0.3, 1.0),
    kv_cache_memory_bytes=st.none() | st.none() | st.integers(1, 40 * GIB),
    kv_cache_dtype=st.sampled_from(["auto", "fp8"]),
    block_size=st.sampled_from([None, 16, 32, 128]),
    chunked_prefill=st.booleans(),
    enforce_eager=st.booleans(),
    graphs_counted=st.booleans(),
    steps_in_flight=st.integers(1, 3),
)
_dense = [models.model(name) for name in (LLAMA, QWEN, "qwen2.5-7b", "mistral-7b", "smollm2-135m")]
_cases = st.builds(
    case.Case,
    architecture=st.sampled_from([*_dense, models.model("mixtral-8x7b", 93 * GIB), models.model("deepseek-v3", 641 * GIB)]),
    usable=st.builds(models.with_memory, st.floats(1, 300)),
    demand=_demands,
    correction=st.none() | st.none() | st.integers(-GIB, GIB),
)
_ORDER = [Answer.NO, Answer.UNCERTAIN, Answer.FITS]
_quick = settings(max_examples=60, deadline=None, derandomize=True, database=None)


def _rank(one: case.Case) -> int:
    found = preflight.preflight(one.architecture, one.usable, one.demand, correction=one.correction)
    assume("cannot be shared" not in found.sentence)
    return _ORDER.index(found.answer)


@_quick
@given(_cases, st.floats(0.0, 100.0))
def test_more_memory_is_never_worse(one: case.Case, more: float) -> None:
    larger = dataclasses.replace(one, usable=models.with_memory(one.usable.bytes / GIB + more))
    assert _rank(one) <= _rank(larger)


@_quick
@given(_cases, st.integers(1, 100_000))
def test_longer_sequences_are_never_better(one: case.Case, more: int) -> None:
    assert one.demand.max_model_len is not None
    longer = dataclasses.replace(one, demand=dataclasses.replace(one.demand, max_model_len=one.demand.max_model_len + more))
    assert _rank(longer) <= _rank(one)


@_quick
@given(_cases)
def test_the_longest_that_fits_does_and_one_block_more_does_not(one: case.Case) -> None:
    found = preflight.preflight(one.architecture, one.usable, one.demand, correction=one.correction)
    assume(found.pool is not None)
    assert found.pool is not None
    size = found.pool.cache.block_size
    lengths = [found.longest or 0, (found.longest or 0) + size]
    again = [dataclasses.replace(one, demand=dataclasses.replace(one.demand, max_model_len=length, picks_length=False)) for length in lengths]
    assert found.longest is None or _ORDER[_rank(again[0])] is Answer.FITS
    assert one.architecture.longest is not None
    assert one.demand.max_model_len is not None
    is_at_the_top = lengths[1] > max(one.architecture.longest, one.demand.max_model_len)
    assert is_at_the_top or _ORDER[_rank(again[1])] is not Answer.FITS


@_quick
@given(_cases)
def test_another_value_that_is_named_fits(one: case.Case) -> None:
    found = preflight.preflight(one.architecture, one.usable, one.demand, correction=one.correction)
    assume(found.remedy is not None)
    assert found.remedy is not None
    changed = dataclasses.replace(one.demand, **{found.remedy.flag.replace("-", "_"): found.remedy.value})
    correction = None if found.remedy.flag == "tensor-parallel-size" else one.correction
    assert preflight.preflight(one.architecture, one.usable, changed, correction=correction).answer is Answer.FITS
