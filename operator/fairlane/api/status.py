"""What users read: `LLMService.status`. Written by the operator alone, once a pass, only if different."""

from pydantic import Field

from . import base


class Phase(base.Enum):
    """Where a lane's rollout stands."""

    IDLE = "Idle"
    WAITING = "Waiting"
    LOADING = "Loading"
    WARMING = "Warming"
    ANALYZING = "Analyzing"
    PROMOTING = "Promoting"
    ROLLING_BACK = "RollingBack"


class Outcome(base.Enum):
    """What the judge says."""

    PASS = "Pass"
    FAIL = "Fail"
    INSUFFICIENT = "Insufficient"
    UNAVAILABLE = "Unavailable"


class Result(base.Enum):
    """How a rollout ended."""

    PROMOTED = "Promoted"
    ROLLED_BACK = "RolledBack"
    SUPERSEDED = "Superseded"
    TRIED = "Tried"


class Condition(base.StatusModel):
    """One condition, as metav1.Condition."""

    type: base.Word = Field(description="Ready, Reconciling, Stalled, LanesReady, RouterReady or MetricsAvailable.")
    status: base.Word = Field(description="True, False or Unknown.")
    reason: base.Word = Field(description="Why, in one PascalCase word.")
    message: base.Text = Field("", description="Why, in a sentence.")
    observed_generation: int = Field(0, description="metadata.generation that the condition speaks of.")
    last_transition_time: base.Time = Field(description="When status last changed.")


class TrackEvidence(base.StatusModel):
    """One side's numbers in a window."""

    revision: base.Word = Field(description="Revision the numbers are of.")
    requests: int = Field(0, description="Tries that reached an engine of the revision.")
    errors: int = Field(0, description="Tries of those that failed (5xx, reset, refused, stream broken), also where a retry hid it from the client.")
    hidden_errors: int = Field(0, description="Failed tries of those that a retry hid from the client.")
    aborts: int = Field(0, description="Requests that the client left.")
    replicas: int = Field(0, description="Ready replicas at the end of the window.")
    ttft_p50_ms: int | None = Field(None, description="Median time to the first token. Milliseconds.")
    ttft_p99_ms: int | None = Field(None, description="99th percentile of the time to the first token. Milliseconds.")
    itl_p99_ms: int | None = Field(None, description="99th percentile of the time between two tokens. Milliseconds.")
    tpot_p99_ms: int | None = Field(None, description="99th percentile of a request's time per output token. Milliseconds.")
    queue_p99_ms: int | None = Field(None, description="99th percentile of the time in the engine's queue. Milliseconds.")
    e2e_p99_ms: int | None = Field(None, alias="e2eP99Ms", description="99th percentile of a request's whole time in the engine. Milliseconds.")
    ttft_p99_range: base.Word = Field("", description="Interval that holds the TTFT's 99th percentile with 95 % confidence, in milliseconds: 610-1250.")
    e2e_p99_range: base.Word = Field("", alias="e2eP99Range", description="The same of the whole time in the engine.")
    preemptions: int = Field(0, description="Requests that were preempted for want of KV cache.")
    prefix_hit_percent: int | None = Field(None, description="Prompt tokens that were found in the prefix cache. Percent.")
    kv_use_percent: int | None = Field(None, description="KV cache in use at the end of the window. Percent.")
    gpu_utilization_percent: int | None = Field(None, description="GPU utilisation at the end of the window, where dcgm-exporter tells it. Percent.")
    gpu_memory_percent: int | None = Field(None, description="GPU memory in use at the end of the window, where dcgm-exporter tells it. Percent.")


class Distribution(base.StatusModel):
    """Both sides' counts of one metric at its bucket edges: their empirical distribution functions."""

    metric: base.Word = Field(description="ttft, itl, tpot, queue, e2e, router_ttft or router_duration.")
    edges_ms: list[int] = Field([], max_length=128, description="Bucket edges; what lies beyond the last one is in the totals alone. Milliseconds.")
    stable: list[int] = Field([], max_length=129, description="The stable's observations at or below each edge, then all of them.")
    canary: list[int] = Field([], max_length=129, description="The canary's observations at or below each edge, then all of them.")


class EvidenceRecord(base.StatusModel):
    """The numbers behind a verdict."""

    since: base.Time = Field(description="Start of the window.")
    until: base.Time = Field(description="End of the window.")
    stable: TrackEvidence = Field(description="The stable's numbers.")
    canary: TrackEvidence = Field(description="The canary's numbers.")
    load_ratio: base.Word = Field("", description="The canary's requests per replica over the stable's.")
    metric: base.Word = Field("", description="Metric that decided, or would: ttft, router_ttft, itl, tpot, queue, e2e, router_duration, errors or hangs.")
    edge: base.Word = Field("", description="Limit that requests were counted over, with its unit: a bucket edge of the stable's tail, or an objective's.")
    canary_over: int = Field(0, description="The canary's observations over the edge.")
    canary_total: int = Field(0, description="The canary's observations of that metric.")
    stable_over: int = Field(0, description="The stable's observations over the edge.")
    stable_total: int = Field(0, description="The stable's observations of that metric.")
    e_value: base.Word = Field("", description=(
        "Evidence that the canary is worse, over all metrics and looks: for a canary that is not, it reaches N in at most one trial of N."
    ))
    threshold: base.Word = Field("", description="e-value from which a canary is rolled back: steps of the rollout / rollout.analysis.falseRollbackRate.")
    pass_e_value: base.Word = Field("", description="Evidence that the canary is not worse, by the metric that shows it least.")
    pass_threshold: base.Word = Field("", description="e-value from which a step may end with Pass.")
    rule: base.Text = Field("", description="The rule that decided, in words.")
    distribution: Distribution | None = Field(None, description="Both sides' distribution of the metric that decided; in the last decision alone.")


class Decision(base.StatusModel):
    """One decision of a rollout: a step ended, a verdict fell, a command was followed."""

    time: base.Time = Field(description="When it was made.")
    step: int = Field(description="Index of the step, from 0.")
    weight: int = Field(description="The canary's weight then. Percent.")
    verdict: Outcome = Field(description="What the judge said: Pass, Fail, Insufficient or Unavailable.")
    reason: base.Word = Field(description="Why, in one PascalCase word.")
    message: base.Text = Field(description="What was decided and why, in a sentence.")
    evidence: EvidenceRecord | None = Field(None, description="The numbers behind it.")


class MemoryStatus(base.StatusModel):
    """What was computed of a revision's memory before it loaded, and what its engine measured after."""

    revision: base.Word = Field(description="Hash of the revision.")
    answer: base.Word = Field("", description="Fits, Uncertain or No.")
    message: base.Text = Field("", description="The same in a sentence with numbers, and what would fit where it does not.")
    predicted_kv_tokens: int | None = Field(None, alias="predictedKVTokens", description="Tokens that the KV cache should hold. Null: not known.")
    measured_kv_tokens: int | None = Field(None, alias="measuredKVTokens", description="Tokens that it holds, by vllm:cache_config_info. Null: not loaded yet.")
    correction_mib: int | None = Field(None, alias="correctionMiB", description=(
        "KV cache memory measured less computed, which the next estimate of the same model on the same GPUs adds. MiB per GPU."
    ))
    key: base.Word = Field("", description="What the correction holds for: a digest of model and GPUs.")


class LaneStatus(base.StatusModel):
    """One lane: what serves, what is on trial, and why."""

    name: base.Word = Field(description="Name of the lane.")
    phase: Phase = Field(Phase.IDLE, description="Where the lane's rollout stands: Idle, Waiting, Loading, Warming, Analyzing, Promoting or RollingBack.")
    stable: base.Word = Field("", description="Revision that serves the lane.")
    canary: base.Word = Field("", description="Revision under trial; empty where none is.")
    desired_hash: base.Word = Field("", description="Hash of the revision that the spec asks for.")
    replicas: int = Field(0, description="Engine pods the stable should have.")
    ready_replicas: int = Field(0, description="Engine pods of the stable that are ready.")
    canary_replicas: int = Field(0, description="Engine pods the canary should have.")
    canary_ready_replicas: int = Field(0, description="Engine pods of the canary that are ready.")
    step: int = Field(0, description="Index of the step, from 0.")
    weight: int = Field(0, description="Share of the lane's requests that go to the canary. Percent.")
    started_at: base.Time | None = Field(None, description="When the rollout started.")
    phase_since: base.Time | None = Field(None, description="When the phase was entered.")
    step_since: base.Time | None = Field(None, description="When the step was entered.")
    stable_down_since: base.Time | None = Field(None, description="Since when the stable has no ready replica.")
    loading_since: base.Time | None = Field(None, description=(
        "When the first canary pod that is not ready yet was scheduled: rollout.loadDeadline counts from here."
    ))
    held_since: base.Time | None = Field(None, description=(
        "Since when nothing can be decided, for want of numbers or of a ready pod: the step's clock stands still."
    ))
    held_seconds: int = Field(0, description="How long the step's clock has stood still before. Seconds.")
    promote_when_ready: bool = Field(False, description="Whether `fairlane promote` asked for the lane to move over as soon as the canary is ready.")
    paused: bool = Field(False, description="Whether `fairlane pause` holds the rollout.")
    trial: bool = Field(False, description="Whether the canary is the unchanged revision under a new name, by `fairlane trial`: it is never promoted.")
    baseline: base.Word = Field("", description=(
        "Revision started beside the canary to be compared with (rollout.baseline: Fresh); empty where the stable itself is."
    ))
    in_place: bool = Field(False, description="Whether the stable is replaced in place, without a canary beside it.")
    verdict: Outcome | None = Field(None, description="The judge's last word: Pass, Fail, Insufficient or Unavailable.")
    reason: base.Word = Field("", description="Why the lane stands where it stands, in one PascalCase word.")
    message: base.Text = Field("", description="The same in a sentence with numbers.")
    result: Result | None = Field(None, description="How the rollout that is ending, or ended last, came out: Promoted, RolledBack, Superseded or Tried.")
    evidence: EvidenceRecord | None = Field(None, description="The numbers behind the verdict.")
    judge_state: str = Field("", max_length=32768, description="The judge's sums since the step began, for the operator alone.")
    synthetic_requests: int = Field(0, description="Requests of rollout.analysis.syntheticLoad that the lane had in the running rollout, both tracks together.")
    expected: base.Text = Field("", description="What the steps can be expected to show at the lane's recent rate of requests, in words.")
    memory: MemoryStatus | None = Field(None, description="The memory of the revision that the spec asks for: computed, and measured once it has loaded.")
    decisions: list[Decision] = Field([], max_length=10, description="Decisions of the running rollout, oldest first.")
    rejected: list[base.Word] = Field([], max_length=20, description="Hashes that failed and are not tried again until `fairlane retry`.")


class RolloutRecord(base.StatusModel):
    """One ended rollout."""

    lane: base.Word = Field(description="Name of the lane.")
    stable: base.Word = Field(description="Revision that served when it started.")
    canary: base.Word = Field(description="Revision that was on trial.")
    result: Result = Field(description="How it ended: Promoted, RolledBack, Superseded or Tried.")
    started_at: base.Time = Field(description="When it started.")
    ended_at: base.Time = Field(description="When it ended.")
    reason: base.Word = Field(description="Why it ended so, in one PascalCase word.")
    message: base.Text = Field(description="The same in a sentence with numbers.")
    canary_requests: int = Field(0, description="Requests the canary had.")
    synthetic_requests: int = Field(0, description="Requests of rollout.analysis.syntheticLoad that the lane had, both tracks together.")
    decisions: list[Decision] = Field([], max_length=10, description="Its decisions, oldest first, with their evidence.")


class RouterStatus(base.StatusModel):
    """The router pods."""

    replicas: int = Field(0, description="Router pods there should be.")
    ready_replicas: int = Field(0, description="Router pods that are ready.")
    route_version: base.Word = Field("", description="Version of the routes as they should be.")
    acknowledged: int = Field(0, description="Router pods that serve this version.")


class LLMServiceStatus(base.StatusModel):
    """The whole status."""

    observed_generation: int = Field(0, description="metadata.generation that this status speaks of.")
    conditions: list[Condition] = Field(
        [], max_length=16, json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        description="Ready, Reconciling, Stalled, LanesReady, RouterReady, MetricsAvailable.",
    )
    lanes: list[LaneStatus] = Field(
        [], max_length=64, json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        description="One entry per lane: what serves, what is on trial, and why.",
    )
    router: RouterStatus = Field(RouterStatus(), description="The router pods.")
    history: list[RolloutRecord] = Field([], max_length=10, description="The last rollouts of all lanes with their evidence, newest first.")
    handled_commands: list[base.Word] = Field([], max_length=20, description="Ids of commands that were followed.")
    lanes_ready: base.Word = Field("", description="Lanes that are ready, of all: 3/3.")
    rollout: base.Word = Field("", description="The running rollout in short: chat 10% canary (4m).")
