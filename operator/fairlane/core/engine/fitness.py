"""Will a lane's engine load on its GPU? The memory preflight of one lane of a spec."""

import dataclasses
from collections.abc import Collection

from ...api import spec as specs
from .. import names
from . import cautions as disappointing
from . import effective, modelfiles, versions
from .memory import architecture, gpus, need, preflight
from .memory.answer import Answer, Preflight
from .memory.unknown import Doubt, Unknown

_CHANGES_LENGTH = ("hf-overrides", "rope-scaling", "rope-theta", "hf-config-path")
_ALLOWED = "VLLM_ALLOW_LONG_MAX_MODEL_LEN"
_SHARED = ("revision", "dtype", "quantization", "tensor-parallel-size", "pipeline-parallel-size")   # what the weights of one GPU depend on

Model = modelfiles.ModelFiles | Unknown


def check(spec: specs.LLMServiceSpec, lane: specs.Lane, model: Model, correction: int | None = None, products: Collection[str] = ()) -> Preflight:
    """Return the answer for the lane's effective flags. Refused where the flags cannot be.

    `correction` in bytes is that of an earlier load, `products` are the GPUs that the cluster's nodes have, for a spec that names none.
    """
    version = versions.resolve(spec.engine)
    settings = effective.settings(spec, lane, version)
    found = _architecture(model)
    gpu, doubts = gpu_of(spec, products)
    memory = gpus.usable(gpu)
    if not isinstance(memory, Unknown):
        memory = dataclasses.replace(memory, doubts=(*memory.doubts, *doubts))
    demand = need.demand(settings, version, gpu)
    if beyond := _beyond(spec, settings, found, demand):
        return beyond
    return preflight.preflight(found, memory, demand, typical_tokens=typical(lane), correction=correction)


def gpu_of(spec: specs.LLMServiceSpec, products: Collection[str]) -> tuple[specs.Gpu, tuple[Doubt, ...]]:
    """Return the GPU to compute for: the spec's, else one of the nodes'."""
    return gpus.of_nodes(products) if products and asks_nodes(spec) else (spec.engine.gpu, ())


def asks_nodes(spec: specs.LLMServiceSpec) -> bool:
    """Whether the nodes are to say which GPU it is."""
    return spec.engine.gpu.product is None and spec.engine.gpu.memory is None


def _architecture(model: Model) -> architecture.Architecture | Unknown:
    return model if isinstance(model, Unknown) else architecture.read(model.config, model.weight_bytes)


def _beyond(spec: specs.LLMServiceSpec, settings: effective.Settings, model: architecture.Architecture | Unknown, demand: need.Demand) -> Preflight | None:
    """The answer where max-model-len is above what the model's config allows, which vLLM refuses (vllm/config/model.py _get_and_verify_max_len).

    Not where a flag changes the config, or VLLM_ALLOW_LONG_MAX_MODEL_LEN lets it pass.
    """
    if isinstance(model, Unknown) or model.longest is None or demand.max_model_len is None or demand.max_model_len <= model.longest:
        return None
    if any(name.partition(".")[0] in _CHANGES_LENGTH for name in settings) or _ALLOWED in str(spec.engine.pod):
        return None
    said = f"does not load: max-model-len {demand.max_model_len:,} is above the model's own {model.longest:,}"
    return Preflight(Answer.NO, f"{said}; set {model.longest:,} or less", longest=model.longest)


def cautions(spec: specs.LLMServiceSpec, lane: specs.Lane, model: Model, answer: Preflight, products: Collection[str] = ()) -> tuple[str, ...]:
    """Return what is likely to disappoint of a lane that loads."""
    settings = effective.settings(spec, lane, versions.resolve(spec.engine))
    found = _architecture(model)
    return tuple(disappointing.cautions(gpu_of(spec, products)[0], lane, settings, found, answer))


def key(spec: specs.LLMServiceSpec, lane: specs.Lane, products: Collection[str] = ()) -> str:
    """Return what an earlier load's correction holds for: the model, its quantisation and the GPUs, as a digest."""
    flags = {name: setting.value for name, setting in effective.settings(spec, lane, versions.resolve(spec.engine)).items() if name in _SHARED}
    gpu = gpu_of(spec, products)[0].model_dump(mode="json", by_alias=True)
    return names.digest([spec.model.uri, gpu, flags])


def typical(lane: specs.Lane) -> int | None:
    """Return the tokens of the longest sequence that the router lets in: prompt and answer; None where neither is bounded."""
    prompt, answer = lane.match.max_prompt_tokens, lane.admission.max_output_tokens
    return (prompt or 0) + (answer or 0) or None
