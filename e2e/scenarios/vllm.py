"""A service of two lanes on real vLLM with SmolLM2, sized for two cores."""
from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from e2e.cluster import Cluster
from e2e.scenarios import manifests, traffic

# On a CPU: no compilation, a small cache; without limits, because those throttle loading.
# One process less and no spinning between two; two threads, so that a prompt of 100 tokens takes a third of a second and not half of one, which sleep where
# they wait: three engines that spin on two cores take ten times as long (measured)
ENVIRONMENT = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"}
# So small a model answers the bare question otherwise on a CPU with AMX than on one without, and not in a sentence; this one in both (and in float32)
FRANCE = "What is the capital of France? Answer in one sentence."
DEMO_STEPS = ((10, "7m"), (50, "30s"))
QUESTIONS = (
    "What is the capital of France?", "Why is the sky blue?", "Name three fruits and say which of them is red.", "How do I boil an egg?",
    "What does a postman do all day long?", "Tell me one thing about the moon.", "Which month comes after June?", "Why do cats sleep so much?",
)
_CONTEXT = "You answer questions of users of a small library in one short sentence. Be kind, be brief, and do not repeat the question. " * 3


CHATS = 1.15            # a second, where a chat takes a third of one: more of them two cores do not carry beside a canary that loads
_BUSY = 0.38            # the share of the time that an engine may work on chats


def flags(cluster: Cluster) -> dict[str, Any]:
    """No compilation, which the image has no compiler for, and what fits the cluster's nodes."""
    return {"enforce-eager": True, **cluster.engine_flags()}


def pace(url: str) -> float:
    """The share of the usual rates that the machine carries: chats are asked one after the other, and timed."""
    answers = traffic.ask_all(url, [question(number) for number in range(8)], together=1)
    assert [answer.line() for answer in answers if answer.failure] == []
    return share([answer.duration for answer in answers])


def share(seconds: Sequence[float]) -> float:
    """The share of the usual rates at which chats that take so long alone keep an engine busy no longer than they may; at most 1."""
    return min(1.0, _BUSY / statistics.median(seconds) / CHATS)


def service(cluster: Cluster, *steps: tuple[int, str]) -> dict[str, Any]:
    """Chat and documents; `steps` instead of 10 % for seven minutes, about 48 of 1.15 requests a second for the canary, and 50 % for half a minute."""
    chat = manifests.lane(
        "chat", match={"maxPromptTokens": 1024}, scheduler={"maxModelLen": 2048, "maxNumSeqs": 8, "maxNumBatchedTokens": 1024},
        timeouts={"idle": "60s"},
    )
    documents = manifests.lane(
        "documents", profile="LongContext", match={"maxPromptTokens": 8000}, scheduler={"maxModelLen": 8192, "maxNumSeqs": 4, "maxNumBatchedTokens": 1024},
        timeouts={"idle": "120s"},
    )
    manifest = manifests.service(
        cluster.images["engine"], chat, documents,
        rollout=manifests.rollout(
            *steps or DEMO_STEPS, warmup={"requests": 4, "duration": "20s"}, failSafeAfter="60s",
            analysis={"interval": "2s", "minRequests": 20},   # a step does not end without them; harm needs about a dozen of them to show
        ),
    )
    manifest["spec"]["model"]["uri"] = cluster.model_uri
    manifest["spec"]["engine"] |= {"flags": flags(cluster), "pod": _pod(cluster)}
    return manifest


def _pod(cluster: Cluster) -> dict[str, Any]:
    """The fragment of the cluster, with the environment above over its own."""
    pod = cluster.python_env_mounts()
    for container in pod.get("spec", {}).get("containers", []):
        own = {variable["name"]: variable for variable in container.get("env", [])}
        container["env"] = list((own | {name: {"name": name, "value": value} for name, value in ENVIRONMENT.items()}).values())
    return pod


def question(number: int) -> traffic.Prompt:
    """A chat line of about 100 prompt tokens and a short answer."""
    return traffic.Prompt("chat", traffic.chat(f"{_CONTEXT}{QUESTIONS[number % len(QUESTIONS)]}", tokens=4))
