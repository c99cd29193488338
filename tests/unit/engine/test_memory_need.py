"""What a lane's flags say about memory."""

from typing import Any

import pytest
from tests.unit.engine import make

from fairlane.api import spec as specs
from fairlane.core.engine import catalog, versions
from fairlane.core.engine.memory import need, overheads

L4 = {"product": "NVIDIA-L4"}


def demanded(lane: dict[str, Any] | None = None, gpu: dict[str, Any] | None = None, version: str = "0.32.0") -> need.Demand:
    """What the first lane of a service demands."""
    spec = make.service(lane=lane, engine={"version": version, "gpu": gpu or {}})
    parsed = versions.parse(version)
    assert parsed is not None
    return need.demand(make.settings(spec), parsed, specs.Gpu.model_validate(gpu or {}))


@pytest.mark.parametrize(("flags", "expected"), [
    pytest.param({"max-model-len": "8k"}, {"max_model_len": 8000, "picks_length": False}, id="a length in human form"),
    pytest.param({"max-model-len": "auto"}, {"max_model_len": None, "picks_length": True}, id="the longest that fits"),
    pytest.param({}, {"max_model_len": None, "picks_length": False}, id="the model's own length"),
    pytest.param({"max-num-seqs": 8, "max-num-batched-tokens": 512}, {"max_num_seqs": 8, "max_num_batched_tokens": 512}, id="the steps"),
    pytest.param({"tensor-parallel-size": 4, "pipeline-parallel-size": 2}, {"tensor_parallel_size": 4, "pipeline_parallel_size": 2, "steps_in_flight": 3},
                 id="parallelism"),
    pytest.param({"gpu-memory-utilization": 0.5}, {"gpu_memory_utilization": 0.5}, id="the share of the memory"),
    pytest.param({"kv-cache-memory-bytes": "2G"}, {"kv_cache_memory_bytes": 2 * 2**30}, id="a size of the KV cache"),
    pytest.param({"kv-cache-memory-bytes": 0}, {"kv_cache_memory_bytes": None}, id="a size of nothing is none"),
    pytest.param({"kv-cache-dtype": "fp8", "dtype": "float16"}, {"kv_cache_dtype": "fp8", "dtype": "float16"}, id="types"),
    pytest.param({"block-size": 32}, {"block_size": 32}, id="a size of blocks"),
    pytest.param({"enforce-eager": True}, {"enforce_eager": True}, id="no CUDA graphs"),
    pytest.param({"enable-chunked-prefill": False, "max-model-len": 2048}, {"chunked_prefill": False}, id="whole prompts"),
    pytest.param({"async-scheduling": False}, {"steps_in_flight": 1}, id="one step at a time"),
    pytest.param({"quantization": "fp8"}, {"quantization": "fp8"}, id="weights made smaller"),
])
def test_flags_become_a_demand(flags: dict[str, Any], expected: dict[str, Any]) -> None:
    found = demanded({"flags": flags}, L4)
    assert expected == {name: getattr(found, name) for name in expected}


@pytest.mark.parametrize(("gpu", "device", "flags", "expected"), [
    pytest.param(L4, need.Device.GPU, {}, (256, 2048), id="an L4, known by its product"),
    pytest.param({"memory": "24Gi"}, need.Device.GPU, {}, (256, 2048), id="an L4, known by its memory"),
    pytest.param({"product": "NVIDIA-H100-80GB-HBM3"}, need.Device.GPU, {}, (1024, 8192), id="an H100"),
    pytest.param({"product": "NVIDIA-A100-SXM4-80GB"}, need.Device.GPU, {}, (256, 2048), id="an A100"),
    pytest.param({"product": "NVIDIA-B200"}, need.Device.GPU, {}, (1024, 16384), id="a B200"),
    pytest.param({}, need.Device.GPU, {}, (1024, 8192), id="unknown: as many as on a large one"),
    pytest.param({}, need.Device.CPU, {}, (128, 2048), id="a CPU"),
    pytest.param({"memory": "24Gi"}, need.Device.CPU, {"tensor-parallel-size": 2}, (256, 4096), id="two on CPUs"),
    pytest.param(L4, need.Device.GPU, {"performance-mode": "throughput"}, (512, 4096), id="throughput doubles what is not set"),
    pytest.param(L4, need.Device.GPU, {"performance-mode": "throughput", "max-num-seqs": 7}, (7, 4096), id="and leaves what is"),
])
def test_steps_that_nobody_sets_are_vllms(gpu: dict[str, Any], device: need.Device, flags: dict[str, Any], expected: tuple[int, int]) -> None:
    spec = make.service(lane={"flags": flags}, engine={"gpu": gpu})
    settings = {name: setting for name, setting in make.settings(spec).items() if setting.origin != "profile"}
    found = need.demand(settings, versions.Version(0, 32, 0), spec.engine.gpu, device)
    assert expected == (found.max_num_seqs, found.max_num_batched_tokens)


@pytest.mark.parametrize(("version", "graphs", "steps"), [
    ("0.8.5", False, 1), ("0.12.0", False, 1), ("0.18.1", False, 2), ("0.20.2", False, 2), ("0.22.1", True, 2),
])
def test_versions_differ(version: str, graphs: bool, steps: int) -> None:
    found = demanded(version=version)
    assert (graphs, steps) == (found.graphs_counted, found.steps_in_flight)


@pytest.mark.parametrize(("flags", "named", "of_no"), [
    pytest.param({"cpu-offload-gb": 4}, "cpu-offload-gb", True, id="offloaded weights"),
    pytest.param({"enable-lora": True}, "enable-lora", False, id="adapters only take"),
    pytest.param({"speculative-config": {"method": "ngram"}}, "speculative-config", False, id="a second model only takes"),
    pytest.param({"speculative-config.method": "ngram"}, "speculative-config.method", False, id="one key of it"),
    pytest.param({"num-gpu-blocks-override": 10}, "num-gpu-blocks-override", True, id="a number of blocks"),
    pytest.param({"hf-overrides": {"num_hidden_layers": 2}}, "hf-overrides", True, id="another config"),
    pytest.param({"data-parallel-size": 2}, "data-parallel-size", True, id="another parallelism"),
    pytest.param({"load-format": "bitsandbytes"}, "load-format", True, id="other files"),
    pytest.param({"optimization-level": "0"}, "optimization-level", True, id="other CUDA graphs"),
    pytest.param({"runner": "pooling"}, "runner", True, id="something else than text"),
])
def test_a_flag_whose_effect_is_not_computed_is_named(flags: dict[str, Any], named: str, of_no: bool) -> None:
    doubts = demanded({"flags": flags}).doubts
    assert [(True, of_no)] == [(doubt.of_yes, doubt.of_no) for doubt in doubts]
    assert doubts[0].reason.startswith(f"{named} (spec.lanes[chat].flags.{named})")


@pytest.mark.parametrize("flags", [
    pytest.param({"cpu-offload-gb": 0}, id="nothing offloaded"),
    pytest.param({"enable-lora": False}, id="turned off"),
    pytest.param({"data-parallel-size": 1}, id="one alone"),
    pytest.param({"load-format": "safetensors"}, id="the usual files"),
    pytest.param({"optimization-level": "2"}, id="the default in words"),
    pytest.param({"max-lora-rank": 64}, id="without adapters"),
    pytest.param({"seed": 1, "stream-interval": 4}, id="nothing to do with memory"),
])
def test_a_flag_without_effect_is_no_doubt(flags: dict[str, Any]) -> None:
    assert demanded({"flags": flags}).doubts == ()


def test_flags_in_doubt_are_flags_of_vllm() -> None:
    assert set() == set(need._uncomputed()) - set(catalog.flags())


@pytest.mark.parametrize(("sequences", "tokens", "graphs"), [
    pytest.param(1024, 8192, 51 + 51, id="as vLLM's logs say: PIECEWISE=51, FULL=51"),
    pytest.param(256, 2048, 51 + 35, id="PIECEWISE=51, FULL=35"),
    pytest.param(128, 2048, 35 + 19, id="PIECEWISE=35, FULL=19"),
    pytest.param(64, 2048, 19 + 11, id="PIECEWISE=19, FULL=11"),
    pytest.param(32, 2048, 11 + 7, id="PIECEWISE=11, FULL=7"),
    pytest.param(8, 2048, 5 + 4, id="PIECEWISE=5, FULL=4"),
    pytest.param(1, 1, 1 + 1, id="PIECEWISE=1, FULL=1"),
])
def test_captured_graphs(sequences: int, tokens: int, graphs: int) -> None:
    assert graphs == overheads.captured_graphs(sequences, tokens)
