"""What no single flag says wrong: rules over the effective values of one lane."""

import dataclasses
import json
from collections.abc import Callable

from ...api import spec as specs
from .. import errors
from . import buckets, effective

_GUESSERS = ("speculative-config", "spec-model", "spec-method")


@dataclasses.dataclass(frozen=True)
class _Need:
    """A flag that vLLM does not start with unless one of the others is set, to `value` where that is given. With the value `off` it asks for nothing."""

    name: str
    others: tuple[str, ...]
    value: str = ""
    off: str = ""


# validate_parsed_serve_args (vllm/entrypoints) and the validators of vllm/config: observability, speculative, parallel, mamba; of 0.32.0.
_NEEDS = (
    _Need("enable-auto-tool-choice", ("tool-call-parser",)),
    _Need("enable-log-outputs", ("enable-log-requests",)),
    _Need("collect-detailed-traces", ("otlp-traces-endpoint",)),
    _Need("spec-tokens", _GUESSERS),
    _Need("per-request-spec-decode-metrics", _GUESSERS, off="none"),
    _Need("ray-workers-use-nsight", ("distributed-executor-backend",), "ray"),
    _Need("enable-elastic-ep", ("enable-eplb",)),
    _Need("enable-mamba-cache-stochastic-rounding", ("mamba-ssm-cache-dtype",), "float16"),
    _Need("mamba-ssu-algorithm", ("mamba-backend",), "flashinfer"),
)


def check(lane: specs.Lane, settings: effective.Settings) -> None:
    """Refused with the first rule that the lane breaks; vLLM itself would refuse all but those of prompts, answers and scheduled tokens at its start."""
    for rule in _RULES:
        rule(lane, settings)


def _budget_holds_all_sequences(lane: specs.Lane, settings: effective.Settings) -> None:
    """A step must have a token for each running sequence."""
    _at_most(settings, "max-num-seqs", "max-num-batched-tokens")


def _active_sequences_fit(lane: specs.Lane, settings: effective.Settings) -> None:
    _at_most(settings, "max-num-active-seqs", "max-num-seqs")


def _scheduled_tokens_fit(lane: specs.Lane, settings: effective.Settings) -> None:
    """vLLM takes it (vllm/config/scheduler.py of 0.32 does not compare them), but no step ever has more tokens than its budget."""
    _at_most(settings, "max-num-scheduled-tokens", "max-num-batched-tokens")


def _prefill_cap_fits_model(lane: specs.Lane, settings: effective.Settings) -> None:
    _at_most(settings, "long-prefill-token-threshold", "max-model-len")


def _whole_prompt_fits_a_step(lane: specs.Lane, settings: effective.Settings) -> None:
    """Without chunked prefill a prompt longer than a step's budget could never run."""
    chunked, longest, budget = (settings.get(name) for name in ("enable-chunked-prefill", "max-model-len", "max-num-batched-tokens"))
    if chunked is None or chunked.value:
        return
    if longest is None or not isinstance(longest.value, int) or budget is None:
        raise errors.Refused(chunked.field, "false needs max-model-len and max-num-batched-tokens of at least that; set both as numbers, or true")
    if budget.value < longest.value:
        needs = f"false needs a step that holds the longest prompt, but {budget} is below {longest}"
        raise errors.Refused(chunked.field, f"{needs}; raise the one, lower the other, or set true")


def _prompts_fit_the_model(lane: specs.Lane, settings: effective.Settings) -> None:
    """The router must send no prompt that leaves no room for an answer."""
    longest, promised = settings.get("max-model-len"), lane.match.max_prompt_tokens
    if promised is not None and longest is not None and isinstance(longest.value, int) and promised >= longest.value:
        raise errors.Refused(f"spec.lanes[{lane.name}].match.maxPromptTokens", f"{promised} must be below {longest}; lower it, or raise max-model-len")


def _answers_fit_the_model(lane: specs.Lane, settings: effective.Settings) -> None:
    """The router must not allow an answer that no prompt leaves room for."""
    longest, allowed = settings.get("max-model-len"), lane.admission.max_output_tokens
    if allowed is not None and longest is not None and isinstance(longest.value, int) and allowed >= longest.value:
        raise errors.Refused(f"spec.lanes[{lane.name}].admission.maxOutputTokens", f"{allowed} must be below {longest}; lower it, or raise max-model-len")


def _others_are_there(lane: specs.Lane, settings: effective.Settings) -> None:
    for need in _NEEDS:
        setting = settings.get(need.name)
        there = [other for other in settings.values() if other.flag.name in need.others and other.value and need.value in ("", other.value)]
        if setting is not None and setting.value not in (False, "", [], need.off) and not there:
            wanted = f"{' or '.join(need.others)} {need.value}".strip()
            raise errors.Refused(setting.field, f"{need.name} {json.dumps(setting.value)} needs {wanted}; set {wanted} too, or leave {need.name} out")


def _context_ranks_divide_tensor_ranks(lane: specs.Lane, settings: effective.Settings) -> None:
    """vllm/config/parallel.py"""
    parts, ranks = settings.get("decode-context-parallel-size"), settings.get("tensor-parallel-size")
    if parts is not None and ranks is not None and ranks.value % parts.value:
        blamed = effective.strongest(parts, ranks)
        raise errors.Refused(blamed.field, f"{ranks} is no multiple of {parts}; set tensor-parallel-size to one, or lower decode-context-parallel-size")


def _buckets_are_families(lane: specs.Lane, settings: effective.Settings) -> None:
    for setting in settings.values():
        if setting.flag.name == buckets.FLAG:
            buckets.check(setting.field, setting.name, setting.value)


_RULES: tuple[Callable[[specs.Lane, effective.Settings], None], ...] = (
    _budget_holds_all_sequences,
    _active_sequences_fit,
    _scheduled_tokens_fit,
    _prefill_cap_fits_model,
    _whole_prompt_fits_a_step,
    _prompts_fit_the_model,
    _answers_fit_the_model,
    _others_are_there,
    _context_ranks_divide_tensor_ranks,
    _buckets_are_families,
)


def _at_most(settings: effective.Settings, small_name: str, large_name: str) -> None:
    """Refused, at the field that the user touched, where the one value is above the other."""
    small, large = settings.get(small_name), settings.get(large_name)
    if small is None or large is None or small.origin is effective.Origin.DEFAULT:   # vLLM lowers its own default
        return
    if isinstance(small.value, str) or isinstance(large.value, str) or small.value <= large.value:
        return
    remedy = f"raise {large.name} to {small.value} or set {small.name} to {large.value} or less"
    raise errors.Refused(effective.strongest(small, large).field, f"{small} is above {large}; {remedy}")
