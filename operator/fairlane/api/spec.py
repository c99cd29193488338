"""What users write: `LLMService.spec`."""

from typing import Annotated, Any

import pydantic
from pydantic import Field

from . import base, rules
from .lanes import Admission, Flags, Lane, Match, Objectives, Profile, Scheduler, Timeouts
from .rollouts import Analysis, Baseline, OnInsufficient, Preflight, Rollout, Step, SyntheticLoad, Warmup

# One address for all parts of the spec, wherever they are written.
__all__ = [
    "Admission", "Analysis", "Baseline", "CaKeyRef", "CacheVolume", "ConfigMapRef", "Engine", "Flags", "Gpu", "LLMServiceSpec", "Lane", "Match", "Metrics",
    "ModelSource", "Objectives", "OnInsufficient", "Preflight", "Profile", "Prometheus", "Rollout", "Router", "RouterService", "Scheduler",
    "SecretKeyRef", "SecretRef", "ServiceType", "Step", "SyntheticLoad", "Timeouts", "Tls", "Warmup",
]

Image = Annotated[str, pydantic.StringConstraints(pattern=r"^\S+$", max_length=512)]

Headers = Annotated[dict[str, Annotated[str, Field(max_length=1024)]], Field(max_length=16, json_schema_extra=rules.extra(rules.HEADER_NAMES))]
Labels = Annotated[dict[str, Annotated[str, Field(max_length=256)]], Field(max_length=16, json_schema_extra=rules.extra(rules.LABEL_NAMES))]


class SecretKeyRef(base.Model):
    """A key of a Secret in the service's namespace."""

    name: base.Name = Field(description="Name of the Secret, in the service's namespace. Required.")
    key: str = Field("token", min_length=1, max_length=253, description="Key in the Secret. Default: token.")


class CaKeyRef(SecretKeyRef):
    """A certificate authority in a Secret in the service's namespace."""

    key: str = Field("ca.crt", min_length=1, max_length=253, description="Key in the Secret. Default: ca.crt.")


class CacheVolume(base.Model):
    """Where weights from the hub are kept."""

    model_config = pydantic.ConfigDict(json_schema_extra=rules.extra(rules.CACHE))

    claim_name: base.Name | None = Field(None, description=(
        "Name of a PersistentVolumeClaim that all engine pods can mount; weights are downloaded once. Default: unset, an emptyDir per pod."
    ))
    size_limit: base.Quantity | None = Field(None, description=(
        "Limit of the emptyDir of each pod. Bytes, as 40Gi. Not together with claimName. Default: no limit."
    ))


class ConfigMapRef(base.Model):
    """A ConfigMap in the service's namespace."""

    name: base.Name = Field(description="Name of the ConfigMap, in the service's namespace. Required.")


class ModelSource(base.Model):
    """The model that every lane serves."""

    model_config = pydantic.ConfigDict(json_schema_extra=rules.extra(rules.MODEL))

    uri: str = Field(max_length=512, json_schema_extra=rules.extra(rules.MODEL_URI), description=(
        "Where the weights are: hf://owner/name (a hub), pvc://claim/path (a PersistentVolumeClaim) or file:///path (in the image or a volume of "
        "engine.pod). A revision of the hub goes into engine.flags: {\"revision\": \"main\"}. Required."
    ))
    name: Annotated[str, pydantic.StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/-]*$", max_length=128)] = Field(
        "default", description="What clients send as \"model\". Default: default."
    )
    token_secret_ref: SecretKeyRef | None = Field(None, description="Key of a Secret with the hub's token, for hf:// models that need one. Default: none.")
    cache: CacheVolume | None = Field(None, description="Where weights of hf:// models are kept. Default: an emptyDir per pod.")
    config_map_ref: ConfigMapRef | None = Field(None, description=(
        "ConfigMap with the model's config.json, and model.safetensors.index.json or weightBytes (the bytes of all weights), from which rollout.preflight "
        "computes the memory. Needed where it cannot be read otherwise: file:// models, no way to the hub. Starts no rollout. Default: hf:// models are asked "
        "for at the hub, pvc:// models are read by a small pod before a revision starts, of file:// models nothing is known."
    ))


class Gpu(base.Model):
    """The accelerator of an engine pod."""

    resource: Annotated[str, pydantic.StringConstraints(pattern=r"^([a-z0-9.-]+/)?[A-Za-z0-9._-]+$", max_length=128)] = Field("nvidia.com/gpu", description=(
        "Extended resource that an engine pod asks for, times the tensor parallel size. Default: nvidia.com/gpu."
    ))
    product: Annotated[str, pydantic.StringConstraints(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$", max_length=63)] | None = Field(None, description=(
        "Product the node must have, as its label nvidia.com/gpu.product says, for example NVIDIA-L4. Default: any."
    ))
    memory: base.Quantity | None = Field(None, description="Memory of one GPU, as 24Gi. Says which of vLLM's defaults hold. Bytes. Default: unknown.")


class Engine(base.Model):
    """The vLLM that every lane runs."""

    model_config = pydantic.ConfigDict(json_schema_extra=rules.extra(rules.ENGINE_VERSION))

    image: Image = Field(description="Image with vLLM, for example vllm/vllm-openai:v0.32.0. A change starts a rollout in every lane. Required.")
    version: Annotated[str, pydantic.StringConstraints(pattern=r"^v?[0-9]+\.[0-9]+[A-Za-z0-9.+_-]*$", max_length=32)] | None = Field(None, description=(
        "Version of vLLM in the image, 0.8 to 0.33; it says which flags exist. Default: what the image's tag says; required where the tag says none."
    ))
    gpu: Gpu = Field(Gpu(), description="The accelerator of an engine pod.")
    flags: Flags = Field({}, description=(
        "Any vLLM flags for every lane, named without the leading dashes: {\"enable-prefix-caching\": true}. They win over the profile and lose to the "
        "lane's scheduler and "
        "flags. A flag that engine.version does not know is Stalled, and nothing changes. Default: none."
    ))
    pod: dict[str, Any] = Field({}, description=(
        "PodTemplateSpec fragment, merged strategically into the engine pods (tolerations, volumes, env, resources; the container is named engine). "
        "It may not change what identifies the lane. A change starts a rollout. Default: none."
    ))


class SecretRef(base.Model):
    """A Secret in the service's namespace."""

    name: base.Name = Field(description="Name of the Secret, in the service's namespace. Required.")


class Tls(base.Model):
    """A certificate for the router."""

    secret_ref: SecretRef = Field(description="Secret of type kubernetes.io/tls with the certificate and key the router serves. Required.")


class ServiceType(base.Enum):
    """How the router's Service is reached."""

    CLUSTER_IP = "ClusterIP"
    NODE_PORT = "NodePort"
    LOAD_BALANCER = "LoadBalancer"


class RouterService(base.Model):
    """The router's Service."""

    type: ServiceType = Field(ServiceType.CLUSTER_IP, description="Type of the router's Service: ClusterIP, NodePort or LoadBalancer. Default: ClusterIP.")


class Router(base.Model):
    """The one address in front of all lanes."""

    replicas: int = Field(2, ge=1, le=100, description=(
        "Router pods. Unit: pods. Each takes an equal share of every lane's maxInFlight; with one, the bound is exact from both sides. Default: 2."
    ))
    default_lane: str = Field(min_length=1, max_length=20, description=(
        "Lane of every request that nothing else places, and of what cannot be read for certain. It must take the longest prompts: no other has a larger "
        "maxPromptTokens. Required."
    ))
    caller_header: Annotated[str, pydantic.StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=64)] = Field(
        "x-caller", json_schema_extra=rules.extra(rules.CALLER_HEADER), description=(
            "Request header with the caller's identity, matched against match.callers. Only a gateway that is trusted may set it. Default: x-caller."
        ))
    bytes_per_token: int = Field(4, ge=1, le=16, description=(
        "How many bytes of text the router counts as one token when it estimates a prompt's size. Unit: bytes. Lower sends more prompts to longer lanes. "
        "Default: 4."
    ))
    image: Image | None = Field(None, description="Image with Envoy. Default: the operator's setting.")
    service: RouterService = Field(RouterService(), description="The router's Service, named <service>-router.")
    tls: Tls | None = Field(None, description="Certificate the router serves. Default: none, plain HTTP.")
    pod: dict[str, Any] = Field({}, description=(
        "PodTemplateSpec fragment, merged strategically into the router pods (tolerations, resources, affinity). Default: none."
    ))


class Prometheus(base.Model):
    """The Prometheus that scrapes engines and routers; its series need the labels namespace and pod, nothing else."""

    url: str | None = Field(None, max_length=512, json_schema_extra=rules.extra(rules.PROMETHEUS_URL), description=(
        "Address of Prometheus' HTTP API, http:// or https://. Default: the operator's setting. Without both, no canary is judged and MetricsAvailable is "
        "False."
    ))
    token_secret_ref: SecretKeyRef | None = Field(None, description="Key of a Secret with a bearer token. Default: none.")
    ca_secret_ref: CaKeyRef | None = Field(None, description="Key of a Secret with the certificate authority of an https:// address. Default: the system's.")
    headers: Headers = Field({}, description="Headers sent with every query, for example X-Scope-OrgID. Default: none.")
    labels: Labels = Field({}, description="Matchers added to every query, label to value, for example {\"cluster\": \"eu-1\"}. Default: none.")


class Metrics(base.Model):
    """The metrics store."""

    prometheus: Prometheus = Field(Prometheus(), description="The Prometheus that scrapes engines and routers.")


class LLMServiceSpec(base.Model):
    """A model, its lanes, its router."""

    model_config = pydantic.ConfigDict(json_schema_extra=rules.extra(*rules.SPEC))

    model: ModelSource = Field(description="The model that every lane serves. A change starts a rollout in every lane. Required.")
    engine: Engine = Field(description="The vLLM that every lane runs. Required.")
    lanes: list[Lane] = Field(
        min_length=1, max_length=16, json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        description="Classes of requests, each with its own engine pool. 1 to 16. Required.",
    )
    router: Router = Field(description="The one address in front of all lanes. Required.")
    rollout: Rollout = Field(Rollout(), description="How a change of an engine's configuration reaches everyone.")
    metrics: Metrics = Field(Metrics(), description="Where the numbers behind verdicts come from.")
