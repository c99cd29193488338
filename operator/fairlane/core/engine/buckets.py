"""The bounds of vLLM's histograms that a user sets: what vLLM takes as custom-histogram-buckets."""

import itertools
import json
import math
from typing import Any

from .. import errors

FLAG = "custom-histogram-buckets"
# vllm/v1/metrics/buckets.py of 0.32.0, as the checks below are vllm/config/observability.py's.
FAMILIES = (
    "inter_token_latency", "iteration_tokens", "kv_cache_residency", "request_latency", "request_num_preemptions", "request_params_n", "request_tokens",
    "time_to_first_token",
)


def check(field: str, name: str, value: Any) -> None:
    """Refused where the value names no family, or bounds that are not positive, finite and rising. `name` is the flag's, or has a family after a dot."""
    _, _, family = name.partition(".")
    bounds = {family: value} if family else _object(field, value)
    for key, numbers in bounds.items():
        if key not in FAMILIES:
            raise errors.Refused(field, f"{key!r} is no family of histograms; use one of {', '.join(FAMILIES)}")
        _rising(field, key, numbers)


def _object(field: str, value: Any) -> dict[str, Any]:
    try:
        parsed = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise errors.Refused(field, f'{value!r} is no object; write it as {{"time_to_first_token": [0.1, 0.5, 1]}}')
    return parsed


def _rising(field: str, family: str, bounds: Any) -> None:
    if not isinstance(bounds, list) or not bounds or not all(_is_bound(bound) for bound in bounds):
        raise errors.Refused(field, f"{family} {json.dumps(bounds)} is no list of numbers above 0; write it as [0.1, 0.5, 1]")
    if any(low >= high for low, high in itertools.pairwise(bounds)):
        raise errors.Refused(field, f"the bounds of {family} {json.dumps(bounds)} do not rise; sort them and leave out what is there twice")


def _is_bound(bound: Any) -> bool:
    return isinstance(bound, (int, float)) and not isinstance(bound, bool) and math.isfinite(bound) and bound > 0
