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
    errors: int = Field(0, description="Tries of those that failed (5xx, reset, refused), also where a retry hid it from the client.")
    replicas: int = Field(0, description="Ready replicas at the end of the window.")
    ttft_p50_ms: int | None = Field(None, description="Median time to the first token. Milliseconds.")
    ttft_p99_ms: int | None = Field(None, description="99th percentile of the time to the first token. Milliseconds.")
    itl_p99_ms: int | None = Field(None, description="99th percentile of the time between two tokens. Milliseconds.")
    queue_p99_ms: int | None = Field(None, description="99th percentile of the time in the engine's queue. Milliseconds.")
    e2e_p99_ms: int | None = Field(None, alias="e2eP99Ms", description="99th percentile of a request's whole time in the engine. Milliseconds.")


class EvidenceRecord(base.StatusModel):
    """The numbers behind a verdict."""

    since: base.Time = Field(description="Start of the window.")
    until: base.Time = Field(description="End of the window.")
    stable: TrackEvidence = Field(description="The stable's numbers.")
    canary: TrackEvidence = Field(description="The canary's numbers.")
    metric: base.Word = Field("", description="Metric that decided: ttft, router_ttft, itl, tpot, queue, e2e, router_duration or errors.")
    edge: base.Word = Field("", description="Limit that requests were counted over, with its unit: an objective, or the bucket edge above the stable's p99.")
    canary_share: base.Word = Field("", description="Share of the canary's requests over the edge, 0 to 1.")
    stable_share: base.Word = Field("", description="Share of the stable's requests over the edge, 0 to 1.")
    canary_bound: base.Word = Field("", description="Lower confidence bound of the canary's share, 0 to 1.")
    stable_bound: base.Word = Field("", description="Upper confidence bound of the stable's share, 0 to 1.")
    rule: base.Text = Field("", description="The rule that decided, in words.")


class Decision(base.StatusModel):
    """One decision of a rollout: a step ended, a verdict fell, a command was followed."""

    time: base.Time = Field(description="When it was made.")
    step: int = Field(description="Index of the step, from 0.")
    weight: int = Field(description="The canary's weight then. Percent.")
    verdict: Outcome = Field(description="What the judge said: Pass, Fail, Insufficient or Unavailable.")
    reason: base.Word = Field(description="Why, in one PascalCase word.")
    message: base.Text = Field(description="What was decided and why, in a sentence.")
    evidence: EvidenceRecord | None = Field(None, description="The numbers behind it.")


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
    in_place: bool = Field(False, description="Whether the stable is replaced in place, without a canary beside it.")
    verdict: Outcome | None = Field(None, description="The judge's last word: Pass, Fail, Insufficient or Unavailable.")
    reason: base.Word = Field("", description="Why the lane stands where it stands, in one PascalCase word.")
    message: base.Text = Field("", description="The same in a sentence with numbers.")
    result: Result | None = Field(None, description="How the rollout that is ending, or ended last, came out: Promoted, RolledBack or Superseded.")
    evidence: EvidenceRecord | None = Field(None, description="The numbers behind the verdict.")
    decisions: list[Decision] = Field([], max_length=10, description="Decisions of the running rollout, oldest first.")
    rejected: list[base.Word] = Field([], max_length=20, description="Hashes that failed and are not tried again until `fairlane retry`.")


class RolloutRecord(base.StatusModel):
    """One ended rollout."""

    lane: base.Word = Field(description="Name of the lane.")
    stable: base.Word = Field(description="Revision that served when it started.")
    canary: base.Word = Field(description="Revision that was on trial.")
    result: Result = Field(description="How it ended: Promoted, RolledBack or Superseded.")
    started_at: base.Time = Field(description="When it started.")
    ended_at: base.Time = Field(description="When it ended.")
    reason: base.Word = Field(description="Why it ended so, in one PascalCase word.")
    message: base.Text = Field(description="The same in a sentence with numbers.")
    canary_requests: int = Field(0, description="Requests the canary had.")
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
