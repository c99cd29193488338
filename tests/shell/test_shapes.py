"""The traffic of lanes that may get synthetic load, from a metrics store that answers, or does not."""

import datetime
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from fairlane.api import spec as specs
from fairlane.api import status as statuses
from fairlane.core import clock, names, observed, traffic
from fairlane.core.load import document
from fairlane.shell import shapes

NOW = datetime.datetime(2026, 11, 30, 12, 0, tzinfo=datetime.UTC)
Handler = Callable[[httpx.Request], httpx.Response]


def seen(phase: str = "Analyzing", load: dict[str, Any] | None = None, **fields: Any) -> observed.Observed:
    spec = specs.LLMServiceSpec.model_validate({
        "model": {"uri": "file:///m"}, "engine": {"image": "vllm/vllm-openai:v0.32.0"}, "router": {"defaultLane": "chat"},
        "lanes": [{"name": "chat", "profile": "Interactive", "replicas": 1}], "metrics": {"prometheus": {"url": "http://prom"}},
        "rollout": {"analysis": {"syntheticLoad": load} if load is not None else {}},
    })
    began = clock.text(NOW - datetime.timedelta(seconds=100))
    lane = statuses.LaneStatus(name="chat", stable="a-1", canary="b-1", weight=10, phase=statuses.Phase(phase), started_at=began)
    status = statuses.LLMServiceStatus(lanes=[lane, statuses.LaneStatus(name="docs", stable="d-1")])
    return observed.Observed(name="assistant", namespace="ai", uid="u-1", generation=1, now=NOW, spec=spec, status=status, **fields)


async def read(value: observed.Observed, handler: Handler) -> tuple[dict[str, traffic.Traffic], list[str]]:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.params["query"])
        return handler(request)

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
        return dict(await shapes.read(value, client)), asked


def numbers(request: httpx.Request) -> httpx.Response:
    """A quarter of a request a second, and sixty requests in the hour before."""
    by_edge = "sum by (le)" in request.url.params["query"]
    series = [({"le": "10"}, "30"), ({"le": "+Inf"}, "60")] if by_edge else [({}, "0.25")]
    result = [{"metric": metric, "value": [0, value]} for metric, value in series]
    return httpx.Response(200, json={"status": "success", "data": {"resultType": "vector", "result": result}})


ON = {"requestsPerSecond": "2"}


async def test_the_lane_on_trial_is_asked_for() -> None:
    found, asked = await read(seen(load=ON), numbers)
    assert (list(found), found["chat"].rate, found["chat"].prompts is not None, len(asked)) == (["chat"], 0.25, True, 6)


async def test_lengths_that_are_known_are_not_asked_for_again() -> None:
    key = names.synthetic_key("u-1", "chat", "b-1")
    told = document.Load(
        url="", lane="chat", model="m", key=key, rate=1, max_requests=1, in_flight=1, prompt_tokens=(1,), output_tokens=(1,), measured=True
    )
    found, asked = await read(seen(load=ON, loads={"chat": told}), numbers)
    assert (found["chat"].prompts, len(asked)) == (None, 2)
    of_another_rollout = told.model_copy(update={"key": "old"})
    assert len((await read(seen(load=ON, loads={"chat": of_another_rollout}), numbers))[1]) == 6


@pytest.mark.parametrize(("phase", "load"), [
    pytest.param("Analyzing", None, id="who did not ask for load"),
    pytest.param("Loading", ON, id="a canary that loads"),
    pytest.param("Promoting", ON, id="a canary that is promoted"),
    pytest.param("RollingBack", ON, id="a canary that goes"),
])
async def test_nobody_is_asked_for(phase: str, load: dict[str, Any] | None) -> None:
    assert await read(seen(phase, load), numbers) == ({}, [])


def refused(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("connection refused", request=request)


BAD: dict[str, Handler] = {
    "a store that is away": refused,
    "a page instead of numbers": lambda _: httpx.Response(200, text="<html>"),
    "an error": lambda _: httpx.Response(500, json={"status": "error", "error": "no"}),
    "numbers that are none": lambda _: httpx.Response(
        200, json={"status": "success", "data": {"resultType": "vector", "result": [{"metric": {}, "value": [0, "NaN"]}]}}
    ),
}


@pytest.mark.parametrize("handler", BAD.values(), ids=BAD.keys())
async def test_what_cannot_be_had_is_left_out(handler: Handler) -> None:
    found, _ = await read(seen(load=ON), handler)
    assert found == {}
