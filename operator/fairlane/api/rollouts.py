"""What users write of rollouts: `LLMService.spec.rollout`. Others import these names from `spec`."""

from typing import Annotated

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


class Metric(base.Enum):
    """What a canary is compared by."""

    TTFT = "TTFT"
    ITL = "ITL"
    QUEUE = "Queue"
    E2E = "E2E"
    DURATION = "Duration"
    ERRORS = "Errors"


class Tolerance(base.Model):
    """How much worse than the stable's a canary's share of slow or failed requests may be: at most factor times the stable's share, plus share."""

    metric: Metric = Field(description=(
        "What it is for: TTFT (vLLM's and the router's), ITL (also TPOT), Queue, E2E, Duration (the router's) or Errors. Required."
    ))
    factor: base.Factor = Field("1.25", description=(
        "Times the stable's share. Number from 1 to 100 as a string. Default: \"1.25\"."
    ))
    share: base.Fraction = Field("0.001", description=(
        "On top of it, as a share of all requests from 0 to 1: \"0.001\" is one request in a thousand. Default: \"0.001\"."
    ))


RequestRate = Annotated[str, pydantic.StringConstraints(pattern=r"^(0\.(0[1-9]|[1-9][0-9]?)|[1-9][0-9]?(\.[0-9]{1,2})?|100)$", max_length=5)]
"""Requests per second as a string, from 0.01 to 100."""


class SyntheticLoad(base.Model):
    """Requests that Fairlane itself sends to a lane whose users send too few to judge a canary by."""

    requests_per_second: RequestRate = Field(description=(
        "What a lane with a canary gets at least, its users' requests included: what is missing is sent. Number from 0.01 to 100 as a string: \"2\". Required."
    ))
    max_requests: int = Field(5000, ge=1, le=1_000_000, description="Most synthetic requests of one rollout in one lane. Unit: requests. Default: 5000.")


class Analysis(base.Model):
    """How the canary is judged."""

    interval: base.Duration = Field("10s", description="Time between two looks at Prometheus. Duration. Default: 10s.")
    min_requests: int = Field(50, ge=1, le=1_000_000, description=(
        "Requests the canary must have had before a step may end with Advance; until then the step is held. Unit: requests. Default: 50."
    ))
    false_rollback_rate: base.Rate = Field("0.01", description=(
        "The budget of false alarms: at most this share of the rollouts of harmless changes is rolled back, over all metrics, looks and steps together. "
        "A smaller one "
        "needs more requests to see harm. Number from 0.0001 to 0.5 as a string. Default: \"0.01\"."
    ))
    tolerance: list[Tolerance] = Field(
        [], max_length=6, json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["metric"]},
        description=(
            "Per metric, how much worse than the stable is no harm; a metric that is not listed has the defaults: 1.25 times the stable's share, plus 0.001."
        ),
    )
    synthetic_load: SyntheticLoad | None = Field(None, description=(
        "Requests that Fairlane sends to lanes with too little traffic while their canary is judged, of the lengths of the users' own, to stable and canary "
        "alike; they are kept out of envoy_fairlane_requests and of Fairlane's alerts. They cost GPU time. Default: none are sent."
    ))


class Warmup(base.Model):
    """The first requests of a canary, whose latencies count for nothing; errors count from the first request."""

    requests: int = Field(20, ge=0, le=100_000, description=(
        "Warm-up ends after this many requests, or after duration, whichever is first. Unit: requests. Default: 20."
    ))
    duration: base.DurationOrZero = Field("60s", description=(
        "Warm-up ends after this time, or after requests, whichever is first. Duration; 0s is none. Default: 60s."
    ))


class Baseline(base.Enum):
    """What a canary is compared with."""

    STABLE = "Stable"
    FRESH = "Fresh"


class Preflight(base.Enum):
    """What the memory preflight may do."""

    ENFORCE = "Enforce"
    WARN = "Warn"
    OFF = "Off"


class Rollout(base.Model):
    """How a change of an engine's configuration reaches everyone."""

    model_config = pydantic.ConfigDict(json_schema_extra=rules.extra(*rules.ROLLOUT))

    steps: list[Step] = Field(
        [Step(weight=10, duration="30m"), Step(weight=50, duration="10m")], min_length=1, max_length=10, json_schema_extra=rules.extra(rules.STEPS),
        description="Weights of the canary, each held for a time, rising; after the last one the canary takes the lane. Default: 10 % for 30m, 50 % for 10m.",
    )
    analysis: Analysis = Field(Analysis(), description="How the canary is judged.")
    warmup: Warmup = Field(Warmup(), description="The first requests of a canary, whose latencies count for nothing; errors count from the first request.")
    baseline: Baseline = Field(Baseline.STABLE, description=(
        "What the canary is compared with: Stable (the stable's pods), or Fresh (as many pods of the stable's revision as the canary has, started with it and "
        "with its weight: as cold and as loaded as the canary; they cost the same GPUs once more). Fresh is for steps below 50 %; from there on the "
        "stable's own pods are compared with, which have the same share. Default: Stable."
    ))
    on_insufficient: OnInsufficient = Field(OnInsufficient.ADVANCE, description=(
        "What a step does that ends without a decision, for lack of requests or of a difference: Advance (only with analysis.minRequests; recorded as no "
        "evidence of harm), "
        "Hold (wait for promote or abort), Rollback. Default: Advance."
    ))
    preflight: Preflight = Field(Preflight.ENFORCE, description=(
        "What is done about a revision of which is computed beforehand that its model, KV cache and flags do not fit the GPU: Enforce (it is not started, "
        "the service is Stalled, and no GPU is taken), Warn (it is started, with an Event that says so), Off (nothing is computed). What is only "
        "uncertain is always started. Default: Enforce."
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
