"""The preflight of one lane of a spec: model, GPU and effective flags together."""

from typing import Any

import pytest
from tests.unit.engine import make, memory_models

from fairlane.core.engine import fitness, modelfiles
from fairlane.core.engine.memory.answer import Answer
from fairlane.core.engine.memory.unknown import Unknown

SMOLLM2 = modelfiles.ModelFiles(memory_models.config("smollm2-135m"), 269_060_552, "a test")      # 8,192 tokens at most
L4 = {"gpu": {"product": "NVIDIA-L4"}}


def answered(lane: dict[str, Any], engine: dict[str, Any] | None = None, model: fitness.Model = SMOLLM2) -> tuple[Answer, str]:
    spec = make.service(lane=lane, engine=L4 | (engine or {}))
    found = fitness.check(spec, spec.lanes[0], model)
    return found.answer, found.sentence


@pytest.mark.parametrize(("lane", "engine", "expected"), [
    pytest.param({"scheduler": {"maxModelLen": 8192}}, {}, Answer.FITS, id="as long as the model"),
    pytest.param({"scheduler": {"maxModelLen": 8193}}, {}, Answer.NO, id="one token longer"),
    pytest.param({"scheduler": {"maxModelLen": 16384}, "flags": {"hf-overrides": {"max_position_embeddings": 16384}}}, {}, Answer.UNCERTAIN,
                 id="longer, with a config of its own"),
    pytest.param({"scheduler": {"maxModelLen": 16384}}, {
        "pod": {"spec": {"containers": [{"name": "engine", "env": [{"name": "VLLM_ALLOW_LONG_MAX_MODEL_LEN", "value": "1"}]}]}},
    }, Answer.FITS, id="longer, and let pass"),
    pytest.param({"flags": {"max-model-len": "auto"}}, {}, Answer.FITS, id="the longest that fits"),
    pytest.param({"scheduler": {"tensorParallelSize": 2, "maxModelLen": 8192}}, {}, Answer.NO, id="heads that two GPUs cannot share"),
    pytest.param({"flags": {"kv-cache-memory-bytes": "16M"}, "scheduler": {"maxModelLen": 8192}}, {}, Answer.NO, id="a KV cache that is set too small"),
    pytest.param({"scheduler": {"maxModelLen": 8192}}, {"gpu": {}}, Answer.UNCERTAIN, id="a GPU that is not known"),
])
def test_the_answer(lane: dict[str, Any], engine: dict[str, Any], expected: Answer) -> None:
    answer, sentence = answered(lane, engine)
    assert answer is expected, sentence


def test_a_length_beyond_the_model_names_the_largest() -> None:
    said = "does not load: max-model-len 100,000 is above the model's own 8,192; set 8,192 or less"
    assert answered({"scheduler": {"maxModelLen": 100_000}}) == (Answer.NO, said)


def test_a_model_that_is_not_known_is_uncertain() -> None:
    assert answered({}, model=Unknown("nobody knows")) == (Answer.UNCERTAIN, "cannot say: nobody knows")


@pytest.mark.parametrize(("lane", "expected"), [
    pytest.param({}, None, id="no bound"),
    pytest.param({"match": {"maxPromptTokens": 2048}, "admission": {"maxOutputTokens": 512}}, 2560, id="prompt and answer"),
    pytest.param({"match": {"maxPromptTokens": 2048}}, 2048, id="the prompt alone"),
])
def test_the_longest_that_the_router_lets_in(lane: dict[str, Any], expected: int | None) -> None:
    assert fitness.typical(make.service(lane=lane).lanes[0]) == expected


@pytest.mark.parametrize(("lane", "engine", "model", "same"), [
    pytest.param({"scheduler": {"maxNumSeqs": 8}}, {}, {}, True, id="another scheduler"),
    pytest.param({"replicas": 5}, {}, {}, True, id="more replicas"),
    pytest.param({"scheduler": {"tensorParallelSize": 3}}, {}, {}, False, id="more GPUs a pod"),
    pytest.param({}, {"gpu": {"product": "NVIDIA-A10"}}, {}, False, id="another GPU"),
    pytest.param({}, {}, {"uri": "hf://a/b"}, False, id="another model"),
    pytest.param({"flags": {"quantization": "fp8"}}, {}, {}, False, id="another quantisation"),
])
def test_what_was_learnt_holds_for_the_same_model_and_gpus(lane: dict[str, Any], engine: dict[str, Any], model: dict[str, Any], same: bool) -> None:
    plain, other = make.service(engine=L4), make.service(lane=lane, engine=L4 | engine, model=model)
    assert (fitness.key(plain, plain.lanes[0]) == fitness.key(other, other.lanes[0])) is same
