"""Stand-in engines for a real Envoy: they say who they are, what reached them, and misbehave on request."""

import asyncio
import collections
import dataclasses
import hashlib
import json
import threading
from collections.abc import Awaitable, Callable

from aiohttp import web


@dataclasses.dataclass
class Engine:
    """One engine. `mode` is how it answers everything but /health."""

    name: str
    port: int = 0
    mode: str = "ok"          # ok | 503 | 500 | reset | break (a stream, after its second token) | hang (no header) | stall (no token)
    delay: float = 0.0
    in_flight: int = 0
    most: int = 0
    served: int = 0


class Engines:
    """Engines of one test, in a loop and a thread of their own. `most` counts over all of them."""

    def __init__(self, *names: str) -> None:
        self.by_name = {name: Engine(name) for name in names}
        self.in_flight: collections.Counter[str] = collections.Counter()
        self.most = 0
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __getitem__(self, name: str) -> Engine:
        return self.by_name[name]

    def __enter__(self) -> "Engines":
        self._thread.start()
        assert self._started.wait(10), "the stand-in engines did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        runners = self._loop.run_until_complete(self._start())
        self._started.set()
        self._loop.run_forever()
        self._loop.run_until_complete(asyncio.gather(*(runner.cleanup() for runner in runners)))

    async def _start(self) -> list[web.AppRunner]:
        runners = []
        for engine in self.by_name.values():
            application = web.Application(client_max_size=1 << 30)
            application.router.add_route("*", "/{path:.*}", self._handler(engine))
            runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", engine.port)
            await site.start()
            assert site._server is not None
            engine.port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
            runners.append(runner)
        return runners

    def _handler(self, engine: Engine) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            if request.path == "/health":
                return web.Response()
            engine.served += 1
            engine.in_flight += 1
            engine.most = max(engine.most, engine.in_flight)
            self.most = max(self.most, sum(one.in_flight for one in self.by_name.values()))
            try:
                return await _answer(engine, request)
            finally:
                engine.in_flight -= 1

        return handle


async def _answer(engine: Engine, request: web.Request) -> web.StreamResponse:
    body = await request.read()
    if engine.mode in ("503", "500"):
        return web.json_response({"error": {"message": "no"}}, status=int(engine.mode))
    if engine.mode == "reset":
        assert request.transport is not None
        request.transport.abort()
        return web.Response()
    if engine.mode == "hang":
        await asyncio.sleep(60)
    streamed = b'"stream":true' in body.replace(b" ", b"")
    said = {"engine": engine.name, "path": request.path_qs, "sha256": hashlib.sha256(body).hexdigest(), "length": len(body), "headers": dict(request.headers)}
    if not streamed and engine.mode == "ok":
        await asyncio.sleep(engine.delay)
        return web.json_response(said)
    return await _stream(engine, request, said)


async def _stream(engine: Engine, request: web.Request, said: dict[str, object]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    if engine.mode == "stall":
        await asyncio.sleep(60)
    for token in range(5):
        await asyncio.sleep(engine.delay / 5)
        await response.write(f"data: {token}\n\n".encode())
        if engine.mode == "break" and token == 1:
            assert request.transport is not None
            request.transport.abort()
            return response
    await response.write(f"data: {json.dumps(said)}\n\ndata: [DONE]\n\n".encode())
    return response
