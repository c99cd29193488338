"""Objects that an API server takes, and such that it refuses, with what its message must say."""

import copy
from typing import Any

GOOD: dict[str, Any] = {
    "apiVersion": "fairlane.dev/v1alpha1", "kind": "LLMService", "metadata": {"name": "assistant", "namespace": "default"},
    "spec": {
        "model": {"uri": "hf://Qwen/Qwen2.5-7B-Instruct"},
        "engine": {"image": "vllm/vllm-openai:v0.32.0"},
        "lanes": [
            {
                "name": "chat", "profile": "Interactive", "replicas": 2, "match": {"maxPromptTokens": 2048, "callers": ["web", "mobile"]},
                "scheduler": {"maxModelLen": 8192, "maxNumSeqs": 16, "maxNumBatchedTokens": 2048, "gpuMemoryUtilization": "0.90"},
                "admission": {"maxInFlight": 64, "maxOutputTokens": 1024}, "objectives": {"ttftP99": "2s", "errorRate": "0.01"},
            },
            {"name": "documents", "profile": "LongContext", "replicas": 1, "match": {"callers": ["reader"]}, "scheduler": {"maxModelLen": 32768}},
        ],
        "router": {"replicas": 2, "defaultLane": "documents"},
        "metrics": {"prometheus": {"url": "http://prometheus.monitoring:9090"}},
    },
}


def changed(**values: Any) -> dict[str, Any]:
    """Return the good object with values set at paths written as `spec__lanes__0__replicas`; None removes."""
    manifest = copy.deepcopy(GOOD)
    for path, value in values.items():
        *way, last = (int(part) if part.isdigit() else part for part in path.split("__"))
        place: Any = manifest
        for part in way:
            place = place.setdefault(part, {}) if isinstance(place, dict) else place[part]
        if value is None:
            del place[last]
        else:
            place[last] = value
    return manifest


BATCH = {"name": "batch", "profile": "Throughput", "replicas": 1}
STEPS = "spec__rollout__steps"

BAD = [
    ("a required field is missing", {"spec__router__defaultLane": None}, ["spec.router.defaultLane", "Required"]),
    ("a field is misspelt", {"spec__lanes__0__replica": 2}, ['unknown field "spec.lanes[0].replica"']),
    ("an unknown profile", {"spec__lanes__0__profile": "Fast"}, ["spec.lanes[0].profile", '"Fast"', '"Interactive"']),
    ("no lanes", {"spec__lanes": []}, ["spec.lanes", "should have at least 1 items"]),
    ("two lanes of one name", {"spec__lanes__1__name": "chat"}, ["spec.lanes[1]", "Duplicate value", "chat"]),
    ("a lane's name with capitals", {"spec__lanes__0__name": "Chat"}, ["spec.lanes[0].name", '"Chat"']),
    ("a lane's name that is too long", {"spec__lanes__0__name": "c" * 21}, ["spec.lanes[0].name", "20"]),
    ("a lane's name that the service needs itself", {"spec__lanes__0__name": "router"}, ["spec.lanes[0].name", "cannot be named router", "choose another"]),
    ("no replicas", {"spec__lanes__0__replicas": 0}, ["spec.lanes[0].replicas", "greater than or equal to 1"]),
    ("replicas as text", {"spec__lanes__0__replicas": "two"}, ["spec.lanes[0].replicas", "must be of type integer"]),
    ("a service's name that is too long", {"metadata__name": "a" * 39}, ["metadata.name", "38"]),
    ("a service's name with a dot", {"metadata__name": "as.sistant"}, ["metadata.name as.sistant must start with a letter", "as.sistant-router"]),
    ("a model of an unknown scheme", {"spec__model__uri": "s3://bucket/model"}, ["spec.model.uri", "s3://bucket/model is none of hf://owner/name"]),
    ("a model with a path below its name", {"spec__model__uri": "hf://Qwen/Qwen2.5-7B-Instruct/main"}, ["spec.model.uri", "is none of hf://owner/name"]),
    ("a cache for a model that is no hub's", {"spec__model": {"uri": "file:///models/qwen", "cache": {"sizeLimit": "40Gi"}}},
     ["spec.model.cache", "leave cache out"]),
    ("an image that does not say its version", {"spec__engine__image": "vllm/vllm-openai:latest"}, ["spec.engine", "vllm-openai:latest", "set engine.version"]),
    ("a version that is none", {"spec__engine__version": "newest"}, ["spec.engine.version", '"newest"']),
    ("memory that is no amount", {"spec__engine__gpu__memory": "24 gigabytes"}, ["spec.engine.gpu.memory", '"24 gigabytes"']),
    ("a claim and a size limit", {"spec__model__cache": {"claimName": "weights", "sizeLimit": "40Gi"}}, ["spec.model.cache.sizeLimit", "not both"]),
    ("fewer batched tokens than sequences", {"spec__lanes__0__scheduler__maxNumBatchedTokens": 8},
     ["spec.lanes[0].scheduler.maxNumBatchedTokens", "8 must be at least maxNumSeqs 16", "raise the one or lower the other"]),
    ("no chunks and a step shorter than a prompt", {"spec__lanes__0__scheduler__chunkedPrefill": False},
     ["spec.lanes[0].scheduler.chunkedPrefill", "maxNumBatchedTokens 2048 to be at least maxModelLen 8192"]),
    ("prompts as long as the model", {"spec__lanes__0__match__maxPromptTokens": 8192},
     ["spec.lanes[0].match.maxPromptTokens", "8192 of lane chat must be below scheduler.maxModelLen 8192"]),
    ("answers as long as the model", {"spec__lanes__0__admission__maxOutputTokens": 8192},
     ["spec.lanes[0].admission.maxOutputTokens", "prompt and answer share it"]),
    ("no memory for the engine", {"spec__lanes__0__scheduler__gpuMemoryUtilization": "0"}, ["spec.lanes[0].scheduler.gpuMemoryUtilization", "(0, 1], not 0"]),
    ("more memory than there is", {"spec__lanes__0__scheduler__gpuMemoryUtilization": "1.1"}, ["spec.lanes[0].scheduler.gpuMemoryUtilization", '"1.1"']),
    ("an error rate over 1", {"spec__lanes__0__objectives__errorRate": "5"}, ["spec.lanes[0].objectives.errorRate", '"5"']),
    ("a duration without a unit", {"spec__lanes__0__objectives__ttftP99": "2"}, ["spec.lanes[0].objectives.ttftP99", '"2"']),
    ("a duration of nothing", {"spec__lanes__0__timeouts__drain": "0s"}, ["spec.lanes[0].timeouts.drain", "longer than 0, not 0s", "30s, 10m or 1h30m"]),
    ("an idle limit over the whole", {"spec__lanes__0__timeouts": {"idle": "20m"}}, ["spec.lanes[0].timeouts.idle", "idle 20m is longer than total 10m"]),
    ("an answer that may take longer than its request", {"spec__lanes__0__timeouts": {"total": "1m"}},
     ["spec.lanes[0].timeouts.nonStreaming", "nonStreaming 2m is longer than total 1m"]),
    ("a bound that two routers cannot share", {"spec__lanes__0__admission__maxInFlight": 3},
     ["spec.lanes", "maxInFlight", '["chat"]', "at least 4, twice router.replicas"]),
    ("a default lane that is none", {"spec__router__defaultLane": "docs"}, ["spec.router.defaultLane", "no lane is named docs", '["chat", "documents"]']),
    ("a default lane that is shorter than another", {"spec__router__defaultLane": "chat", "spec__lanes__1__match__maxPromptTokens": 30000},
     ["spec.router.defaultLane", 'defaultLane chat has a smaller match.maxPromptTokens than ["documents"]']),
    ("a caller in two lanes", {"spec__lanes__1__match__callers": ["reader", "web"]}, ["spec.lanes", '["chat", "documents"] share a caller']),
    ("a caller twice in one lane", {"spec__lanes__1__match__callers": ["reader", "reader"]}, ["spec.lanes[1].match.callers[1]", "Duplicate"]),
    ("a lane that no request can reach", {"spec__lanes": [*GOOD["spec"]["lanes"], BATCH | {"match": {"allowNamed": False}}]},
     ["spec.lanes", 'reach ["batch"]', "callers"]),
    ("a caller header that is no header", {"spec__router__callerHeader": "x caller"}, ["spec.router.callerHeader", '"x caller"']),
    ("a caller header that Fairlane sets", {"spec__router__callerHeader": "X-Fairlane-Lane"}, ["spec.router.callerHeader", "X-Fairlane-Lane is taken"]),
    ("weights that fall", {STEPS: [{"weight": 50, "duration": "1m"}, {"weight": 10, "duration": "1m"}]},
     ["spec.rollout.steps", "must rise from step to step, not [50, 10]"]),
    ("weights that stay", {STEPS: [{"weight": 10, "duration": "1m"}, {"weight": 10, "duration": "1m"}]}, ["spec.rollout.steps", "not [10, 10]"]),
    ("a weight of nothing", {STEPS: [{"weight": 0, "duration": "1m"}]}, ["spec.rollout.steps[0].weight", "greater than or equal to 1"]),
    ("a weight over the whole", {STEPS: [{"weight": 101, "duration": "1m"}]}, ["spec.rollout.steps[0].weight", "less than or equal to 100"]),
    ("a step without a duration", {STEPS: [{"weight": 10}]}, ["spec.rollout.steps[0].duration", "Required"]),
    ("a step that nobody looks at", {STEPS: [{"weight": 10, "duration": "5s"}]}, ["spec.rollout.steps", '["5s"] must all be at least analysis.interval 10s']),
    ("a fail-safe that one late look sets off", {"spec__rollout__failSafeAfter": "15s"},
     ["spec.rollout.failSafeAfter", "at least twice analysis.interval 10s"]),
    ("a synthetic load of nothing", {"spec__rollout__analysis": {"syntheticLoad": {"requestsPerSecond": "0.00"}}},
     ["spec.rollout.analysis.syntheticLoad.requestsPerSecond", '"0.00"']),
    ("a synthetic load that would be a benchmark", {"spec__rollout__analysis": {"syntheticLoad": {"requestsPerSecond": "101"}}},
     ["spec.rollout.analysis.syntheticLoad.requestsPerSecond", '"101"']),
    ("a synthetic load without a rate", {"spec__rollout__analysis": {"syntheticLoad": {"maxRequests": 10}}},
     ["spec.rollout.analysis.syntheticLoad.requestsPerSecond", "Required"]),
    ("a Prometheus without a scheme", {"spec__metrics__prometheus__url": "prometheus:9090"},
     ["spec.metrics.prometheus.url", "prometheus:9090 must start with http://"]),
    ("a Prometheus header that is none", {"spec__metrics__prometheus__headers": {"X Scope": "a"}}, ["spec.metrics.prometheus.headers", '["X Scope"]']),
    ("a Prometheus label that is none", {"spec__metrics__prometheus__labels": {"my-cluster": "a"}}, ["spec.metrics.prometheus.labels", '["my-cluster"]']),
]

GOOD_CHANGES = [
    ("the good object itself", {}),
    ("one router replica keeps a bound of 1", {"spec__router__replicas": 1, "spec__lanes__0__admission__maxInFlight": 1}),
    ("a bound of twice the router replicas", {"spec__lanes__0__admission__maxInFlight": 4}),
    ("no chunks and a step as long as the model", {"spec__lanes__0__scheduler": {"chunkedPrefill": False, "maxNumBatchedTokens": 8192, "maxModelLen": 8192}}),
    ("what a profile may set is left to the core", {"spec__lanes__0__scheduler": {"chunkedPrefill": False}, "spec__lanes__0__match__maxPromptTokens": 9000}),
    ("an untagged image with a version", {"spec__engine__image": "registry:5000/vllm@sha256:0", "spec__engine__version": "0.32.0"}),
    ("a tag and a digest", {"spec__engine__image": "registry:5000/vllm:v0.32.0-cu129@sha256:0"}),
    ("a claim", {"spec__model__uri": "pvc://weights/qwen"}),
    ("a folder", {"spec__model__uri": "file:///models/qwen"}),
    ("no warm-up", {"spec__rollout__warmup": {"requests": 0, "duration": "0s"}}),
    ("one step of all traffic", {STEPS: [{"weight": 100, "duration": "1h30m"}]}),
    ("flags of every type",
     {"spec__lanes__0__flags": {"enable-prefix-caching": True, "long-prefill-token-threshold": 512, "kv-cache-dtype": "fp8", "watermark": 0.1}}),
    ("a pod fragment", {"spec__engine__pod": {"spec": {"tolerations": [{"operator": "Exists"}], "containers": [{"name": "engine", "env": []}]}}}),
    ("sixteen lanes with sixty-four callers each", {"spec__router__defaultLane": "lane-0", "spec__lanes": [
        BATCH | {"name": f"lane-{lane}", "match": {"callers": [f"caller-{lane}-{caller}" for caller in range(64)]}} for lane in range(16)
    ]}),
]
