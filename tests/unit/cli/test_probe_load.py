"""The probe against a server on the loopback that answers as the case says."""

import asyncio
import dataclasses
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from fairlane.cli import probe
from fairlane.cli.probe import config, load, results

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
TRACKS = {"x-fairlane-lane": "chat", "x-fairlane-track": "canary", "x-fairlane-revision": "abc-1"}


@dataclasses.dataclass
class Server:
    """An engine whose answer is the case's."""

    url: str = ""
    answer: Handler | None = None
    bodies: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    headers: list[dict[str, str]] = dataclasses.field(default_factory=list)
    in_flight: int = 0
    most: int = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(await request.json())
        self.headers.append(dict(request.headers))
        assert self.answer is not None
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            return await self.answer(request)
        finally:
            self.in_flight -= 1


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", made.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield made
    await runner.cleanup()


def streaming(*events: str, pause: float = 0.0, cut: bool = False) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream", **TRACKS})
        await response.prepare(request)
        for event in events:
            await asyncio.sleep(pause)
            await response.write(f"data: {event}\n\n".encode())
        if cut:
            assert request.transport is not None
            request.transport.close()
        return response

    return answer


def piece(text: str) -> str:
    return json.dumps({"choices": [{"delta": {"content": text}}]})


def fixed(status: int, text: str, **headers: str) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, text=text, headers=headers)

    return answer


ROLE, USAGE = json.dumps({"choices": [{"delta": {"role": "assistant"}}]}), json.dumps({"choices": [], "usage": {"completion_tokens": 5}})
WHOLE = json.dumps({"choices": [{"message": {"content": "Hello"}}], "usage": {"completion_tokens": 2}})


async def one(server: Server, **options: Any) -> results.Sample:
    made = await load.run_async(config.Config(server.url, total=1, concurrency=1, **{"timeout": 5.0, **options}))
    return made.samples[0]


async def test_a_stream_gives_ttft_gaps_tokens_and_the_track(server: Server) -> None:
    server.answer = streaming(ROLE, piece("Hel"), piece("lo"), USAGE, "[DONE]", pause=0.02)
    sample = await one(server, model="m", output_tokens=7, headers={"x-caller": "web"})
    assert (sample.kind, sample.status, sample.text, sample.output_tokens, len(sample.gaps)) == ("ok", 200, "Hello", 5, 1)
    assert (sample.lane, sample.track, sample.revision) == ("chat", "canary", "abc-1")
    assert sample.ttft is not None
    assert 0.04 <= sample.ttft < sample.e2e     # the role alone is no content
    assert 0.01 <= sample.gaps[0] < sample.e2e
    body = server.bodies[0]
    assert {key: body[key] for key in ("model", "max_tokens", "stream", "stream_options")} == {
        "model": "m", "max_tokens": 7, "stream": True, "stream_options": {"include_usage": True},
    }  # fmt: skip
    assert server.headers[0]["x-caller"] == "web"


async def test_an_answer_in_one_piece_has_no_ttft(server: Server) -> None:
    server.answer = fixed(200, WHOLE, **{"content-type": "application/json"})
    sample = await one(server, stream=False)
    assert (sample.kind, sample.ttft, sample.gaps, sample.text, sample.output_tokens) == ("ok", None, (), "Hello", 2)


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        pytest.param(fixed(429, "full"), "429", "full", id="the lane is full"),
        pytest.param(fixed(400, "too long"), "4xx", "too long", id="a bad request"),
        pytest.param(fixed(503, "down"), "5xx", "down", id="a server error"),
        pytest.param(streaming(piece("a"), cut=True), "broken stream", "", id="a cut stream"),
        pytest.param(streaming(piece("a")), "broken stream", "", id="a stream that ends without its end"),
        pytest.param(streaming(piece("a"), '{"error": {"code": 500}}', "[DONE]"), "broken stream", "{'code': 500}", id="an error inside a stream"),
        pytest.param(streaming("{", "[DONE]"), "broken stream", "an event that is no completion", id="an event that is no JSON"),
        pytest.param(streaming("[1]", "[DONE]"), "broken stream", "an event that is no completion", id="an event that is no object"),
        pytest.param(fixed(200, "<html>"), "broken stream", "an answer that is no completion", id="a page"),
        pytest.param(streaming(piece("a"), pause=0.5), "timeout", "no whole answer within 0.1 s", id="no answer in time"),
    ],
)
async def test_what_goes_wrong_is_counted_by_kind(server: Server, answer: Handler, kind: str, message: str) -> None:
    server.answer = answer
    sample = await one(server, timeout=0.1 if kind == "timeout" else 5.0)
    assert (sample.kind, message in sample.message) == (kind, True), sample


async def test_nobody_there_is_a_connection_error() -> None:
    made = await load.run_async(config.Config("http://127.0.0.1:1", total=2, concurrency=2))
    assert [sample.kind for sample in made.samples] == ["connection", "connection"]


async def test_a_429_is_waited_out_where_asked_to(server: Server) -> None:
    async def twice(request: web.Request) -> web.StreamResponse:
        handler = fixed(429, "full", **{"retry-after": "0.01"}) if len(server.bodies) < 3 else streaming(piece("a"), "[DONE]")
        return await handler(request)

    server.answer = twice
    sample = await one(server, retry_429=True)
    assert (sample.kind, sample.refused) == ("ok", 2)
    assert sample.ttft is not None
    assert sample.ttft >= 0.1      # the waiting is the user's too


async def test_the_closed_loop_keeps_its_concurrency_and_its_total(server: Server) -> None:
    server.answer = streaming(piece("a"), "[DONE]", pause=0.01)
    seen: list[results.Sample] = []
    made = await load.run_async(config.Config(server.url, total=12, concurrency=3), on_sample=seen.append)
    assert (len(made.samples), len(seen), server.most) == (12, 12, 3)


async def test_the_open_loop_counts_from_when_a_request_was_due(server: Server) -> None:
    server.answer = streaming(piece("a"), "[DONE]", pause=0.02)
    asked = config.Config(server.url, rate=60.0, duration=0.3, max_in_flight=1, seed=1)
    made = await load.run_async(asked)
    due = list(load.arrivals(60.0, 0.3, random.Random(1)))
    assert [round(sample.at, 2) for sample in made.samples] == [round(offset, 2) for offset in due]
    assert server.most == 1
    assert made.samples[-1].e2e > 0.04 * len(due) - 0.3     # the queue before it counts


async def test_progress_is_told_from_the_start(server: Server) -> None:
    server.answer = streaming(piece("a"), "[DONE]", pause=0.01)
    told: list[probe.Progress] = []
    await load.run_async(config.Config(server.url, total=2, concurrency=1), on_progress=told.append)
    assert (told[0].done, told[0].expected) == (0, 2)


async def test_a_run_can_be_stopped(server: Server) -> None:
    server.answer = streaming(piece("a"), "[DONE]")
    made = await load.run_async(config.Config(server.url, total=1000, concurrency=1), should_stop=lambda: len(server.bodies) >= 3)
    assert len(made.samples) == 3


async def test_a_saved_run_is_read_back_without_secrets(server: Server, tmp_path: Path) -> None:
    server.answer = streaming(piece("a"), piece("b"), "[DONE]")
    address = server.url.replace("http://", "http://me:secret@")
    made = await load.run_async(config.Config(address, total=2, headers={"Authorization": "Bearer secret"}))
    path = tmp_path / "run.json"
    made.save(path)
    assert results.load(path) == made
    assert "secret" not in path.read_text()
    assert made.config["url"] == server.url


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("", id="an empty file"),
        pytest.param("[]", id="a list"),
        pytest.param('{"format": 2}', id="a newer format"),
        pytest.param('{"format": 1, "samples": [{}]}', id="broken samples"),
    ],
)
def test_what_is_no_saved_run_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(content)
    with pytest.raises(config.BadConfig, match="run"):
        results.load(path)
