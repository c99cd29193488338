"""What the demo and the scenarios take for a failed request, and for a p99."""
from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from e2e.demo import watch
from e2e.scenarios import traffic
from e2e.scenarios.space import merged

CHUNK = b'data: {"choices": [{"delta": {"content": "Paris"}}]}\n\n'
SSE = {"content-type": "text/event-stream; charset=utf-8", "x-fairlane-lane": "chat", "x-fairlane-track": "canary", "x-fairlane-revision": "abc-1"}
PROMPT = traffic.Prompt("chat", traffic.chat("hello"))


async def _asked(answer: httpx.Response | Exception) -> traffic.Answer:
    def handle(request: httpx.Request) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        return answer

    async with httpx.AsyncClient(base_url="http://router", transport=httpx.MockTransport(handle)) as client:
        return await traffic.ask(client, PROMPT)


class Broken(httpx.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield CHUNK
        raise httpx.RemoteProtocolError("peer closed connection")


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        pytest.param(httpx.Response(200, headers=SSE, stream=httpx.ByteStream(CHUNK + b"data: [DONE]\n\n")), "", id="a whole stream"),
        pytest.param(httpx.Response(200, stream=httpx.ByteStream(b'{"choices": [{"message": {"content": "Paris"}}]}')), "", id="a whole answer"),
        pytest.param(httpx.Response(200, headers=SSE, stream=httpx.ByteStream(CHUNK)), "the stream broke after 1 events", id="a stream without an end"),
        pytest.param(httpx.Response(200, headers=SSE, stream=Broken()), "RemoteProtocolError: peer closed connection", id="a cut connection"),
        pytest.param(
            httpx.Response(200, headers=SSE, stream=httpx.ByteStream(b'data: {"error": {"message": "died"}}\n\ndata: [DONE]\n\n')), "error in the stream: died",
            id="an error inside a 200",
        ),
        pytest.param(httpx.Response(503, stream=httpx.ByteStream(b"no healthy upstream")), "HTTP 503: no healthy upstream", id="another status"),
        pytest.param(httpx.ConnectError("refused"), "ConnectError: refused", id="no connection"),
    ],
)
async def test_failure_of(answer: httpx.Response | Exception, failure: str) -> None:
    assert (await _asked(answer)).failure == failure


def test_a_stop_does_not_wait_for_a_request_that_is_due_in_an_hour() -> None:
    with traffic.Load("http://127.0.0.1:9", 0.0003, lambda _: PROMPT, paced=True) as load:
        assert load.running
    assert (load.running, load.sent) == (False, 0)


async def test_an_answer_names_lane_track_and_revision() -> None:
    answer = await _asked(httpx.Response(200, headers=SSE, stream=httpx.ByteStream(CHUNK + b"data: [DONE]\n\n")))
    assert (answer.lane, answer.track, answer.revision, answer.text) == ("chat", "canary", "abc-1", "Paris")


@pytest.mark.parametrize(
    ("values", "q", "expected"),
    [
        pytest.param([], 0.99, None, id="of nothing there is none"),
        pytest.param([3.0], 0.99, 3.0, id="of one it is that one"),
        pytest.param([float(n) for n in range(1, 101)], 0.99, 99.0, id="of a hundred it is the ninety-ninth"),
        pytest.param([float(n) for n in range(1, 101)], 0.5, 50.0, id="the median"),
    ],
)
def test_quantile(values: list[float], q: float, expected: float | None) -> None:
    assert traffic.quantile(values, q) == expected


def _answers(revision: str, ttft: float, number: int, at: float = 95.0) -> list[traffic.Answer]:
    return [traffic.Answer(at, "chat", 200, "", "chat", "", revision, ttft) for _ in range(number)]


@pytest.mark.parametrize(
    ("answers", "p99s"),
    [
        pytest.param([*_answers("a", 0.2, 20), *_answers("b", 1.5, 6)], (0.2, 1.5), id="both tracks"),
        pytest.param([*_answers("a", 0.2, 20), *_answers("b", 1.5, 3)], (0.2, None), id="too few say nothing"),
        pytest.param([*_answers("a", 0.2, 20), *_answers("b", 1.5, 9, at=10.0)], (0.2, None), id="old ones say nothing"),
    ],
)
def test_p99_of_both_tracks(answers: list[traffic.Answer], p99s: tuple[float | None, float | None]) -> None:
    lane: dict[str, Any] = {"name": "chat", "phase": "Analyzing", "weight": 10, "stable": "a", "canary": "b"}
    seen = watch.sample(lane, answers, now=12.0, clock=100.0)
    assert (seen.stable_p99, seen.canary_p99) == p99s


def test_a_merge_patch_replaces_adds_and_removes() -> None:
    assert merged({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"c": None, "e": 4}, "d": 5}) == {"a": {"b": 1, "e": 4}, "d": 5}
