"""Everything one pass sees, as one frozen value. The shell fills it, `plan` decides on it, tests write it by hand."""

import dataclasses
import datetime
from collections.abc import Mapping

from ..api import spec as specs
from ..api import status as statuses
from . import revisions as stored
from . import service
from . import traffic as measured
from .engine import fitness
from .judge import types as judging
from .load import document as sending
from .routing import document as routing


@dataclasses.dataclass(frozen=True)
class Container:
    """State of a pod's main container."""

    ready: bool = False
    restarts: int = 0
    waiting_reason: str = ""          # CrashLoopBackOff, ImagePullBackOff, ErrImagePull, CreateContainerConfigError, …
    waiting_message: str = ""
    terminated_reason: str = ""       # of the current or the last termination: Error, OOMKilled, Completed
    terminated_message: str = ""
    exit_code: int | None = None
    log: str = ""                     # its end, where the engine failed to load or is late: more than terminated_message has


@dataclasses.dataclass(frozen=True)
class Pod:
    """An engine pod."""

    name: str
    lane: str
    revision: str
    created: datetime.datetime
    phase: str = "Pending"
    ready: bool = False
    terminating: bool = False
    scheduled_at: datetime.datetime | None = None     # PodScheduled became True
    unschedulable: str = ""                           # the scheduler's own words
    container: Container = Container()


@dataclasses.dataclass(frozen=True)
class ModelReader:
    """A pod that reads the files of the model on its claim."""

    name: str
    created: datetime.datetime
    phase: str = "Pending"
    terminating: bool = False
    unschedulable: str = ""                           # the scheduler's own words
    reason: str = ""                                  # of the pod's end, where Kubernetes ended it: DeadlineExceeded, Evicted
    message: str = ""
    container: Container = Container()


@dataclasses.dataclass(frozen=True)
class EngineDeployment:
    """A revision's Deployment."""

    lane: str
    revision: str
    replicas: int                     # desired, as stored
    ready: int = 0
    terminating: bool = False


@dataclasses.dataclass(frozen=True)
class RouterPod:
    """A router pod and what its agent acknowledged; terminating ones count until they are gone."""

    name: str
    ready: bool = False
    terminating: bool = False
    state: routing.RouterState | None = None
    created: datetime.datetime | None = None


@dataclasses.dataclass(frozen=True)
class Child:
    """An object of the service that exists, as needed to decide on its deletion."""

    api_version: str
    kind: str
    name: str
    terminating: bool = False


@dataclasses.dataclass(frozen=True)
class Command:
    """What the CLI asked for through the annotation."""

    command: str                      # pause, resume, promote, abort, retry, trial
    lane: str
    revision: str
    id: str


@dataclasses.dataclass(frozen=True)
class Settings:
    """What the operator's installation decides."""

    router_image: str = "docker.io/envoyproxy/envoy:v1.40.0"
    agent_image: str = "fairlane:latest"
    prometheus_url: str = ""
    monitoring_crds: frozenset[str] = frozenset()      # of {"PodMonitor", "PrometheusRule"}: those the cluster has


@dataclasses.dataclass(frozen=True)
class Observed:
    """One service at one moment."""

    name: str
    namespace: str
    uid: str
    generation: int
    now: datetime.datetime
    spec: specs.LLMServiceSpec | None                  # None: it does not validate; `spec_error` says why
    spec_error: str = ""
    status: statuses.LLMServiceStatus = statuses.LLMServiceStatus()
    command: Command | None = None
    revisions: tuple[stored.Revision, ...] = ()
    deployments: tuple[EngineDeployment, ...] = ()
    pods: tuple[Pod, ...] = ()
    model_readers: tuple[ModelReader, ...] = ()
    router_pods: tuple[RouterPod, ...] = ()
    router_ready: int = 0
    routes: routing.RouteDocument | None = None       # as stored in the ConfigMap
    children: tuple[Child, ...] = ()
    evidence: Mapping[str, judging.Evidence | judging.Unavailable] = dataclasses.field(default_factory=dict)   # by lane under trial; none: not asked now
    rates: Mapping[str, float] = dataclasses.field(default_factory=dict)   # requests/s in the last hour by lane, where a canary loads
    loads: Mapping[str, sending.Load] = dataclasses.field(default_factory=dict)          # by lane: what the senders of synthetic load were told last
    traffic: Mapping[str, measured.Traffic] = dataclasses.field(default_factory=dict)   # by lane, where it may get synthetic load
    model: fitness.Model | None = None                # what the model's files say; None: nothing depends on it now
    gpu_products: frozenset[str] = frozenset()         # what the nodes have of spec.engine.gpu.resource, where the spec does not say
    caches: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)   # by revision that has just loaded: labels of vllm:cache_config_info
    heartbeat_renewed: datetime.datetime | None = None
    settings: Settings = Settings()

    @property
    def ref(self) -> service.ServiceRef:
        """The service as the builders need it."""
        return service.ServiceRef(name=self.name, namespace=self.namespace, uid=self.uid)
