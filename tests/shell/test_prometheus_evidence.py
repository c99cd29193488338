"""The metrics store, played by a server on the loopback: exact questions, and every way in which an answer can be none."""

import asyncio
import dataclasses
import datetime
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from fairlane.api import spec as specs
from fairlane.api import status as statuses
from fairlane.core import observed
from fairlane.core.judge import queries, types
from fairlane.shell import prometheus

NOW = datetime.datetime(2026, 1, 1, 12, 10, tzinfo=datetime.UTC)
OLD_POD, NEW_POD, ROUTER_POD = "assistant-chat-old-1-7f9c-abcde", "assistant-chat-new-1-55d-xyz01", "assistant-router-6b-aaaaa"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclasses.dataclass
class Store:
    """A stub of Prometheus' HTTP API."""

    url: str = ""
    asked: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    answer: Handler | None = None
    slow: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.query["query"], request.query["time"]))
        self.headers = dict(request.headers)
        assert self.answer is not None
        return await self.answer(request)


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    made = Store()
    app = web.Application()
    app.router.add_get("/api/v1/query", made.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield made
    made.slow.set()
    await runner.cleanup()


def vector(*series: tuple[dict[str, str], str]) -> dict[str, Any]:
    return {"status": "success", "data": {"resultType": "vector", "result": [{"metric": metric, "value": [0, value]} for metric, value in series]}}


def buckets(pod: str, count: int) -> list[tuple[dict[str, str], str]]:
    return [({"__name__": "vllm:time_to_first_token_seconds_bucket", "pod": pod, "le": le}, str(count)) for le in ("1.0", "+Inf")]


def tries(revision: str, count: int) -> tuple[dict[str, str], str]:
    labels = {"__name__": "envoy_fairlane_tries", "pod": ROUTER_POD, "fairlane_lane": "chat", "fairlane_revision": revision, "code": "200", "flags": "-"}
    return labels, str(count)


async def good(request: web.Request) -> web.StreamResponse:
    """Nothing at the start, 30 stable and 3 canary requests at the end."""
    text, at_end = request.query["query"], float(request.query["time"]) == NOW.timestamp()
    if text.startswith("last_over_time") and not at_end:
        return web.json_response(vector())
    if text.startswith("max by (pod) (timestamp("):
        return web.json_response(vector(({"pod": OLD_POD}, str(NOW.timestamp())), ({"pod": NEW_POD}, str(NOW.timestamp()))))
    if text.startswith("sum by (pod) (resets("):
        return web.json_response(vector(({"pod": OLD_POD}, "0")))
    if "envoy_fairlane" in text:
        return web.json_response(vector(tries("old-1", 30), tries("new-1", 3)))
    return web.json_response(vector(*buckets(OLD_POD, 30), *buckets(NEW_POD, 3)))


def answering(status: int = 200, text: str = "", content_type: str = "application/json") -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, text=text, content_type=content_type)

    return answer


def seen(url: str | None, phase: statuses.Phase = statuses.Phase.ANALYZING, labels: dict[str, str] | None = None, weight: int = 0) -> observed.Observed:
    lane = statuses.LaneStatus(
        name="chat", phase=phase, stable="old-1", canary="new-1", weight=weight, phase_since="2026-01-01T12:00:00Z", step_since="2026-01-01T12:05:00Z"
    )
    spec = specs.LLMServiceSpec.model_validate(
        {
            "model": {"uri": "hf://a/b"},
            "engine": {"image": "vllm:v0.32.0"},
            "lanes": [{"name": "chat", "profile": "Interactive", "replicas": 1}],
            "router": {"defaultLane": "chat"},
            "metrics": {"prometheus": {"url": url, "labels": labels or {}}},
        }
    )
    pod = observed.Pod(OLD_POD, "chat", "old-1", NOW, ready=True)
    status = statuses.LLMServiceStatus(lanes=[lane])
    return observed.Observed("assistant", "prod", "uid", 1, NOW, spec, status=status, pods=(pod,))


async def gathered(what: observed.Observed, deadline: float = 2.0, **credentials: Any) -> types.Evidence | types.Unavailable | None:
    async with prometheus.client(**credentials) as http:
        return (await prometheus.evidence(what, http, deadline)).get("chat")


@pytest.mark.parametrize(
    ("phase", "since"),
    [
        pytest.param(statuses.Phase.WARMING, "2026-01-01T12:00:00+00:00", id="the warm-up counts from its own beginning"),
        pytest.param(statuses.Phase.ANALYZING, "2026-01-01T12:05:00+00:00", id="a step counts from its beginning"),
        pytest.param(statuses.Phase.PROMOTING, "2026-01-01T12:05:00+00:00", id="promoting goes on with the step's"),
    ],
)
async def test_every_query_is_asked_exactly_and_once(store: Store, phase: statuses.Phase, since: str) -> None:
    store.answer = good
    begin = datetime.datetime.fromisoformat(since)
    made = await gathered(seen(store.url + "/", phase, {"cluster": "x"}))
    window = queries.Window("assistant", "prod", "chat", "old-1", "new-1", begin, NOW, {"cluster": "x"})
    assert sorted(store.asked) == sorted((query.text, f"{query.time:.3f}") for query in queries.queries(window))
    assert isinstance(made, types.Evidence)
    assert (made.since, made.until, made.stable.requests, made.canary.requests) == (begin, NOW, 30, 3)
    assert (made.stable.replicas, made.canary.replicas, made.canary.histograms["ttft"].counts) == (1, 0, (3, 3))


@pytest.mark.parametrize("phase", [statuses.Phase.IDLE, statuses.Phase.WAITING, statuses.Phase.LOADING, statuses.Phase.ROLLING_BACK])
async def test_without_canary_traffic_nothing_is_asked(store: Store, phase: statuses.Phase) -> None:
    store.answer = good
    assert (await gathered(seen(store.url, phase)), store.asked) == (None, [])


@pytest.mark.parametrize("phase", [statuses.Phase.WAITING, statuses.Phase.LOADING])
async def test_a_canary_that_keeps_its_weight_while_more_replicas_load_is_judged_on(store: Store, phase: statuses.Phase) -> None:
    store.answer = good
    made = await gathered(seen(store.url, phase, weight=10))
    assert isinstance(made, types.Evidence)
    assert made.since == datetime.datetime.fromisoformat("2026-01-01T12:05:00+00:00")


async def test_credentials_go_with_every_query(store: Store) -> None:
    store.answer = good
    await gathered(seen(store.url), token="secret\n", headers={"X-Scope-OrgID": "tenant"})
    assert (store.headers["Authorization"], store.headers["X-Scope-OrgID"]) == ("Bearer secret", "tenant")


def test_a_ca_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="the CA for Prometheus is no PEM certificate"):
        prometheus.client(ca="-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")


NAN = json.dumps(vector(({"__name__": "m", "pod": "p-1"}, "NaN")))
PARTIAL = json.dumps({**vector(), "warnings": ["store is down"]})
MATRIX = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": []}})
BAD = [
    pytest.param(answering(text=NAN), "PrometheusError", "NaN is no count (pod p-1)", id="NaN is no number"),
    pytest.param(answering(text=""), "PrometheusError", "HTTP 200 without JSON: an empty answer", id="an empty answer"),
    pytest.param(answering(text="<html>log in</html>", content_type="text/html"), "PrometheusError", "HTTP 200 without JSON: <html>log in", id="a log-in page"),
    pytest.param(answering(500, "boom"), "PrometheusError", "HTTP 500 without JSON: boom", id="a server error"),
    pytest.param(answering(302, ""), "PrometheusError", "HTTP 302 without JSON", id="a redirection"),
    pytest.param(answering(401, "Unauthorized"), "PrometheusError", "HTTP 401 without JSON: Unauthorized", id="a wrong token"),
    pytest.param(answering(422, '{"status":"error","error":"query timed out"}'), "PrometheusError", "HTTP 422: query timed out", id="an error in JSON"),
    pytest.param(answering(text=PARTIAL), "PrometheusError", "only part of the data: ['store is down']", id="partial data"),
    pytest.param(answering(text=MATRIX), "PrometheusError", "a matrix where a vector was asked for", id="another type of result"),
    pytest.param(answering(text="[]"), "PrometheusError", "HTTP 200: []", id="a list"),
    pytest.param(answering(text='{"status":"success","data":null}'), "PrometheusError", "no result of a query", id="no data"),
    pytest.param(
        answering(text='{"status":"success","data":{"resultType":"vector","result":[1]}}'), "PrometheusError", "no result of a query", id="a broken sample"
    ),
    pytest.param(answering(text=json.dumps(vector())), "NoSeries", "Prometheus has no series of the pods", id="no series"),
]


@pytest.mark.parametrize(("answer", "reason", "words"), BAD)
async def test_what_is_no_result_is_unavailable(store: Store, answer: Handler, reason: str, words: str) -> None:
    store.answer = answer
    made = await gathered(seen(store.url))
    assert isinstance(made, types.Unavailable)
    assert (made.reason, words in made.message) == (reason, True), made.message


async def test_a_slow_answer_ends_at_the_deadline(store: Store) -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        await store.slow.wait()
        return web.Response()

    store.answer = slow
    made = await gathered(seen(store.url), deadline=0.2)
    assert made == types.Unavailable("PrometheusUnreachable", f"Prometheus at {store.url} did not answer within 0.2 s")


@pytest.mark.parametrize(
    ("url", "reason", "words"),
    [
        pytest.param("http://127.0.0.1:1", "PrometheusUnreachable", "All connection attempts failed", id="a refused connection"),
        pytest.param("http://", "NotConfigured", "address 'http:' is none", id="an address without a host"),
        pytest.param("ftp://127.0.0.1", "NotConfigured", "write it as http://", id="another protocol"),
        pytest.param("http://127.0.0.1:99999999", "NotConfigured", "'http://127.0.0.1:99999999' is none", id="a port that is none"),
        pytest.param("http://[::1", "NotConfigured", "address 'http://[::1' is none", id="a broken address"),
        pytest.param("http://me:secret@127.0.0.1:1/", "PrometheusUnreachable", "Prometheus at http://127.0.0.1:1: ", id="a password is not told"),
        pytest.param(None, "NotConfigured", "set spec.metrics.prometheus.url", id="no address at all"),
    ],
)
async def test_what_cannot_be_reached_is_unavailable(url: str | None, reason: str, words: str) -> None:
    made = await gathered(seen(url))
    assert isinstance(made, types.Unavailable)
    assert (made.reason, words.lower() in made.message.lower()) == (reason, True), made.message


async def test_a_label_that_is_none_is_unavailable(store: Store) -> None:
    store.answer = good
    made = await gathered(seen(store.url, labels={"a-b": "c"}))
    assert isinstance(made, types.Unavailable)
    assert (made.reason, store.asked) == ("NotConfigured", [])


async def test_the_installations_address_serves_where_the_service_names_none(store: Store) -> None:
    store.answer = good
    what = dataclasses.replace(seen(None), settings=observed.Settings(prometheus_url=store.url))
    assert isinstance(await gathered(what), types.Evidence)
