"""A service as the operator reports it: chat on trial after a rollback with realistic numbers, documents idle."""

import copy
from typing import Any

EDGES_MS = [1, 5, 10, 20, 40, 60, 80, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000]
DISTRIBUTION = {
    "metric": "ttft", "edgesMs": EDGES_MS,
    "stable": [0, 0, 0, 1, 4, 20, 70, 120, 170, 183, 187, 189, 190, 190, 190, 190, 190],
    "canary": [0, 0, 0, 0, 0, 1, 3, 5, 7, 9, 11, 14, 19, 21, 21, 21, 21],
}  # fmt: skip
EVIDENCE = {
    "since": "2026-01-01T12:00:00Z", "until": "2026-01-01T12:02:20Z",
    "stable": {
        "revision": "5d2e9c41-1", "requests": 193, "errors": 1, "replicas": 2, "ttftP50Ms": 90, "ttftP99Ms": 810, "ttftP99Range": "560-1900",
        "queueP99Ms": 40, "e2eP99Ms": 6200, "prefixHitPercent": 41, "kvUsePercent": 22,
    },
    "canary": {
        "revision": "7c1f0a2b-1", "requests": 24, "errors": 0, "aborts": 2, "replicas": 1, "ttftP50Ms": 688, "ttftP99Ms": 4738, "ttftP99Range": "2600-5000",
        "queueP99Ms": 2210, "e2eP99Ms": 9900, "preemptions": 3, "prefixHitPercent": 38, "kvUsePercent": 9,
    },
    "loadRatio": "0.25", "metric": "ttft", "edge": "0.75 s", "canaryOver": 10, "canaryTotal": 21, "stableOver": 3, "stableTotal": 190,
    "eValue": "1.2e4", "threshold": "200", "passEValue": "0.01", "passThreshold": "20", "distribution": DISTRIBUTION,
}  # fmt: skip
WHY = "7c1f0a2b-1 was rolled back at 50 %, 2m20s into the step: TTFT: 10 of 21 canary requests (48 %) took longer than 0.75 s, of the stable's 1.6 %"
EARLIER = {
    **{key: value for key, value in EVIDENCE.items() if key != "distribution"}, "eValue": "0.8", "canaryOver": 1, "canaryTotal": 61,
    "canary": {"revision": "7c1f0a2b-1", "requests": 61, "replicas": 1},
}  # fmt: skip
DECISIONS = [
    {"time": "2026-01-01T11:59:50Z", "step": 0, "weight": 10, "verdict": "Insufficient", "reason": "NoEvidenceOfHarm",
     "message": "step 1 of 2 ended: no evidence of harm in 61 canary requests", "evidence": EARLIER},
    {"time": "2026-01-01T12:02:20Z", "step": 1, "weight": 50, "verdict": "Fail", "reason": "TailWorse", "message": WHY, "evidence": EVIDENCE},
]  # fmt: skip
RECORD = {
    "lane": "chat", "stable": "5d2e9c41-1", "canary": "7c1f0a2b-1", "result": "RolledBack", "startedAt": "2026-01-01T11:28:00Z",
    "endedAt": "2026-01-01T12:02:30Z", "reason": "TailWorse", "message": WHY, "canaryRequests": 85, "decisions": DECISIONS,
}  # fmt: skip
FAILED = (
    "7c1f0a2b-1 was rolled back before it had any traffic: pod assistant-chat-7c1f0a2b-1-6f9d8-x2x7p ended by itself (Error, exit code 1, 0 restarts): "
    "one sequence of 29,000 tokens needs 3.54 GiB of KV cache, the GPU has 2.56 GiB left; what to do: largest maxModelLen that fits: 20,970 (set "
    "spec.lanes[chat].scheduler.maxModelLen to that or less, match.maxPromptTokens below it), or make room: gpuMemoryUtilization, tensorParallelSize, flags "
    "kv-cache-dtype fp8; it said: ValueError: To serve at least one request with the model's max seq len (29000), (3.54 GiB KV cache is needed, which is "
    "larger than the available KV cache memor…"
)
FAILED_LOAD = {
    "lane": "chat", "stable": "5d2e9c41-1", "canary": "7c1f0a2b-1", "result": "RolledBack", "startedAt": "2026-01-01T11:28:00Z",
    "endedAt": "2026-01-01T11:30:10Z", "reason": "KVCacheTooSmall", "message": FAILED, "canaryRequests": 0,
    "decisions": [{"time": "2026-01-01T11:29:40Z", "step": 0, "weight": 0, "verdict": "Fail", "reason": "KVCacheTooSmall", "message": FAILED}],
}  # fmt: skip
CHAT = {
    "name": "chat", "phase": "Analyzing", "stable": "5d2e9c41-1", "canary": "new-2", "desiredHash": "new", "replicas": 2, "readyReplicas": 2,
    "canaryReplicas": 1, "canaryReadyReplicas": 1, "weight": 10, "startedAt": "2026-01-01T11:58:00Z", "phaseSince": "2026-01-01T12:00:00Z",
    "verdict": "Insufficient", "message": "no harm seen in 61 canary requests", "evidence": EVIDENCE,
    "expected": "at 0.5 requests/s: 90 canary requests in step 1",
}  # fmt: skip
DOCUMENTS = {"name": "documents", "phase": "Idle", "stable": "doc-1", "desiredHash": "bad", "replicas": 1, "readyReplicas": 1, "message": ""}


def service(name: str = "assistant", **status: Any) -> dict[str, Any]:
    """A service with chat on trial and documents idle."""
    ready = {"type": "Ready", "status": "True", "reason": "Serving", "message": "all lanes serve", "lastTransitionTime": "2026-01-01T11:00:00Z"}
    whole = {"conditions": [ready], "lanes": [CHAT, DOCUMENTS], "history": [RECORD], "lanesReady": "2/2", "rollout": "chat 10% canary", "handledCommands": []}
    meta = {"name": name, "namespace": "prod", "creationTimestamp": "2026-01-01T10:00:00Z"}
    return copy.deepcopy({"metadata": meta, "spec": {"model": {"name": "default"}}, "status": whole | status})
