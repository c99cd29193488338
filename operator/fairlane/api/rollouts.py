"""What users write of rollouts: `LLMService.spec.rollout`. Others import these names from `spec`."""

import pydantic
from pydantic import Field

from . import base, rules


class Step(base.Model):
    """A weight held for a time."""

    weight: int = Field(ge=1, le=100, description=(
        "Share of the lane's requests that go to the canary, in percent, 1 to 100. Rises from step to step. Required."
    ))
    duration: base.Duration = Field(description="How long the weight is held. Duration, at least analysis.interval. Required.")


class OnInsufficient(base.Enum):
    """What a step that ends without a decision does."""

    ADVANCE = "Advance"
    HOLD = "Hold"
    ROLLBACK = "Rollback"


class Analysis(base.Model):
    """How the canary is judged."""

    interval: base.Duration = Field("10s", description="Time between two looks at Prometheus. Duration. Default: 10s.")
    min_requests: int = Field(50, ge=1, le=1_000_000, description=(
        "Requests the canary must have had before a step may end with Advance; until then the step is held. Unit: requests. Default: 50."
    ))
    tolerance: base.Fraction = Field("0.01", description=(
        "How much worse than the stable a canary's share of slow or failed requests may be before it fails, as a share of all requests from 0 to 1: "
        "\"0.01\" is one "
        "request in a hundred. Default: \"0.01\"."
    ))


class Warmup(base.Model):
    """The first requests of a canary, whose latencies count for nothing; errors count from the first request."""

    requests: int = Field(20, ge=0, le=100_000, description=(
        "Warm-up ends after this many requests, or after duration, whichever is first. Unit: requests. Default: 20."
    ))
    duration: base.DurationOrZero = Field("60s", description=(
        "Warm-up ends after this time, or after requests, whichever is first. Duration; 0s is none. Default: 60s."
    ))


class Rollout(base.Model):
    """How a change of an engine's configuration reaches everyone."""

    model_config = pydantic.ConfigDict(json_schema_extra=rules.extra(*rules.ROLLOUT))

    steps: list[Step] = Field(
        [Step(weight=10, duration="30m"), Step(weight=50, duration="10m")], min_length=1, max_length=10, json_schema_extra=rules.extra(rules.STEPS),
        description="Weights of the canary, each held for a time, rising; after the last one the canary takes the lane. Default: 10 % for 30m, 50 % for 10m.",
    )
    analysis: Analysis = Field(Analysis(), description="How the canary is judged.")
    warmup: Warmup = Field(Warmup(), description="The first requests of a canary, whose latencies count for nothing; errors count from the first request.")
    on_insufficient: OnInsufficient = Field(OnInsufficient.ADVANCE, description=(
        "What a step does that ends without a decision, for lack of requests or of a difference: Advance (only with analysis.minRequests; recorded as no "
        "evidence of harm), "
        "Hold (wait for promote or abort), Rollback. Default: Advance."
    ))
    load_deadline: base.Duration = Field("30m", description=(
        "How long a canary may take from its pod's scheduling until it is ready; then it is rolled back. Duration. Default: 30m."
    ))
    fail_safe_after: base.Duration = Field("60s", description=(
        "How long the operator may be silent while a canary is judged; then the router sends all traffic to the stable. Duration, at least twice "
        "analysis.interval. Default: 60s."
    ))
    stable_down_after: base.Duration = Field("2m", description=(
        "How long a stable may be without a ready replica until a new revision takes the lane as soon as it is ready, without steps. Duration. Default: 2m."
    ))
