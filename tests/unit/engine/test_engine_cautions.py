"""What is likely to disappoint of a lane that loads."""

from typing import Any

import pytest
from tests.unit.engine import make, memory_models

from fairlane.core.engine import cautions, effective, fitness, modelfiles, versions
from fairlane.core.engine.memory import architecture
from fairlane.core.engine.memory.unknown import Unknown

LLAMA_8B = modelfiles.ModelFiles(memory_models.config("llama-3.1-8b"), 16_060_522_496, "a test")


def told(lane: dict[str, Any], product: str = "NVIDIA-L4", model: fitness.Model = LLAMA_8B) -> list[str]:
    spec = make.service(lane=lane, engine={"gpu": {"product": product}})
    return list(fitness.cautions(spec, spec.lanes[0], model, fitness.check(spec, spec.lanes[0], model)))


@pytest.mark.parametrize(("lane", "product", "words"), [
    pytest.param({"scheduler": {"maxModelLen": 32768}}, "NVIDIA-L4", "leaves 1% of the KV cache, under a fifth", id="a KV cache that one sequence fills"),
    pytest.param({"scheduler": {"maxModelLen": 28000}}, "NVIDIA-L4", "under a fifth", id="and one that leaves little"),
    pytest.param({"scheduler": {"maxModelLen": 8192}, "objectives": {"itlP99": "200ms"}}, "NVIDIA-L4",
                 "a step of max-num-batched-tokens 2048 prompt tokens takes about 544 ms here, and objectives.itlP99 promises 200ms",
                 id="a step that takes too long"),
    pytest.param({"scheduler": {"maxModelLen": 8192}, "objectives": {"itlP99": "200ms"}}, "NVIDIA-L4", "set max-num-batched-tokens to about 704",
                 id="and what fits"),
])
def test_is_told(lane: dict[str, Any], product: str, words: str) -> None:
    assert [sentence for sentence in told(lane, product) if words in sentence] != []


@pytest.mark.parametrize(("lane", "product", "model"), [
    pytest.param({"scheduler": {"maxModelLen": 8192}}, "NVIDIA-L4", LLAMA_8B, id="a lane that promises nothing and has room"),
    pytest.param({"scheduler": {"maxModelLen": 8192}, "objectives": {"itlP99": "200ms"}}, "NVIDIA-H100-80GB-HBM3", LLAMA_8B, id="a GPU that is fast enough"),
    pytest.param({"scheduler": {"maxModelLen": 8192}, "objectives": {"itlP99": "1ms"}}, "NVIDIA-L4", Unknown("no file"), id="a model that is not known"),
    pytest.param({"scheduler": {"maxModelLen": 8192}, "objectives": {"itlP99": "1ms"}}, "NVIDIA-GeForce-RTX-5090", LLAMA_8B,
                 id="a GPU whose speed is not known"),
    pytest.param({"scheduler": {"maxModelLen": 120_000}}, "NVIDIA-L4", LLAMA_8B, id="what does not load at all, which is said otherwise"),
])
def test_is_not_told(lane: dict[str, Any], product: str, model: fitness.Model) -> None:
    assert told(lane, product, model) == []


@pytest.mark.parametrize(("ranks", "expected"), [(1, 0.544), (2, 0.272), (4, 0.136)])
def test_the_gpus_of_a_pod_share_a_step(ranks: int, expected: float) -> None:
    spec = make.service(lane={"scheduler": {"tensorParallelSize": ranks}}, engine={"gpu": {"product": "NVIDIA-L4"}})
    settings = effective.settings(spec, spec.lanes[0], versions.resolve(spec.engine))
    found = cautions.step_seconds(spec.engine.gpu, settings, architecture.read(LLAMA_8B.config, LLAMA_8B.weight_bytes))
    assert found == pytest.approx(expected, rel=0.01)
