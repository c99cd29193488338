"""What the shell brings of a model's files, and when it asks for them."""

import datetime
from typing import Any

import pytest

from fairlane.api import spec as specs
from fairlane.api import status as statuses
from fairlane.core import observed
from fairlane.core.engine import fitness, modelfiles
from fairlane.core.engine.memory.unknown import Unknown
from fairlane.shell import kube, models

CONFIG = '{"architectures": ["LlamaForCausalLM"]}'
FOUND = modelfiles.ModelFiles({}, 1, "the hub")


def seen(model: dict[str, Any] | None = None, lanes: tuple[statuses.LaneStatus, ...] = (), generation: int = 1, **rollout: Any) -> observed.Observed:
    """A service that has just been applied, unless it has lanes."""
    spec = specs.LLMServiceSpec.model_validate({
        "model": {"uri": "hf://meta/llama"} | (model or {}), "engine": {"image": "vllm/vllm-openai:v0.32.0"}, "router": {"defaultLane": "chat"},
        "lanes": [{"name": "chat", "profile": "Interactive", "replicas": 1}], "rollout": rollout,
    })
    status = statuses.LLMServiceStatus(observed_generation=1, lanes=list(lanes))
    now = datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC)
    return observed.Observed(name="assistant", namespace="llm", uid="u-1", generation=generation, now=now, spec=spec, status=status)


class Hub:
    """Counts who asks."""

    def __init__(self, answer: fitness.Model = FOUND) -> None:
        self.answer, self.asked, self.time = answer, list[tuple[str, str]](), 0.0

    async def fetch(self, model: modelfiles.HubModel, token: str) -> fitness.Model:
        self.asked.append((f"{model.name}@{model.revision}", token))
        return self.answer

    def reader(self, api: kube.Kube) -> models.Reader:
        return models.Reader(api, self.fetch, lambda: self.time)


@pytest.fixture(autouse=True)
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)


SERVES = statuses.LaneStatus(name="chat", stable="aaaaaaaa-1", desired_hash="aaaaaaaa", ready_replicas=1)
LOADED = statuses.MemoryStatus(revision="aaaaaaaa", predicted_kv_tokens=100)


@pytest.mark.parametrize(("value", "expected"), [
    pytest.param(seen(), 1, id="a service that is new"),
    pytest.param(seen(lanes=(SERVES,), generation=2), 1, id="a spec that changed"),
    pytest.param(seen(lanes=(SERVES.model_copy(update={"desired_hash": "bbbbbbbb"}),)), 1, id="a revision that waits for its start"),
    pytest.param(seen(lanes=(SERVES.model_copy(update={"memory": LOADED}),)), 1, id="an engine that has loaded and was not compared"),
    pytest.param(seen(lanes=(SERVES,)), 0, id="a service that just serves"),
    pytest.param(seen(lanes=(SERVES.model_copy(update={"desired_hash": "bbbbbbbb", "canary": "bbbbbbbb-1"}),)), 0, id="a canary that is watched"),
    pytest.param(seen(lanes=(SERVES.model_copy(update={"desired_hash": "bbbbbbbb", "rejected": ["bbbbbbbb"]}),)), 0, id="a revision that was rejected"),
    pytest.param(seen(preflight="Off"), 0, id="a preflight that is off"),
    pytest.param(seen({"uri": "file:///models/llama"}), 0, id="a model that is no hub's"),
])
async def test_the_hub_is_asked_only_where_a_decision_depends_on_it(api: kube.Kube, value: observed.Observed, expected: int) -> None:
    hub = Hub()
    await hub.reader(api).read(value)
    assert len(hub.asked) == expected


@pytest.mark.parametrize(("answer", "kept"), [
    pytest.param(FOUND, 3600, id="files for an hour"), pytest.param(Unknown("away"), 300, id="an outage for five minutes"),
])
async def test_answers_are_kept(api: kube.Kube, answer: fitness.Model, kept: float) -> None:
    hub = Hub(answer)
    reader = hub.reader(api)
    for hub.time in (0, kept - 1, kept):
        assert await reader.read(seen()) == answer
    assert len(hub.asked) == 2


async def test_the_token_is_the_secrets_and_answers_are_kept_by_it(api: kube.Kube, stub: Any) -> None:
    stub.put("secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hf", "namespace": "llm"}, "data": {"token": "aGZfMQ=="}})
    hub = Hub()
    reader = hub.reader(api)
    await reader.read(seen({"tokenSecretRef": {"name": "hf"}}))
    await reader.read(seen())
    assert hub.asked == [("meta/llama@main", "hf_1"), ("meta/llama@main", "")]


@pytest.mark.parametrize(("model", "words"), [
    pytest.param({"tokenSecretRef": {"name": "none"}}, "spec.model.tokenSecretRef: Secret 'none' has no key 'token'", id="a Secret that is not there"),
    pytest.param({"configMapRef": {"name": "none"}}, "there is no ConfigMap none in namespace llm", id="a ConfigMap that is not there"),
    pytest.param({"uri": "file:///models/llama"}, "config.json of file:///models/llama cannot be read", id="a folder in the engine's pods"),
])
async def test_what_cannot_be_read_is_unknown_and_fails_no_pass(api: kube.Kube, model: dict[str, Any], words: str) -> None:
    found = await Hub().reader(api).read(seen(model))
    assert isinstance(found, Unknown)
    assert words in found.reason


async def test_a_claim_is_left_to_its_pod(api: kube.Kube) -> None:
    assert await Hub().reader(api).read(seen({"uri": "pvc://weights/llama"})) is None


async def test_a_config_map_goes_before_the_hub(api: kube.Kube, stub: Any) -> None:
    data = {"config.json": CONFIG, "weightBytes": "42"}
    stub.put("configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "llama", "namespace": "llm"}, "data": data})
    hub = Hub()
    found = await hub.reader(api).read(seen({"configMapRef": {"name": "llama"}}))
    assert (found, hub.asked) == (modelfiles.ModelFiles({"architectures": ["LlamaForCausalLM"]}, 42, "ConfigMap llama"), [])


async def test_silence_is_kept(api: kube.Kube, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    hub = Hub()
    found = await hub.reader(api).read(seen())
    assert isinstance(found, Unknown)
    assert (hub.asked, "HF_HUB_OFFLINE is set" in found.reason) == ([], True)
