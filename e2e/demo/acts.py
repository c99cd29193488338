"""The acts of the demo, in order."""
from __future__ import annotations

import itertools
import json
import time

from e2e.scenarios import prompts, traffic, vllm

from .stage import DemoError, Stage

READY_SECONDS = 420
ROLLOUT_SECONDS = 720


def apply_service(stage: Stage) -> None:
    """`kubectl apply` of two lanes on vLLM, until they serve."""
    stage.act("kubectl apply: one model, two lanes of vLLM (chat, documents), one router")
    stage.space.apply(vllm.service(stage.cluster))
    ready = lambda status: stage.space.condition("Ready", status).get("status") == "True"  # noqa: E731  a name for what is waited for
    stage.wait("both lanes and the router ready", ready, READY_SECONDS)
    stage.space.wait_ready()   # its address too
    stage.view.say("\n" + stage.space.kubectl("get", "llmsvc"))


def ask(stage: Stage) -> None:
    """One question, and where requests go."""
    stage.act("Ask, and see which lane answers")
    url = stage.space.url
    answer = traffic.ask_once(url, traffic.Prompt("chat", traffic.chat(vllm.FRANCE, tokens=40, stream=False)))
    stage.claim("the chat answer is an English sentence", not answer.failure and _is_sentence(answer.text), f"“{answer.text.strip()}” {answer.failure}")
    text = "用一句话告诉我今天学习什么最好。" * 12
    question = traffic.chat(text, tokens=8, stream=False)
    sent = {
        "a 5,000-token document": (traffic.Prompt("documents", traffic.chat(prompts.text(6200), tokens=8, stream=False)), "documents"),
        "a chat": (traffic.Prompt("chat", json.dumps(question, ensure_ascii=False).encode()), "chat"),
        "the same chat escaped as \\uXXXX": (traffic.Prompt("chat", json.dumps(question, ensure_ascii=True).encode()), "chat"),
    }
    for name, (prompt, lane) in sent.items():
        with stage.view.busy(f"asking: {name}"):
            answer = traffic.ask_once(url, prompt)
        size = f"{len(prompt.content):,} bytes, {answer.prompt_tokens:,} tokens for vLLM"
        seen = f"{size}: answered by lane {answer.lane}, revision {answer.revision}, in {answer.duration:.1f} s {answer.failure}"
        right = answer.lane == lane and not answer.failure and (lane == "chat" or answer.prompt_tokens >= 5000)
        stage.claim(f"{name} goes to {lane}", right, seen)


def good_change(stage: Stage) -> None:
    """A change that hurts nobody is promoted, and no pod restarts."""
    stage.act("A good change: scheduler.maxNumSeqs of chat from 8 to 12")
    old = stage.space.restarts("chat")
    seen: dict[str, int] = {}

    def change() -> None:
        stage.space.patch_lane("chat", scheduler={"maxNumSeqs": 12})
        stage.wait("the canary serves", lambda status: stage.space.lane("chat", status).get("phase") in ("Warming", "Analyzing", "Promoting"), 300)
        seen.update(stage.space.restarts("chat"))

    trial = stage.trial("a good change", "chat", change, ROLLOUT_SECONDS)
    stage.claim("a good change is promoted", trial.record["result"] == "Promoted", f"{trial.record['message']} ({trial.ended - trial.began:.0f} s)")
    weights = sorted({sample.weight for sample in stage.run.samples if sample.lane == "chat" and trial.began <= sample.at <= trial.ended})
    stage.claim("it began with 10 % of the lane's traffic", 10 in weights and min(filter(None, weights), default=0) == 10, f"weights seen: {weights}")
    new = stage.space.restarts("chat")
    canary = set(seen) - set(old)
    stage.claim(
        "promotion restarted no pod", canary and canary <= set(new) and not any(new.values()),
        f"before {_pods(old)}; during {_pods(seen)}; after {_pods(new)}",
    )


def bad_change(stage: Stage) -> None:
    """A change that makes every first token late is rolled back by its p99, at 10 %."""
    stage.act("A bad change: scheduler.maxNumBatchedTokens of chat from 1024 to 16")
    trial = stage.trial("a bad change", "chat", lambda: stage.space.patch_lane("chat", scheduler={"maxNumBatchedTokens": 16}), ROLLOUT_SECONDS)
    record = trial.record
    last = (record.get("decisions") or [{}])[-1]
    evidence = last.get("evidence") or {}
    ttft = {side: (evidence.get(side) or {}).get("ttftP99Ms") for side in ("stable", "canary")}
    first = min((answer.at for answer in stage.answers if answer.revision == record["canary"]), default=0.0) - stage.run.began
    stage.claim(
        "the bad change was rolled back at 10 % by its p99",
        record["result"] == "RolledBack" and last.get("weight") == 10 and last.get("verdict") == "Fail" and (ttft["canary"] or 0) > (ttft["stable"] or 0),
        f"{trial.ended - first:.0f} s and {trial.canary_answers} requests after the canary's first; "
        f"p99 {ttft['canary']} ms beside {ttft['stable']} ms. {record['message']}",
    )
    print(stage.space.fairlane("why", "--lane", "chat"))


def impossible_changes(stage: Stage) -> None:
    """Engines that cannot start reach no user."""
    stage.act("maxModelLen beyond the model: 100,000 where SmolLM2 has 8,192")
    beyond = {"maxNumBatchedTokens": 1024, "maxModelLen": 100_000}
    trial = stage.trial("maxModelLen beyond the model", "chat", lambda: stage.space.patch_lane("chat", scheduler=beyond), 400)
    stage.claim(
        "maxModelLen beyond the model was rejected", trial.record["result"] == "RolledBack" and trial.canary_answers == 0 and trial.failures == 0,
        f"{trial.failures} failed user requests. {trial.record['message']}",
    )
    stage.act("A flag that this vLLM does not know: --swap-space")
    began = time.time()
    stage.space.patch_lane("chat", scheduler={"maxModelLen": 2048}, flags={"swap-space": 4})
    # Stalled is True already: the change before was rolled back
    status = stage.wait("Stalled for the spec", lambda status: stage.space.condition("Stalled", status).get("reason") == "SpecInvalid", 60)
    message = stage.space.condition("Stalled", status)["message"]
    seen = time.time()
    stage.wait("users go on asking", lambda _: time.time() - seen >= 10, 60)
    failed = sum(bool(answer.failure) for answer in stage.answers if answer.at >= began)
    stage.claim("an unknown flag was rejected", "swap-space" in message and failed == 0, f"{failed} failed user requests. {message}")


def users_were_served(stage: Stage) -> None:
    """Of all requests of the whole run."""
    answers = stage.answers
    stage.run.answers = {f"{kind} answered by {lane or 'nobody'}": len(list(group)) for (kind, lane), group in itertools.groupby(
        sorted(answers, key=lambda answer: (answer.kind, answer.lane)), key=lambda answer: (answer.kind, answer.lane))}
    stage.run.failures = [answer.line() for answer in answers if answer.failure]
    stage.claim("no user request failed", answers and not stage.run.failures, f"{len(answers)} requests, {len(stage.run.failures)} failed")
    if not answers:
        raise DemoError("no user sent a request")


def _is_sentence(text: str) -> bool:
    words = text.split()
    return len(words) >= 4 and text[0].isupper() and sum(word.strip(".,!?'’").isascii() for word in words) == len(words)


def _pods(restarts: dict[str, int]) -> str:
    return ", ".join(f"{uid[:8]} ({count} restarts)" for uid, count in sorted(restarts.items()))
