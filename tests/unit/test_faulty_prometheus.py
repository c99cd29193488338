"""The proxy that breaks Prometheus' answers: each fault is the one it is named for."""
from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp import test_utils, web
from e2e.engine import faulty_prometheus
from e2e.engine.faulty_prometheus import Fault

SERIES = {"metric": {"pod": "a"}, "value": [100.0, "7"]}
CLOCK = {"metric": {}, "value": [100.0, "100"]}


def answer(*items: dict[str, Any]) -> dict[str, Any]:
    return {"status": "success", "data": {"resultType": "vector", "result": list(items)}}


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (Fault.NONE, answer(CLOCK, SERIES)),
        (Fault.NAN, answer(CLOCK, {"metric": {"pod": "a"}, "value": [100.0, "NaN"]})),
        (Fault.EMPTY, answer(CLOCK)),
        (Fault.AHEAD, answer({"metric": {}, "value": [160.0, "160.0"]}, SERIES)),
        (Fault.BEHIND, answer({"metric": {}, "value": [40.0, "40.0"]}, SERIES)),
        (Fault.DUPLICATE, answer(CLOCK, *({"metric": {"pod": "a", "prometheus_replica": name}, "value": [100.0, "7"]} for name in ("a", "b")))),
    ],
)
def test_an_answer_is_spoilt(fault: Fault, expected: dict[str, Any]) -> None:
    assert faulty_prometheus.spoilt(fault, answer(CLOCK, SERIES)) == expected


@pytest.fixture
async def proxy() -> AsyncIterator[test_utils.TestClient[web.Request, web.Application]]:
    """A proxy before a store with one series."""
    async def query(_: web.Request) -> web.Response:
        return web.json_response(answer(SERIES))

    upstream = web.Application()
    upstream.router.add_get("/api/v1/query", query)
    async with test_utils.TestServer(upstream) as behind:
        made = faulty_prometheus.Proxy(str(behind.make_url("")).rstrip("/"))
        async with test_utils.TestClient(test_utils.TestServer(made.application())) as client:
            yield client


async def asked(proxy: test_utils.TestClient[web.Request, web.Application], fault: Fault, **parameters: str) -> str:
    """What a query is answered with."""
    assert (await proxy.post(f"/fault/{fault}")).status == 200
    return await (await proxy.get("/api/v1/query", params={"query": "up", **parameters})).text()


async def test_the_proxy_passes_on_what_it_does_not_break(proxy: test_utils.TestClient[web.Request, web.Application]) -> None:
    assert '"7"' in await asked(proxy, Fault.NONE)


async def test_a_page_stands_for_the_answer(proxy: test_utils.TestClient[web.Request, web.Application]) -> None:
    assert "Please log in" in await asked(proxy, Fault.HTML)


@pytest.mark.parametrize(("time", "known"), [("1", False), ("99999999999", True)])
async def test_nothing_is_known_of_before_the_loss(proxy: test_utils.TestClient[web.Request, web.Application], time: str, known: bool) -> None:
    assert ('"7"' in await asked(proxy, Fault.LOST, time=time)) is known


async def test_a_connection_ends_without_an_answer(proxy: test_utils.TestClient[web.Request, web.Application]) -> None:
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await asked(proxy, Fault.STOPPED)
