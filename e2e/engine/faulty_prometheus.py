"""A proxy before Prometheus that breaks its answers as it is told, by `POST /fault/NAME`; part of the stand-in's image."""
from __future__ import annotations

import asyncio
import enum
import os
import time
from collections.abc import Mapping
from typing import Any

import aiohttp
from aiohttp import web

PORT = 9090
SLOW = 30.0     # seconds
SKEW = 60.0     # seconds
SETTLE = 2.0    # seconds before now at which the operator reads: the next tick's end is known, the last one's is not
PAGE = "<!doctype html><html><title>Log in</title><body>Please log in.</body></html>"


class Fault(enum.StrEnum):
    """What is wrong with the metrics store."""

    NONE = "none"
    STOPPED = "stopped"
    SLOW = "slow"
    NAN = "nan"
    EMPTY = "empty"
    DUPLICATE = "duplicate"
    HTML = "html"
    AHEAD = "ahead"
    BEHIND = "behind"
    LOST = "lost"              # nothing is known of before it began


def skew(fault: Fault) -> float:
    """How far its clock is ahead. Seconds."""
    return {Fault.AHEAD: SKEW, Fault.BEHIND: -SKEW}.get(fault, 0.0)


def spoilt(fault: Fault, answer: Mapping[str, Any]) -> dict[str, Any]:
    """An instant query's answer as it is with the fault. What is computed and of no series (the time) is spoilt by the clock alone."""
    if answer.get("status") != "success":
        return dict(answer)
    items = [changed for item in answer["data"]["result"] for changed in _items(fault, item)]
    return {**answer, "data": {**answer["data"], "result": items}}


def _items(fault: Fault, item: Mapping[str, Any]) -> list[dict[str, Any]]:
    metric, (at, value) = item["metric"], item["value"]
    match fault:
        case Fault.AHEAD | Fault.BEHIND if not metric:
            return [{"metric": {}, "value": [at + skew(fault), repr(float(value) + skew(fault))]}]
        case Fault.NAN if metric:
            return [{"metric": metric, "value": [at, "NaN"]}]
        case Fault.EMPTY if metric:
            return []
        case Fault.DUPLICATE if metric:
            return [{"metric": {**metric, "prometheus_replica": name}, "value": [at, value]} for name in ("a", "b")]
        case _:
            return [dict(item)]


class Proxy:
    """One fault at a time, since when, and the Prometheus behind it."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        self._fault, self._since = Fault.NONE, 0.0

    def application(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/fault/{name}", self._set)
        app.router.add_get("/api/v1/query", self._query)
        return app

    async def _set(self, request: web.Request) -> web.Response:
        self._fault, self._since = Fault(request.match_info["name"]), time.time() - SETTLE
        return web.Response(text=self._fault)

    async def _query(self, request: web.Request) -> web.StreamResponse:
        fault = self._fault
        if fault is Fault.STOPPED:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if fault is Fault.HTML:
            return web.Response(text=PAGE, content_type="text/html")
        if fault is Fault.SLOW:
            await asyncio.sleep(SLOW)
        if fault is Fault.LOST and float(request.query.get("time", "inf")) < self._since:
            return web.json_response({"status": "success", "data": {"resultType": "vector", "result": []}})
        async with aiohttp.ClientSession() as session, session.get(f"{self._upstream}/api/v1/query", params=request.query) as answer:
            return web.json_response(spoilt(fault, await answer.json()), status=answer.status)


def main() -> None:
    web.run_app(Proxy(os.environ["UPSTREAM"]).application(), port=PORT, print=None)


if __name__ == "__main__":
    main()
