"""What users write: `LLMService.spec`."""

from typing import Annotated, Any

import pydantic
from pydantic import Field

from . import base

Flags = Annotated[dict[str, Any], Field(max_length=64)]


class SecretKeyRef(base.Model):
    """A key of a Secret in the service's namespace."""

    name: base.Name
    key: str = Field("token", max_length=253)


class CacheVolume(base.Model):
    """Where weights from the hub are kept."""

    claim_name: base.Name | None = None
    size_limit: str | None = Field(None, max_length=32)


class ModelSource(base.Model):
    """The model."""

    uri: str = Field(max_length=512)
    name: str = Field("default", max_length=128)
    token_secret_ref: SecretKeyRef | None = None
    cache: CacheVolume | None = None


class Gpu(base.Model):
    """The accelerator of an engine pod."""

    resource: str = Field("nvidia.com/gpu", max_length=128)
    product: str | None = Field(None, max_length=63)
    memory: str | None = Field(None, max_length=32)


class Engine(base.Model):
    """The vLLM that every lane runs."""

    image: str = Field(max_length=512)
    version: str | None = Field(None, max_length=32)
    gpu: Gpu = Gpu()
    flags: Flags = {}
    pod: dict[str, Any] = {}


class Match(base.Model):
    """Which requests a lane takes."""

    max_prompt_tokens: int | None = Field(None, ge=1, le=10_000_000)
    callers: list[Annotated[str, Field(max_length=128)]] = Field([], max_length=64)
    allow_named: bool = True


class Scheduler(base.Model):
    """vLLM's scheduler flags. No defaults here: they would hide the profile."""

    max_model_len: int | None = Field(None, ge=1, le=10_000_000)
    max_num_seqs: int | None = Field(None, ge=1, le=65_536)
    max_num_batched_tokens: int | None = Field(None, ge=1, le=10_000_000)
    chunked_prefill: bool | None = None
    tensor_parallel_size: int | None = Field(None, ge=1, le=64)
    gpu_memory_utilization: base.Fraction | None = None


class Admission(base.Model):
    """The lane's bounds, enforced at the router."""

    max_in_flight: int | None = Field(None, ge=1, le=1_000_000)
    max_output_tokens: int | None = Field(None, ge=1, le=10_000_000)


class Timeouts(base.Model):
    """Limits of time for a request."""

    idle: base.Duration = "30s"
    total: base.Duration = "10m"
    non_streaming: base.Duration = "2m"
    drain: base.Duration = "2m"


class Objectives(base.Model):
    """What the lane promises; absolute limits of the verdict."""

    ttft_p99: base.Duration | None = None
    itl_p99: base.Duration | None = None
    error_rate: base.Fraction | None = None


class Profile(base.Enum):
    """Named sets of default flags."""

    INTERACTIVE = "Interactive"
    LONG_CONTEXT = "LongContext"
    THROUGHPUT = "Throughput"


class Lane(base.Model):
    """One class of requests with its own engine pool."""

    name: Annotated[str, pydantic.StringConstraints(pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$", max_length=20)]
    profile: Profile
    replicas: int = Field(ge=1, le=1000)
    match: Match = Match()
    scheduler: Scheduler = Scheduler()
    flags: Flags = {}
    admission: Admission = Admission()
    timeouts: Timeouts = Timeouts()
    objectives: Objectives = Objectives()


class SecretRef(base.Model):
    """A Secret in the service's namespace."""

    name: base.Name


class Tls(base.Model):
    """A certificate for the router."""

    secret_ref: SecretRef


class ServiceType(base.Enum):
    """How the router's Service is reached."""

    CLUSTER_IP = "ClusterIP"
    NODE_PORT = "NodePort"
    LOAD_BALANCER = "LoadBalancer"


class RouterService(base.Model):
    """The router's Service."""

    type: ServiceType = ServiceType.CLUSTER_IP


class Router(base.Model):
    """The one address in front of all lanes."""

    replicas: int = Field(2, ge=1, le=100)
    default_lane: str = Field(max_length=20)
    caller_header: str = Field("x-caller", max_length=64)
    bytes_per_token: int = Field(4, ge=1, le=16)
    image: str | None = Field(None, max_length=512)
    service: RouterService = RouterService()
    tls: Tls | None = None
    pod: dict[str, Any] = {}


class Step(base.Model):
    """A weight held for a time."""

    weight: int = Field(ge=1, le=100)
    duration: base.Duration


class OnInsufficient(base.Enum):
    """What a step that ends without a decision does."""

    ADVANCE = "Advance"
    HOLD = "Hold"
    ROLLBACK = "Rollback"


class Analysis(base.Model):
    """How the canary is judged."""

    interval: base.Duration = "10s"
    min_requests: int = Field(50, ge=1, le=1_000_000)
    tolerance: base.Fraction = "0.01"


class Warmup(base.Model):
    """The first requests of a canary, whose latencies count for nothing."""

    requests: int = Field(20, ge=0, le=100_000)
    duration: base.Duration = "60s"


class Rollout(base.Model):
    """How a scheduler change reaches everyone."""

    steps: list[Step] = Field([Step(weight=10, duration="30m"), Step(weight=50, duration="10m")], min_length=1, max_length=10)
    analysis: Analysis = Analysis()
    warmup: Warmup = Warmup()
    on_insufficient: OnInsufficient = OnInsufficient.ADVANCE
    load_deadline: base.Duration = "30m"
    fail_safe_after: base.Duration = "60s"
    stable_down_after: base.Duration = "2m"


class Prometheus(base.Model):
    """Where the numbers come from."""

    url: str | None = Field(None, max_length=512)
    token_secret_ref: SecretKeyRef | None = None
    ca_secret_ref: SecretKeyRef | None = None
    headers: Annotated[dict[str, str], Field(max_length=16)] = {}
    labels: Annotated[dict[str, str], Field(max_length=16)] = {}


class Metrics(base.Model):
    """The metrics store."""

    prometheus: Prometheus = Prometheus()


class LLMServiceSpec(base.Model):
    """A model, its lanes, its router."""

    model: ModelSource
    engine: Engine
    lanes: list[Lane] = Field(min_length=1, max_length=16)
    router: Router
    rollout: Rollout = Rollout()
    metrics: Metrics = Metrics()
