"""The endpoints of vLLM's server, over the model of its scheduler."""
from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from . import bodies
from .config import Config
from .metrics import Metrics
from .scheduler import Request, Scheduler

_UNCOUNTED = {"/metrics", "/health", "/ping", "/version", "/standin"}
_PATHS = {
    "/v1/chat/completions": bodies.CHAT, "/v1/completions": bodies.COMPLETION, "/v1/responses": bodies.RESPONSE, "/v1/embeddings": bodies.EMBEDDING,
}
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Api:
    """One engine's HTTP side."""

    def __init__(self, config: Config, metrics: Metrics, scheduler: Scheduler) -> None:
        self._config = config
        self._metrics = metrics
        self._scheduler = scheduler
        self._served = 0
        self._draining = False
        self.errored = asyncio.Event()   # the engine is dead: the server ends

    def application(self) -> web.Application:
        @web.middleware
        async def count(request: web.Request, handler: _Handler) -> web.StreamResponse:
            return await self._count(request, handler)

        app = web.Application(client_max_size=64 * 2**20, middlewares=[count])
        for path, kind in _PATHS.items():
            app.router.add_post(path, self._generate(kind))
        app.router.add_get("/health", self._health)
        app.router.add_get("/ping", self._health)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/version", self._version)
        app.router.add_get("/metrics", self._render)
        app.router.add_get("/standin", self._state)
        return app

    async def drain(self) -> None:
        """As vLLM: new requests get 500; those in flight go on for `--shutdown-timeout`, then are aborted."""
        self._draining = True
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._scheduler.idle.wait(), max(self._config.shutdown_timeout, 0.01))
        self._scheduler.abort()
        await asyncio.sleep(0.1)  # for the last bytes of what ended

    async def _count(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        status = 500
        try:
            response = await handler(request)
            status = response.status
        except web.HTTPException as error:
            status = error.status
            raise
        except asyncio.CancelledError:
            status = 200  # a client that left counts as answered, as in vLLM
            raise
        finally:
            if request.path not in _UNCOUNTED:
                known = request.match_info.route.resource
                self._metrics.answered(known.canonical if known else "none", request.method, status)
        return response

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response(status=503 if self.errored.is_set() else 200)

    async def _version(self, _: web.Request) -> web.Response:
        return web.json_response({"version": "0.32.0"})

    async def _models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": self._config.model, "object": "model", "max_model_len": self._config.max_model_len}]})

    async def _render(self, _: web.Request) -> web.Response:
        return web.Response(text=self._metrics.render(), content_type="text/plain")

    async def _state(self, _: web.Request) -> web.Response:
        """For tests: what vLLM does not tell."""
        return web.json_response({"pod": socket.gethostname(), "peak": self._scheduler.peak, "served": self._served})

    def _generate(self, kind: str) -> _Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            refused, body = await self._admit(kind, request)
            if refused:
                return refused
            return await self._serve(kind, request, body)

        return handle

    async def _admit(self, kind: str, request: web.Request) -> tuple[web.Response | None, dict[str, Any]]:
        """The answer to a request that does not reach the engine, or its body."""
        try:
            body = json.loads(await request.read())
            prompt, longest = bodies.prompt_tokens(kind, body), self._config.max_model_len
            outputs = bodies.output_tokens(body, longest)
        except (ValueError, AttributeError, TypeError) as error:
            return _refuse(400, "BadRequestError", f"body: {error}"), {}
        self._served += 1
        return self._impossible(body, prompt, outputs) or await self._misbehave(), body

    def _impossible(self, body: dict[str, Any], prompt: int, outputs: int) -> web.Response | None:
        """vLLM's answers to what it cannot or will not serve."""
        longest, queued = self._config.max_model_len, self._config.max_num_queued_reqs
        if body.get("model") not in (None, self._config.model):
            return _refuse(404, "NotFoundError", f"The model `{body['model']}` does not exist.", "model")
        if prompt + outputs > longest:
            message = f"This model's maximum context length is {longest} tokens. However, you requested {outputs} output tokens and {prompt} input tokens."
            return _refuse(400, "BadRequestError", message, "input_tokens")
        if self._draining:
            return _refuse(500, "InternalServerError", "cannot schedule new futures after shutdown")
        if queued is not None and self._scheduler.in_flight >= queued:
            self._metrics.rejected("max_num_queued_reqs")
            return _refuse(503, "Service Unavailable", f"The server is at its limit of {queued} requests.")
        return None

    async def _misbehave(self) -> web.Response | None:
        """What the environment asks this engine to do wrong."""
        config = self._config
        if config.die_after and self._served >= config.die_after:
            self.errored.set()
            return _refuse(500, "InternalServerError", "EngineCore encountered an issue.")
        if config.hang_every and self._served % config.hang_every == 0:
            await asyncio.Event().wait()
        if self._served == config.error_at or (config.error_every and self._served % config.error_every == 0):
            return _refuse(500, "InternalServerError", "the stand-in was asked to fail")
        return None

    async def _serve(self, kind: str, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        prompt = bodies.prompt_tokens(kind, body)
        outputs = 1 if kind == bodies.EMBEDDING else max(1, bodies.output_tokens(body, self._config.max_model_len))
        identity = f"{request.headers.get('x-request-id') or os.urandom(8).hex()}"
        work = self._scheduler.submit(prompt, outputs)
        try:
            if body.get("stream"):
                return await self._stream(kind, request, identity, work)
            return await self._whole(kind, identity, work)
        finally:
            self._scheduler.leave(work)

    async def _whole(self, kind: str, identity: str, work: Request) -> web.Response:
        text = ""
        while (more := await work.tokens.get()) is not None:
            if not more:
                return _refuse(500, "InternalServerError", "EngineCore encountered an issue.")
            text += bodies.token(work.produced - 1)
        return web.json_response(bodies.answer(kind, identity, self._config.model, text.strip(), work.prompt, work.produced))

    async def _stream(self, kind: str, request: web.Request, identity: str, work: Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"})
        await response.prepare(request)  # before the first token, as vLLM
        number = 0
        while (more := await work.tokens.get()) is not None:
            if not more:
                await _event(response, bodies.error(500, "InternalServerError", "EngineCore encountered an issue."))
                break
            await _event(response, bodies.chunk(kind, identity, self._config.model, bodies.token(number), number + 1 == work.outputs))
            number += 1
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response


def _refuse(status: int, kind: str, message: str, param: str | None = None) -> web.Response:
    return web.json_response(bodies.error(status, kind, message, param), status=status)


async def _event(response: web.StreamResponse, value: dict[str, Any]) -> None:
    await response.write(b"data: " + json.dumps(value).encode() + b"\n\n")
