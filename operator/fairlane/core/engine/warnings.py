"""What vLLM takes and probably was not meant: rules over the effective values of one lane, beside the refusals of checks.py."""

import dataclasses
import re
from collections.abc import Callable, Iterator

from ...api import spec as specs
from . import effective, remedies, versions

_DECIMAL = re.compile(r"[\d.]+[kmgt]")
_NEAR_POWER = 0.03       # 8k is 2.3 % below 8192, 1m is 4.6 % below 2**20: there the decimal number is as likely meant
_FAR_ABOVE = 4           # max-model-len in lengths that the lane lets in


@dataclasses.dataclass(frozen=True)
class Warned:
    """One warning: the field to change, and what is odd about it and what to write."""

    field: str
    message: str


def warnings(lane: specs.Lane, settings: effective.Settings, version: versions.Version) -> tuple[Warned, ...]:
    """Return what is odd about a lane that nothing refuses."""
    return tuple(warned for rule in _RULES for warned in rule(lane, settings, version))


def _deprecated(lane: specs.Lane, settings: effective.Settings, version: versions.Version) -> Iterator[Warned]:
    for setting in settings.values():
        said = remedies.of_deprecated(setting.flag, version) if setting.by_user else ""
        if said:
            yield Warned(setting.field, f"{setting.flag.name} {said}")


def _decimal_numbers(lane: specs.Lane, settings: effective.Settings, version: versions.Version) -> Iterator[Warned]:
    """vLLM reads k as 1000 and K as 1024 (vllm/utils/argparse_utils.py)."""
    for setting in settings.values():
        written = str(setting.written).strip()
        if setting.flag.kind == "human" and isinstance(setting.value, int) and _DECIMAL.fullmatch(written):
            power = _nearest_power(setting.value)
            if 0 < abs(power - setting.value) <= _NEAR_POWER * power:
                yield Warned(setting.field, f"{setting.name} {written} is {setting.value}; for {power} write {_binary(power)}, or write {setting.value}")


def _nearest_power(number: int) -> int:
    low = 1 << (max(number, 1).bit_length() - 1)
    return min(low, 2 * low, key=lambda power: abs(power - number))


def _binary(power: int) -> str:
    return f"{power // 1024}K" if power >= 1024 else str(power)


def _budget_beyond_all_sequences(lane: specs.Lane, settings: effective.Settings, version: versions.Version) -> Iterator[Warned]:
    """vLLM only warns too (vllm/config/scheduler.py), and lowers its own default."""
    budget, seqs, length = (settings.get(name) for name in ("max-num-batched-tokens", "max-num-seqs", "max-model-len"))
    if budget is None or seqs is None or length is None or not isinstance(length.value, int) or budget.origin is effective.Origin.DEFAULT:
        return
    most = seqs.value * length.value
    if budget.value > most:
        blamed = effective.strongest(budget, seqs, length)
        yield Warned(blamed.field, f"{budget} is more than a step can hold: {seqs} of {length} are {most}; set max-num-batched-tokens to {most} or less")


def _whole_prompts_beside_chat(lane: specs.Lane, settings: effective.Settings, version: versions.Version) -> Iterator[Warned]:
    chunked = settings.get("enable-chunked-prefill")
    if lane.profile is specs.Profile.INTERACTIVE and chunked is not None and chunked.by_user and chunked.value is False:
        yield Warned(chunked.field, "false lets one long prompt hold all requests of an Interactive lane for its whole prefill; set true, or use LongContext")


def _length_beyond_the_lane(lane: specs.Lane, settings: effective.Settings, version: versions.Version) -> Iterator[Warned]:
    """vLLM starts only where one sequence of that length fits into the KV cache (vllm/v1/core/kv_cache_utils.py)."""
    length, prompt, answer = settings.get("max-model-len"), lane.match.max_prompt_tokens, lane.admission.max_output_tokens
    if length is None or not isinstance(length.value, int) or prompt is None or answer is None or length.value <= _FAR_ABOVE * (prompt + answer):
        return
    lets_in = f"match.maxPromptTokens {prompt} and admission.maxOutputTokens {answer}"
    needed = f"one such sequence must fit into the KV cache: set {prompt + answer} or a little more"
    yield Warned(length.field, f"{length} is more than {_FAR_ABOVE} times what the lane lets in, {lets_in}; {needed}")


_RULES: tuple[Callable[[specs.Lane, effective.Settings, versions.Version], Iterator[Warned]], ...] = (
    _deprecated,
    _decimal_numbers,
    _budget_beyond_all_sequences,
    _whole_prompts_beside_chat,
    _length_beyond_the_lane,
)
