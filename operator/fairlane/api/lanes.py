"""What users write of a lane: `LLMService.spec.lanes[]`. Others import these names from `spec`."""

from typing import Annotated, Any

import pydantic
from pydantic import Field

from . import base, rules

Flags = Annotated[dict[str, Any], Field(max_length=64)]


class Match(base.Model):
    """Which requests the lane takes. A lane named by the caller goes before the caller's identity, and that before the size of the prompt."""

    max_prompt_tokens: int | None = Field(None, ge=1, le=10_000_000, description=(
        "Longest prompt the lane takes, in tokens as the router estimates them (bytes of text / router.bytesPerToken). A request goes to the lane with the "
        "smallest "
        "maxPromptTokens that its prompt fits, and a longer prompt never comes in, by name or identity either. "
        "Must be below scheduler.maxModelLen. Default: unset, the lane takes no request by size and bounds none."
    ))
    callers: list[Annotated[str, pydantic.StringConstraints(pattern=r"^[!-~]+$", max_length=128)]] = Field(
        [], max_length=64, json_schema_extra={"x-kubernetes-list-type": "set"}, description=(
            "Values of the header router.callerHeader whose requests come to this lane, where the prompt fits. A caller may be in one lane only. Default: none."
        ))
    allow_named: bool = Field(True, description=(
        "Whether a client may choose this lane, by the header x-fairlane-lane or the path /lanes/<lane>/v1/…, where the prompt fits. Default: true."
    ))


class Scheduler(base.Model):
    """vLLM's scheduler flags, each unset by default: the profile decides, then engine.flags, and where neither does, vLLM itself. A change starts a rollout."""

    # No defaults in the schema: they would hide the profile.
    model_config = pydantic.ConfigDict(json_schema_extra=rules.extra(*rules.SCHEDULER))

    max_model_len: int | None = Field(None, ge=1, le=10_000_000, description=(
        "Longest sequence, prompt and answer together, in tokens (--max-model-len). Lower it to leave more memory for "
        "concurrent sequences. Default: the model's own limit."
    ))
    max_num_seqs: int | None = Field(None, ge=1, le=65_536, description=(
        "Most sequences that are computed together in one step (--max-num-seqs); more wait in the engine's queue. Unit: sequences. "
        "Lower shortens the time between tokens, higher raises throughput. Default: by profile, Interactive 64, LongContext 16, Throughput 256."
    ))
    max_num_batched_tokens: int | None = Field(None, ge=1, le=10_000_000, description=(
        "Most tokens of one step, prompt and answer together (--max-num-batched-tokens): the size of a prompt's chunk. Unit: tokens. At least maxNumSeqs. "
        "Lower keeps a "
        "long prompt from holding up the others, higher computes prompts faster. Default: by profile, Interactive 2048, LongContext 8192, Throughput 8192."
    ))
    chunked_prefill: bool | None = Field(None, description=(
        "Whether long prompts are computed in chunks between the steps of others (--enable-chunked-prefill). false needs maxNumBatchedTokens of at least "
        "maxModelLen. "
        "Default: vLLM's own, true for models that generate text."
    ))
    tensor_parallel_size: int | None = Field(None, ge=1, le=64, description=(
        "GPUs of one engine pod, over which the model is split (--tensor-parallel-size). Unit: GPUs. The pod asks for this many of engine.gpu.resource. "
        "Default: 1."
    ))
    gpu_memory_utilization: base.Fraction | None = Field(None, json_schema_extra=rules.extra(rules.UTILIZATION), description=(
        "Share of the GPU's total memory that vLLM may take (--gpu-memory-utilization), in (0, 1] as a string: \"0.90\". "
        "Default: by profile, Interactive 0.9, LongContext 0.92, Throughput 0.92."
    ))


class Admission(base.Model):
    """The lane's bounds, kept by the router: a request over them is refused at once, it waits nowhere. Apply at once, without a rollout."""

    max_in_flight: int | None = Field(None, ge=1, le=1_000_000, description=(
        "Most requests that the lane's engines have at one time, over all router pods and both tracks; more get 429 with Retry-After. Unit: requests. "
        "With more than one router replica at least twice router.replicas, which share it equally. Default: no bound."
    ))
    max_output_tokens: int | None = Field(None, ge=1, le=10_000_000, description=(
        "Most output tokens that a request may ask for (max_tokens, max_completion_tokens or max_output_tokens); more is refused with 400. Unit: tokens. "
        "Default: no bound."
    ))


class Timeouts(base.Model):
    """Limits of time for a request, kept by the router. Apply at once, without a rollout."""

    model_config = pydantic.ConfigDict(json_schema_extra=rules.extra(*rules.TIMEOUTS))

    idle: base.Duration = Field("30s", description=(
        "Longest wait of a streaming request for its first token and then between two tokens; then it ends. Duration. At most total. Default: 30s."
    ))
    total: base.Duration = Field("10m", description="Longest life of a request, from its last byte in to its last byte out. Duration. Default: 10m.")
    non_streaming: base.Duration = Field("2m", description=(
        "Longest wait for the answer to a request that does not stream, all of which comes at its end. Duration. At most total. Default: 2m."
    ))
    drain: base.Duration = Field("2m", description=(
        "How long the requests of a revision that lost its traffic may go on before its pods are deleted; a pod that ends has the time of its profile for "
        "what it runs "
        "(Interactive 60 s, LongContext 180 s, Throughput 300 s). Duration. Default: 2m."
    ))


class Objectives(base.Model):
    """What the lane promises: the absolute limits of the verdict. Apply at once, without a rollout."""

    ttft_p99: base.Duration | None = Field(None, description=(
        "Time to the first token that 99 of 100 requests stay below, as the engine measures it. Duration. A canary that breaks it while the stable keeps it "
        "is rolled back. "
        "Default: none, the canary is compared with the stable alone."
    ))
    itl_p99: base.Duration | None = Field(None, description=(
        "Time between two tokens that 99 of 100 stay below, as the engine measures it. Duration. Default: none, the canary is compared with the stable alone."
    ))
    error_rate: base.Fraction | None = Field(None, description=(
        "Share of tries that may fail (5xx, reset, refused), retries counted, from 0 to 1 as a string: \"0.01\". Default: none, the canary is compared with "
        "the stable alone."
    ))


class Profile(base.Enum):
    """Named sets of default flags. A shipped profile's values never change; a better one gets a new name."""

    INTERACTIVE = "Interactive"
    LONG_CONTEXT = "LongContext"
    THROUGHPUT = "Throughput"


class Lane(base.Model):
    """One class of requests with its own engine pool, flags, limits and objectives."""

    model_config = pydantic.ConfigDict(json_schema_extra=rules.extra(*rules.LANE))

    name: Annotated[str, pydantic.StringConstraints(pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$", max_length=20)] = Field(
        json_schema_extra=rules.extra(rules.LANE_NAME), description=(
            "Name of the lane, unique in the service: a-z, 0-9 and -, starts with a letter, at most 20 characters. Required."
        )
    )
    profile: Profile = Field(description=(
        "Named set of default flags: Interactive (chat: short time to the first token), LongContext (long documents), Throughput (batch). "
        "A profile's values never change; a better one gets a new name. Required."
    ))
    replicas: int = Field(ge=1, le=1000, description=(
        "Engine pods of the lane, the canary's not counted. Unit: pods. Applies at once, without a rollout. Required."
    ))
    match: Match = Field(Match(), description=(
        "Which requests the lane takes. Order: a lane named by the caller, the caller's identity, the smallest maxPromptTokens that the prompt fits, else "
        "router.defaultLane."
    ))
    scheduler: Scheduler = Field(Scheduler(), description=(
        "vLLM's scheduler flags. They win over the profile and engine.flags, and lose to flags of the lane. A change starts a rollout."
    ))
    flags: Flags = Field({}, description=(
        "Any other vLLM flags for this lane, named without the leading dashes: {\"max-num-queued-reqs\": 32}. The strongest source. A flag that "
        "engine.version "
        "does not know is Stalled, and nothing changes. A change starts a rollout. Default: none."
    ))
    admission: Admission = Field(Admission(), description=(
        "The lane's bounds, kept by the router; a request over them is refused at once. Apply at once, without a rollout."
    ))
    timeouts: Timeouts = Field(Timeouts(), description="Limits of time for a request, kept by the router. Apply at once, without a rollout.")
    objectives: Objectives = Field(Objectives(), description="What the lane promises: the absolute limits of the verdict. Apply at once, without a rollout.")
