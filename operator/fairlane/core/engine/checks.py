"""What no single flag says wrong: rules over the effective values of one lane."""

from collections.abc import Callable

from ...api import spec as specs
from .. import errors
from . import effective

_STRENGTH = list(effective.Origin)


def check(lane: specs.Lane, settings: effective.Settings) -> None:
    """Refused with the first rule that the lane breaks; vLLM itself would refuse the first four at its start (vllm/config/scheduler.py)."""
    for rule in _RULES:
        rule(lane, settings)


def _budget_holds_all_sequences(lane: specs.Lane, settings: effective.Settings) -> None:
    """A step must have a token for each running sequence."""
    _at_most(settings, "max-num-seqs", "max-num-batched-tokens")


def _active_sequences_fit(lane: specs.Lane, settings: effective.Settings) -> None:
    _at_most(settings, "max-num-active-seqs", "max-num-seqs")


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


_RULES: tuple[Callable[[specs.Lane, effective.Settings], None], ...] = (
    _budget_holds_all_sequences,
    _active_sequences_fit,
    _prefill_cap_fits_model,
    _whole_prompt_fits_a_step,
    _prompts_fit_the_model,
    _answers_fit_the_model,
)


def _at_most(settings: effective.Settings, small_name: str, large_name: str) -> None:
    """Refused, at the field that the user touched, where the one value is above the other."""
    small, large = settings.get(small_name), settings.get(large_name)
    if small is None or large is None or small.origin is effective.Origin.DEFAULT:   # vLLM lowers its own default
        return
    if isinstance(small.value, str) or isinstance(large.value, str) or small.value <= large.value:
        return
    blamed = max(small, large, key=lambda setting: _STRENGTH.index(setting.origin))
    remedy = f"raise {large.name} to {small.value} or set {small.name} to {large.value} or less"
    raise errors.Refused(blamed.field, f"{small} is above {large}; {remedy}")
