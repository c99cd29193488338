"""The KV caches of engines that have loaded, from a metrics store that answers, or does not."""

import datetime
from collections.abc import Callable

import httpx
import pytest

from fairlane.api import spec as specs
from fairlane.api import status as statuses
from fairlane.core import observed
from fairlane.shell import caches

LABELS = {"num_gpu_blocks": "2000", "block_size": "16", "cache_dtype": "auto"}
PREDICTED = statuses.MemoryStatus(revision="bbbbbbbb", predicted_kv_tokens=100)
CANARY = statuses.LaneStatus(name="chat", stable="aaaaaaaa-1", canary="bbbbbbbb-1", canary_ready_replicas=1, memory=PREDICTED)


def seen(lane: statuses.LaneStatus, address: str = "http://prom") -> observed.Observed:
    spec = specs.LLMServiceSpec.model_validate({
        "model": {"uri": "file:///m"}, "engine": {"image": "vllm/vllm-openai:v0.32.0"}, "router": {"defaultLane": "chat"},
        "lanes": [{"name": "chat", "profile": "Interactive", "replicas": 1}],
        "metrics": {"prometheus": {"labels": {"cluster": "eu"}} | ({"url": address} if address else {})},
    })
    now = datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC)
    return observed.Observed("assistant", "ai", "u-1", 1, now, spec, status=statuses.LLMServiceStatus(lanes=[lane]))


async def read(value: observed.Observed, handler: Callable[[httpx.Request], httpx.Response]) -> tuple[dict[str, dict[str, str]], list[str]]:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.params["query"])
        return handler(request)

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
        found = await caches.read(value, client)
    return {revision: dict(labels) for revision, labels in found.items()}, asked


def labels(_: httpx.Request) -> httpx.Response:
    return httpx.Response(200, json={"status": "success", "data": {"resultType": "vector", "result": [{"metric": LABELS, "value": [0, "1"]}]}})


async def test_a_canary_that_has_loaded_is_asked_for() -> None:
    found, asked = await read(seen(CANARY), labels)
    assert found == {"bbbbbbbb-1": LABELS}
    assert asked == [
        'max by (num_gpu_blocks, block_size, cache_dtype, num_gpu_blocks_override) '
        '({__name__="vllm:cache_config_info",namespace="ai",pod=~"assistant-chat-bbbbbbbb-1-[a-z0-9]+-[a-z0-9]+",cluster="eu"})'
    ]


async def test_a_first_revision_too() -> None:
    lane = statuses.LaneStatus(name="chat", stable="bbbbbbbb-1", ready_replicas=1, memory=PREDICTED)
    assert (await read(seen(lane), labels))[0] == {"bbbbbbbb-1": LABELS}


@pytest.mark.parametrize("lane", [
    pytest.param(CANARY.model_copy(update={"canary_ready_replicas": 0}), id="one that still loads"),
    pytest.param(CANARY.model_copy(update={"memory": None}), id="one without a prediction"),
    pytest.param(CANARY.model_copy(update={"memory": PREDICTED.model_copy(update={"predicted_kv_tokens": None})}), id="one whose memory was not known"),
    pytest.param(CANARY.model_copy(update={"memory": PREDICTED.model_copy(update={"measured_kv_tokens": 5})}), id="one that was measured"),
    pytest.param(CANARY.model_copy(update={"memory": PREDICTED.model_copy(update={"revision": "cccccccc"})}), id="another than was computed"),
])
async def test_nobody_else_is_asked_for(lane: statuses.LaneStatus) -> None:
    assert await read(seen(lane), labels) == ({}, [])


def failing(_: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused")


@pytest.mark.parametrize("handler", [
    pytest.param(failing, id="down"),
    pytest.param(lambda _: httpx.Response(200, text="<html>"), id="a page"),
    pytest.param(lambda _: httpx.Response(200, json={"status": "success", "data": {"resultType": "vector", "result": []}}), id="nothing"),
])
async def test_what_cannot_be_had_is_left_out(handler: Callable[[httpx.Request], httpx.Response]) -> None:
    assert (await read(seen(CANARY), handler))[0] == {}


async def test_without_a_store_nobody_is_asked() -> None:
    assert await read(seen(CANARY, ""), labels) == ({}, [])
