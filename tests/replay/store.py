"""Prometheus' HTTP API over series in memory, on the loopback, with a clock of the test's own and every fault that a real one can have."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
from aiohttp import web
from e2e.engine import faulty_prometheus
from tests.replay import promql
from tests.replay import series as data

from fairlane.shell import prometheus

Fault = faulty_prometheus.Fault


@dataclasses.dataclass
class Store:
    """A Prometheus. `now` is the true time (Unix seconds); its own clock may differ."""

    database: data.Database = dataclasses.field(default_factory=data.Database)
    now: float = 0.0
    fault: Fault = Fault.NONE
    port: int = 0
    client: httpx.AsyncClient = dataclasses.field(default_factory=prometheus.client)
    asked: int = 0
    _runner: web.AppRunner | None = None
    _site: web.TCPSite | None = None
    _ending: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        """Where it listens, or would."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def clock(self) -> float:
        """The time that it takes to be now."""
        return self.now + faulty_prometheus.skew(self.fault)

    async def set(self, fault: Fault) -> None:
        """Break, or mend."""
        self.fault = fault
        if fault is Fault.STOPPED:
            await self._close()
        elif self._site is None:
            await self._listen()

    async def _listen(self) -> None:
        assert self._runner is not None
        self._site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True)
        await self._site.start()
        self.port = self._runner.addresses[0][1]

    async def _close(self) -> None:
        """Refuse connections, and end those that are kept open."""
        assert self._runner is not None
        if self._site is not None:
            await self._site.stop()
            self._site = None
            if self._runner.server is not None:
                await self._runner.server.shutdown(0.1)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        match self.fault:
            case Fault.SLOW:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._ending.wait(), faulty_prometheus.SLOW)
                return web.json_response(_answer([], self.clock))
            case Fault.HTML:
                return web.Response(text=faulty_prometheus.PAGE, content_type="text/html")
            case _:
                code, answer = self._result(request.query)
                return web.json_response(answer, status=code)

    def _at_hand(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        code, answer = self._result(request.url.params)
        return httpx.Response(code, json=answer)

    def _result(self, parameters: Mapping[str, str]) -> tuple[int, Any]:
        """The answer to a query, with its HTTP status."""
        time = float(parameters.get("time", self.clock))
        try:
            vector = promql.evaluate(parameters["query"], self.database, time)
        except promql.RefusedError as error:
            return 400, {"status": "error", "errorType": "bad_data", "error": str(error)}
        whole = _answer(vector, time)
        return 200, whole if faulty_prometheus.skew(self.fault) else faulty_prometheus.spoilt(self.fault, whole)   # the clock is wrong already


@contextlib.asynccontextmanager
async def running() -> AsyncIterator[Store]:
    """A store that listens for the time of the block."""
    store, app = Store(), web.Application()
    app.router.add_get("/api/v1/query", store._handle)
    store._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await store._runner.setup()
    await store._listen()
    try:
        yield store
    finally:
        await store.client.aclose()
        store._ending.set()
        await store._runner.cleanup()


@contextlib.asynccontextmanager
async def at_hand() -> AsyncIterator[Store]:
    """A store that is asked without a network, for whole rollouts: half of a pass would be HTTP."""
    async with httpx.AsyncClient(transport=httpx.MockTransport(lambda request: store._at_hand(request))) as client:
        store = Store(port=9090, client=client)
        yield store


def _answer(vector: promql.Vector, time: float) -> dict[str, Any]:
    result = [{"metric": dict(labels), "value": [time, repr(value)]} for labels, value in vector]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}
