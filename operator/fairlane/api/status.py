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

    type: str
    status: str
    reason: str
    message: str = ""
    observed_generation: int = 0
    last_transition_time: base.Time


class TrackEvidence(base.StatusModel):
    """One side's numbers in a window."""

    revision: str
    requests: int = 0
    errors: int = 0
    replicas: int = 0
    ttft_p50_ms: int | None = None
    ttft_p99_ms: int | None = None
    itl_p99_ms: int | None = None
    queue_p99_ms: int | None = None
    e2e_p99_ms: int | None = None


class EvidenceRecord(base.StatusModel):
    """The numbers behind a verdict."""

    since: base.Time
    until: base.Time
    stable: TrackEvidence
    canary: TrackEvidence
    metric: str = ""
    edge: str = ""
    canary_share: str = ""
    stable_share: str = ""
    canary_bound: str = ""
    stable_bound: str = ""
    rule: str = ""


class Decision(base.StatusModel):
    """One decision of a rollout: a step ended, a verdict fell, a command was followed."""

    time: base.Time
    step: int
    weight: int
    verdict: Outcome
    reason: str
    message: str
    evidence: EvidenceRecord | None = None


class LaneStatus(base.StatusModel):
    """One lane: what serves, what is on trial, and why."""

    name: str
    phase: Phase = Phase.IDLE
    stable: str = ""
    canary: str = ""
    desired_hash: str = ""
    replicas: int = 0
    ready_replicas: int = 0
    canary_replicas: int = 0
    canary_ready_replicas: int = 0
    step: int = 0
    weight: int = 0
    started_at: base.Time | None = None
    phase_since: base.Time | None = None
    step_since: base.Time | None = None
    stable_down_since: base.Time | None = None
    paused: bool = False
    in_place: bool = False
    verdict: Outcome | None = None
    reason: str = ""
    message: str = ""
    result: Result | None = None
    evidence: EvidenceRecord | None = None
    decisions: list[Decision] = Field([], max_length=10)
    rejected: list[str] = Field([], max_length=20)


class RolloutRecord(base.StatusModel):
    """One ended rollout."""

    lane: str
    stable: str
    canary: str
    result: Result
    started_at: base.Time
    ended_at: base.Time
    reason: str
    message: str
    canary_requests: int = 0
    decisions: list[Decision] = Field([], max_length=10)


class RouterStatus(base.StatusModel):
    """The router pods."""

    replicas: int = 0
    ready_replicas: int = 0
    route_version: str = ""
    acknowledged: int = 0


class LLMServiceStatus(base.StatusModel):
    """The whole status."""

    observed_generation: int = 0
    conditions: list[Condition] = []
    lanes: list[LaneStatus] = []
    router: RouterStatus = RouterStatus()
    history: list[RolloutRecord] = Field([], max_length=10)
    handled_commands: list[str] = Field([], max_length=20)
    lanes_ready: str = ""
    rollout: str = ""
