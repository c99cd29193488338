"""The stand-in engine is what the scenarios take for vLLM: what its flags, its scheduler and its metrics do must be right before they run."""
from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import test_utils
from e2e.engine import api, bodies, config, flags, metrics, scheduler

from fairlane.core.engine import failures


@pytest.mark.parametrize(("text", "number"), [("8192", 8192), ("8k", 8000), ("8K", 8192), ("32.5k", 32500), ("2G", 2 * 2**30)])
def test_a_whole_number_is_read_as_vllm_reads_it(text: str, number: int) -> None:
    assert flags.human(text) == number


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["m", "--swap-space", "4"], id="a flag that 0.32 has no more"),
        pytest.param(["m", "--max-num-seqs", "1k"], id="a suffix where a plain number is due"),
        pytest.param(["m", "--scheduling-policy", "lifo"], id="a value that is no choice"),
        pytest.param(["m", "--enable-chunked-prefill=True"], id="a value for a switch"),
    ],
)
def test_exit_code_2_for(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        config.read(arguments, {})
    assert ended.value.code == 2


@pytest.mark.parametrize(
    ("arguments", "environment", "kind", "remedy"),
    [
        pytest.param(["m", "--max-model-len", "100000"], {}, "MaxModelLenTooLong", "maxModelLen to 8,192 or less", id="a length beyond the model"),
        pytest.param(["m", "--max-num-batched-tokens=64", "--max-num-seqs=128"], {}, "StepTooSmall", "to 128 or more", id="fewer tokens than sequences"),
        pytest.param(["m", "--no-enable-chunked-prefill"], {}, "StepTooSmall", "maxNumBatchedTokens to 8,192 or more", id="whole prefills that do not fit"),
        pytest.param(["m"], {"STANDIN_KV_TOKENS": "4096"}, "KVCacheTooSmall", "fits: 4,096", id="a cache smaller than the length"),
    ],
)
def test_refused_as_vllm_refuses(arguments: list[str], environment: dict[str, str], kind: str, remedy: str) -> None:
    with pytest.raises(config.RefusedError) as refused:
        config.read(arguments, environment)
    found = failures.classify(f"ValueError: {refused.value}", reason="Error", exit_code=1, lane="chat")
    assert found.kind == kind
    assert remedy in found.remedy


def test_flags_reach_the_configuration_also_with_underscores() -> None:
    arguments = ["/m", "--served-model-name", "default", "--max_num_seqs=7", "--max-num-batched-tokens", "16", "--enforce-eager", "--shutdown-timeout=60"]
    read = config.read(arguments, {})
    assert (read.model, read.max_num_seqs, read.max_num_batched_tokens, read.shutdown_timeout) == ("default", 7, 16, 60)


def test_a_step_serves_decodes_first_and_fills_up_with_prefill_in_order() -> None:
    async def allot() -> list[int]:
        decoding = scheduler.Request(4, 8, 0, prefilled=4)
        first, second, third = (scheduler.Request(10, 8, 0) for _ in range(3))
        share = scheduler.allot([first, decoding, second, third], 16)
        return [share.get(request, 0) for request in (decoding, first, second, third)]

    assert asyncio.run(allot()) == [1, 10, 5, 0]


def test_token_buckets_end_at_the_models_length() -> None:
    assert metrics.token_edges(2048) == [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000]


@pytest.mark.parametrize(
    "line",
    [
        'vllm:num_requests_running{engine="0",model_name="m"} 0.0',
        'vllm:request_success_total{engine="0",model_name="m",finished_reason="length"} 0.0',
        'vllm:time_to_first_token_seconds_bucket{engine="0",model_name="m",le="0.25"} 1.0',
        'vllm:time_to_first_token_seconds_bucket{engine="0",model_name="m",le="0.1"} 0.0',
        'vllm:time_to_first_token_seconds_bucket{engine="0",model_name="m",le="+Inf"} 1.0',
        'vllm:time_to_first_token_seconds_count{engine="0",model_name="m"} 1.0',
        'vllm:e2e_request_latency_seconds_bucket{engine="0",model_name="m",le="0.3"} 0.0',
        'vllm:iteration_tokens_total_bucket{engine="0",model_name="m",le="16384.0"} 0.0',
        'vllm:admission_rejections_total{model_name="m",reason="max_num_queued_reqs"} 0.0',
    ],
)
def test_metrics_have_vllms_line(line: str) -> None:
    series = metrics.Metrics("m", 2048)
    series.observe("vllm:time_to_first_token_seconds", 0.2)
    assert line in series.render().splitlines()


@pytest.mark.parametrize(
    ("kind", "body", "tokens"),
    [
        pytest.param(bodies.CHAT, {"messages": [{"role": "user", "content": "12345678"}]}, 2, id="content as a string"),
        pytest.param(bodies.CHAT, {"messages": [{"role": "user", "content": [{"type": "text", "text": "12345678"}]}]}, 2, id="content as parts"),
        pytest.param(bodies.CHAT, {"messages": [{"content": None, "tool_calls": [{"function": {"arguments": "1234"}}]}]}, 1, id="no content, a tool call"),
        pytest.param(bodies.COMPLETION, {"prompt": [5, 6, 7]}, 3, id="token ids"),
        pytest.param(bodies.EMBEDDING, {"input": ["1234", "1234"]}, 2, id="a list of inputs"),
        pytest.param(bodies.RESPONSE, {"input": "12345"}, 2, id="a response's input"),
    ],
)
def test_prompt_tokens_of(kind: str, body: dict[str, object], tokens: int) -> None:
    assert bodies.prompt_tokens(kind, body) == tokens


FAST = config.Config(model="m", step_seconds=0.001, token_seconds=0.0, max_model_len=64)


async def _client(settings: config.Config) -> AsyncIterator[test_utils.TestClient]:  # type: ignore[type-arg]  # parameters differ between aiohttp versions
    series = metrics.Metrics(settings.model, settings.max_model_len)
    engine = scheduler.Scheduler(settings, series)
    loop = asyncio.create_task(engine.run())
    async with test_utils.TestClient(test_utils.TestServer(api.Api(settings, series, engine).application(), handler_cancellation=True)) as client:
        yield client
    loop.cancel()


CHAT = {"model": "m", "max_tokens": 4, "messages": [{"role": "user", "content": "hello"}]}


async def test_a_stream_has_an_event_a_token_and_an_end() -> None:
    async for client in _client(FAST):
        response = await client.post("/v1/chat/completions", json=CHAT | {"stream": True})
        events = [line.removeprefix("data: ") for line in (await response.text()).split("\n\n") if line]
        assert (len(events), events[-1]) == (5, "[DONE]")
        assert "".join(json.loads(event)["choices"][0]["delta"]["content"] for event in events[:-1]) == "The stand-in engine answers "


@pytest.mark.parametrize(
    ("change", "body", "status"),
    [
        pytest.param({}, CHAT, 200, id="an ordinary request"),
        pytest.param({}, CHAT | {"model": "other"}, 404, id="another model"),
        pytest.param({}, CHAT | {"max_tokens": 64}, 400, id="more than the context"),
        pytest.param({}, {"messages": 7}, 200, id="a strange body"),
        pytest.param({"max_num_queued_reqs": 0}, CHAT, 503, id="a full queue"),
        pytest.param({"error_every": 1}, CHAT, 500, id="asked to fail"),
    ],
)
async def test_status_of(change: dict[str, Any], body: dict[str, object], status: int) -> None:
    async for client in _client(dataclasses.replace(FAST, **change)):
        response = await client.post("/v1/chat/completions", json=body)
        assert response.status == status
        text = await (await client.get("/metrics")).text()
        assert f'http_requests_total{{handler="/v1/chat/completions",method="POST",status="{status // 100}xx"}} 1.0' in text


async def test_a_small_budget_makes_the_first_token_late() -> None:
    prompt = CHAT | {"messages": [{"role": "user", "content": "x" * 160}], "max_tokens": 1}
    steps = {}
    for budget in (2048, 16):
        async for client in _client(dataclasses.replace(FAST, max_num_batched_tokens=budget)):
            await client.post("/v1/chat/completions", json=prompt)
            text = await (await client.get("/metrics")).text()
            steps[budget] = next(line for line in text.splitlines() if line.startswith("vllm:iteration_tokens_total_count")).split()[-1]
    assert steps == {2048: "1.0", 16: "3.0"}
