"""The trials: what is changed, under which load, at which weight. One service on two cores carries them all, one after the other."""
from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from e2e.scenarios import manifests, prompts, traffic, vllm

NAMESPACE = "fairlane-peers"
SERVICE, LANE = "assistant", "chat"
LOAD_SECONDS = 90          # of load before the change: the stable's usual day
FAULTY = Path(__file__).with_name("faulty.py")
_FAULTY_MOUNT = "/opt/faulty"

_SCHEDULER = {"maxModelLen": 8192, "maxNumSeqs": 8, "maxNumBatchedTokens": 512}
_CHUNK = "long-prefill-token-threshold"    # a long prompt takes so many tokens of a step, so that short ones pass beside it

Manifest = dict[str, Any]
Change = Callable[[Manifest], None]


@dataclasses.dataclass(frozen=True)
class Trial:
    """One change and its exposure; its A/A trial has the same exposure and no change."""

    name: str
    what: str                              # the change, for the table
    change: Change
    weight: int = 10                       # percent
    minutes: int = 5                       # of the step
    rate: float = vllm.CHATS               # chats a second, where the machine carries them
    chat: Callable[[int], traffic.Prompt] = vllm.question
    paced: bool = True                     # at even intervals; else a Poisson stream
    users: int = 0                         # instead of the rate: so many, who ask again as soon as they have their answer
    strays: float = 0.0                    # long prompts a second in the same lane, at even intervals
    chunk: int = 128                       # tokens of one prompt that the stable takes into a step
    warmup: int = 20                       # seconds; as many as the stable takes to work off what waited while the canary loaded

    def paced_to(self, share: float) -> Trial:
        """The same at a share of its rates; users who wait for their answers pace themselves."""
        return self if self.users else dataclasses.replace(self, rate=self.rate * share, strays=self.strays * share)

    @property
    def exposure(self) -> str:
        """What it shares with its A/A trial."""
        chats = f"{self.users} users who ask again when answered" if self.users else f"{self.rate:.2g} chats a second"
        strays = f", {self.strays:.2g} long prompts a second" if self.strays else ""
        return f"{self.weight} % for {self.minutes} min, {chats}{strays}"


def base(image: str, model_uri: str, flags: Mapping[str, Any], pod: Mapping[str, Any], trial: Trial, kind: str) -> Manifest:
    """The service as it is between two trials, with the steps of the next one, which is of this kind: change or a/a."""
    lane = manifests.lane(LANE, scheduler=dict(_SCHEDULER), flags={_CHUNK: trial.chunk}, timeouts={"idle": "60s"})
    step = (trial.weight, f"{trial.minutes}m")
    manifest = manifests.service(image, lane, name=SERVICE, rollout=manifests.rollout(
        step, warmup={"requests": 4, "duration": f"{trial.warmup}s"}, failSafeAfter="60s", analysis={"interval": "5s", "minRequests": 20},
        # a change that was not found out is taken back by hand, never promoted; an A/A trial ends by itself
        onInsufficient="Hold" if kind == "change" else "Advance",
    ))
    manifest["spec"]["model"]["uri"] = model_uri
    manifest["spec"]["engine"] |= {"flags": dict(flags), "pod": _with_faulty(pod)}
    return manifest


def changed(manifest: Mapping[str, Any], trial: Trial) -> Manifest:
    """The service with the trial's change."""
    result = copy.deepcopy(dict(manifest))
    trial.change(result)
    return result


def faulty_text() -> str:
    """The ConfigMap with the middleware, mounted in every engine, so that only a flag switches it on."""
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "faulty"}, "data": {FAULTY.name: FAULTY.read_text()}})


def stray(number: int) -> traffic.Prompt:
    """About 700 tokens, none like the one before: nothing of it is in the prefix cache."""
    content = f"Document {number}. {prompts.text(800)}"
    return traffic.Prompt("stray", traffic.chat(content, tokens=4))


def _longer(number: int) -> traffic.Prompt:
    """A chat whose answer takes long enough that others come meanwhile."""
    return traffic.Prompt("chat", {**_body(vllm.question(number)), "max_tokens": 12, "ignore_eos": True})


def _brief(number: int) -> traffic.Prompt:
    """A chat so short that two cores carry more than two a second."""
    return traffic.Prompt("chat", traffic.chat(vllm.QUESTIONS[number % len(vllm.QUESTIONS)], tokens=2))


def _few_words(number: int) -> traffic.Prompt:
    """So short a prompt that it stalls nobody, and so short an answer that one stall shows in its mean time per token."""
    body = {"model": "default", "prompt": vllm.QUESTIONS[number % len(vllm.QUESTIONS)], "max_tokens": 6, "ignore_eos": True, "temperature": 0, "stream": True}
    return traffic.Prompt("chat", body, "/v1/completions")


def _body(prompt: traffic.Prompt) -> dict[str, Any]:
    assert not isinstance(prompt.body, bytes)
    return dict(prompt.body)


def _with_faulty(pod: Mapping[str, Any]) -> Manifest:
    """The pod fragment with the middleware's module on Python's path."""
    result = copy.deepcopy(dict(pod))
    result["spec"]["volumes"].append({"name": "faulty", "configMap": {"name": "faulty"}})
    engine = result["spec"]["containers"][0]
    engine["volumeMounts"].append({"name": "faulty", "mountPath": _FAULTY_MOUNT, "readOnly": True})
    engine["env"].append({"name": "PYTHONPATH", "value": _FAULTY_MOUNT})
    return result


def _lane(manifest: Manifest) -> Manifest:
    lane: Manifest = manifest["spec"]["lanes"][0]
    return lane


def _small_chunks(manifest: Manifest) -> None:
    _lane(manifest)["scheduler"]["maxNumBatchedTokens"] = 16


def _one_sequence(manifest: Manifest) -> None:
    _lane(manifest)["scheduler"]["maxNumSeqs"] = 1


def _huge_chunks(manifest: Manifest) -> None:
    _lane(manifest)["scheduler"]["maxNumBatchedTokens"] = 8192
    _lane(manifest)["flags"] = {}


def _half_a_core(manifest: Manifest) -> None:
    manifest["spec"]["engine"]["pod"]["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "500m"}}


def _errors(manifest: Manifest) -> None:
    _lane(manifest)["flags"]["middleware"] = ["faulty.OneInFive"]


TRIALS = (
    Trial("batched-tokens-16", "`maxNumBatchedTokens: 16`", _small_chunks),
    Trial("errors", "an engine that answers 500 to one request in five", _errors, rate=2.5, chat=_brief),
    Trial("half-a-core", "the canary throttled to half a core", _half_a_core),
    Trial("one-sequence", "`maxNumSeqs: 1`", _one_sequence, weight=50, minutes=6, rate=1.1, chat=_longer, paced=False),
    # A stall counts once, however many chats it meets, and only the canary has any: some 20 long prompts have to come to it. That users wait for their answers
    # keeps chats running, for a long prompt to meet, and keeps a slow machine from falling behind
    Trial("huge-chunk", "`maxNumBatchedTokens: 8192`, no bound for one prompt's share, stray long prompts", _huge_chunks,
          weight=50, minutes=12, chat=_few_words, users=6, strays=0.085, chunk=16, warmup=90),
)
