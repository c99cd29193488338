"""The rules that Argo Rollouts and Flagger judge by, as people write them: a ratio of p99s and a share of errors, over the last minute, at fixed intervals."""
from __future__ import annotations

import dataclasses

RATIO, ERRORS = 1.5, 0.01      # p99 of the TTFT over the stable's; share of failed tries
WINDOW = "1m"                  # of both queries
THRESHOLD = 5                  # Flagger: failed looks
LIMITS = (0, 3)                # Argo: failed looks that are forgiven, of each metric

_INTERVAL, _STEP, _FLOOR = 60, 1800, 10    # seconds: the usual interval; Fairlane's first step by default; Flagger's least


@dataclasses.dataclass(frozen=True)
class Target:
    """Whose series are read."""

    namespace: str
    lane: str
    stable: str
    canary: str


def interval(step_seconds: float) -> int:
    """Seconds between two looks: 60 at a step of half an hour, in proportion at a shorter one, at least the ten that Flagger takes."""
    return max(_FLOOR, round(_INTERVAL * step_seconds / _STEP))


def latency(target: Target) -> str:
    """The canary's p99 of the time to the first token over the stable's."""
    return f"{_p99(target, target.canary)} / {_p99(target, target.stable)}"


def errors(target: Target) -> str:
    """The canary's share of failed tries; 0 while it has none, since Envoy's counters are born with their first request."""
    failures, tries = (f"sum(rate(envoy_fairlane_{name}{_selector(target, target.canary)}[{WINDOW}]))" for name in ("failures", "tries"))
    return f"(({failures} or vector(0)) / {tries}) or vector(0)"


def _p99(target: Target, revision: str) -> str:
    buckets = f"vllm:time_to_first_token_seconds_bucket{_selector(target, revision)}"
    return f"histogram_quantile(0.99, sum by (le) (rate({buckets}[{WINDOW}])))"


def _selector(target: Target, revision: str) -> str:
    return f'{{namespace="{target.namespace}",fairlane_lane="{target.lane}",fairlane_revision="{revision}"}}'
