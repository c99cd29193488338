"""What a real Envoy makes of one answer: streams, time limits, failures, and what is written down about them."""

import json
import time
from collections.abc import Mapping

import httpx
import pytest
from tests.contract import envoy_engines, envoy_load, envoy_rig

from fairlane.core.routing import document, endpoints, metrics

BODY, STREAM, PATH = envoy_load.BODY, envoy_load.STREAM, envoy_load.PATH


def chat(**fields: object) -> document.RouteDocument:
    """One lane with a stable."""
    return envoy_rig.routes(envoy_rig.lane("chat", ("stable", "r-1", 100), **fields))


def found(engines: envoy_engines.Engines) -> dict[str, tuple[endpoints.Endpoint, ...]]:
    """All engines are the stable's."""
    return {"chat/r-1": envoy_rig.at(*(engine.port for engine in engines.by_name.values()))}


async def test_a_stream_arrives_token_by_token_and_unchanged() -> None:
    with envoy_engines.Engines("s1") as engines:
        engines["s1"].delay = 0.5
        with envoy_rig.running(chat(), found(engines)) as rig:
            arrivals: list[float] = []
            text = ""
            async with httpx.AsyncClient() as client, client.stream("POST", rig.url + PATH, json=STREAM, headers={"x-request-id": "mine-1"}) as answer:
                async for part in answer.aiter_text():
                    arrivals.append(time.monotonic())
                    text += part
            assert text.startswith("data: 0\n\ndata: 1\n\ndata: 2\n\ndata: 3\n\ndata: 4\n\n")
            assert text.endswith("data: [DONE]\n\n")
            assert arrivals[-1] - arrivals[0] > 0.3
            assert answer.headers["x-request-id"] == "mine-1"
            seen = json.loads(text.split("\n\n")[5].removeprefix("data: "))["headers"]
            assert {name.lower(): value for name, value in seen.items()}["x-request-id"] == "mine-1"


async def test_the_time_to_the_first_token_is_measured_in_fine_buckets() -> None:
    with envoy_engines.Engines("s1") as engines:
        engines["s1"].delay = 0.5   # a token each 0.1 s
        with envoy_rig.running(chat(), found(engines)) as rig:
            await envoy_load.load(rig.url, 1, 1, STREAM)
            envoy_rig.until(lambda: rig.total(metrics.TTFT + "_count", fairlane_lane="chat", fairlane_revision="r-1") == 1)
            assert [rig.total(metrics.TTFT_BUCKET, le=edge) for edge in ("84", "300")] == [0, 1]
            edges = {dict(labels)["le"] for labels in rig.samples(metrics.TTFT_BUCKET)}
            assert {int(float(edge)) for edge in edges - {"+Inf"}} == set(metrics.BUCKETS_MS)


async def test_a_request_id_is_made_where_the_client_sent_none() -> None:
    with envoy_engines.Engines("s1") as engines, envoy_rig.running(chat(), found(engines)) as rig:
        first, second = await envoy_load.load(rig.url, 2, 1)
        assert len({first.headers["x-request-id"], second.headers["x-request-id"]}) == 2


async def test_a_500_is_tried_once_more_and_a_broken_stream_is_not_and_every_try_counts() -> None:
    with envoy_engines.Engines("s1", "s2") as engines, envoy_rig.running(chat(), found(engines)) as rig:
        engines["s1"].mode = engines["s2"].mode = "500"
        assert envoy_load.codes(await envoy_load.load(rig.url, 4, 1)) == {500: 4}
        engines["s1"].mode = engines["s2"].mode = "break"
        for _ in range(3):
            with pytest.raises(httpx.RemoteProtocolError):
                await envoy_load.load(rig.url, 1, 1, STREAM)
        assert sum(engine.served for engine in engines.by_name.values()) == 4 * 2 + 3
        envoy_rig.until(lambda: rig.total(metrics.FAILURES, fairlane_revision="r-1") == 4 * 2 + 3)
        assert rig.total(metrics.TRIES, fairlane_revision="r-1") == 4 * 2 + 3


LIMITS: dict[str, tuple[str, Mapping[str, object], int]] = {
    "a stream that never begins": ("hang", STREAM, 504),
    "a stream whose first token never comes": ("stall", STREAM, 200),
    "a whole answer that never comes": ("hang", BODY, 504),
    "a whole answer that begins and stops": ("stall", BODY, 200),
}


@pytest.mark.parametrize(("mode", "body", "code"), LIMITS.values(), ids=LIMITS.keys())
async def test_an_answer_that_hangs_ends_at_the_lane_s_limit_and_counts_once(mode: str, body: Mapping[str, object], code: int) -> None:
    with envoy_engines.Engines("s1", "s2") as engines:
        engines["s1"].mode = engines["s2"].mode = mode
        with envoy_rig.running(chat(idle_seconds=0.6, non_streaming_seconds=0.6), found(engines)) as rig:
            begun = time.monotonic()
            if code == 200:
                with pytest.raises(httpx.RemoteProtocolError):
                    await envoy_load.load(rig.url, 1, 1, body)
            else:
                answer = (await envoy_load.load(rig.url, 1, 1, body))[0]
                assert (answer.status_code, answer.json()["error"]["code"]) == (504, "upstream_timeout")
            assert 0.5 < time.monotonic() - begun < 3
            assert sum(engine.served for engine in engines.by_name.values()) == 1, "a slow answer is not asked for again"
            envoy_rig.until(lambda: rig.total(metrics.FAILURES, fairlane_revision="r-1") == 1)
            assert rig.total(metrics.TRIES, fairlane_revision="r-1") == 1


async def test_a_stream_ends_at_the_total_time() -> None:
    with envoy_engines.Engines("s1") as engines:
        engines["s1"].delay = 5
        with envoy_rig.running(chat(idle_seconds=3, total_seconds=1.5), found(engines)) as rig:
            with pytest.raises(httpx.RemoteProtocolError):
                await envoy_load.load(rig.url, 1, 1, STREAM)
            entry = envoy_rig.until(rig.log)[0]
            assert 1400 < entry["duration_ms"] < 3000


async def test_a_client_that_leaves_is_nobody_s_failure() -> None:
    with envoy_engines.Engines("s1") as engines:
        engines["s1"].mode = "hang"
        with envoy_rig.running(chat(), found(engines)) as rig:
            async with httpx.AsyncClient(timeout=0.3) as client:
                with pytest.raises(httpx.ReadTimeout):
                    await client.post(rig.url + PATH, json=STREAM)
            envoy_rig.until(lambda: rig.total(metrics.REQUESTS, flags="DC") == 1)
            assert (rig.total(metrics.TRIES), rig.total(metrics.FAILURES)) == (0, 0)


async def test_the_access_log_tells_what_happened() -> None:
    split = envoy_rig.routes(envoy_rig.lane("chat", ("stable", "r-1", 50), ("canary", "r-2", 50)))
    with envoy_engines.Engines("s1", "c1") as engines:
        engines["c1"].mode = "503"
        serving = {"chat/r-1": envoy_rig.at(engines["s1"].port), "chat/r-2": envoy_rig.at(engines["c1"].port)}
        with envoy_rig.running(split, serving) as rig:
            answers = await envoy_load.load(rig.url, 20, 1, {**STREAM, "max_tokens": 7})
            assert envoy_load.codes(answers) == {200: 20}
            entries = envoy_rig.until(lambda: rig.log() if len(rig.log()) == 20 else None)
            entry = next(entry for entry in entries if entry["attempts"] == 2)
            expected = {
                "lane": "chat", "rule": "default", "track": "stable", "revision": "r-1", "prompt_tokens": "2", "tokens_asked": "7", "stream": "1",
                "code": 200, "flags": "-", "path": PATH, "method": "POST",
            }  # fmt: skip
            assert {key: entry[key] for key in expected} == expected
            assert entry["ttft_ms"] <= entry["duration_ms"]
            assert entry["request_id"] in {answer.headers["x-request-id"] for answer in answers}
