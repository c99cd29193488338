"""What is likely to disappoint of a lane that loads: a step that takes longer than the lane promises, a KV cache with little room."""

from collections.abc import Iterator

from ...api import base
from ...api import spec as specs
from . import effective
from .memory import gpus
from .memory.answer import Answer, Preflight
from .memory.architecture import Architecture
from .memory.unknown import Unknown

ROOM = 0.2                # of the KV cache: below it, a few long sequences preempt the others
_FLOPS_PER_TOKEN = 2      # and parameter: one multiplication and one addition (Kaplan et al., arXiv 2001.08361, 2.1)
_ATTAINED = 0.5           # of the data sheet's speed in prefill: an estimate; well-tuned kernels reach 0.4 to 0.7


def cautions(
    gpu: specs.Gpu, lane: specs.Lane, settings: effective.Settings, model: Architecture | Unknown, memory: Preflight,
) -> Iterator[str]:
    """Return one sentence for each."""
    if memory.answer is not Answer.NO and memory.margin_share is not None and memory.margin_share < ROOM:
        yield (
            f"one sequence of max-model-len leaves {max(0.0, memory.margin_share):.0%} of the KV cache, under a fifth: others are preempted as soon as one "
            "grows long; lower max-model-len or max-num-seqs, or take a larger GPU"
        )
    seconds, promised = step_seconds(gpu, settings, model), lane.objectives.itl_p99
    if seconds is not None and promised is not None and seconds > base.seconds(promised):
        tokens = settings["max-num-batched-tokens"].value
        fits = int(tokens * base.seconds(promised) / seconds) // 64 * 64
        lower = f"set max-num-batched-tokens to about {fits}" if fits else "take a faster GPU or more of them"
        yield (
            f"a step of max-num-batched-tokens {tokens} prompt tokens takes about {1000 * seconds:.0f} ms here, and objectives.itlP99 promises {promised} "
            f"between two tokens: every long prompt breaks it; {lower}"
        )


def step_seconds(gpu: specs.Gpu, settings: effective.Settings, model: Architecture | Unknown) -> float | None:
    """Return about how long a step full of prompt tokens takes; None where the GPU's speed or the number of parameters is not known.

    2 operations per parameter and token, at half of the data sheet's speed, shared by the GPUs of the tensor parallel size; attention itself is left out.
    """
    speed, tokens = gpus.flops(gpu), settings.get("max-num-batched-tokens")
    if isinstance(model, Unknown) or speed is None or tokens is None or model.is_quantised or model.experts:
        return None
    if not model.weight_bytes or not model.element_bytes:
        return None
    ranks = settings["tensor-parallel-size"].value if "tensor-parallel-size" in settings else 1
    return float(_FLOPS_PER_TOKEN * (model.weight_bytes / model.element_bytes) * tokens.value / (speed * _ATTAINED * ranks))
