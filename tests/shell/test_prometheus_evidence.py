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
from fairlane.core.judge import memory, queries, types
from fairlane.core.routing import document
from fairlane.shell import prometheus

NOW = datetime.datetime(2026, 1, 1, 12, 10, tzinfo=datetime.UTC)
BEGAN = datetime.datetime(2026, 1, 1, 11, 50, tzinfo=datetime.UTC)
UNTIL = NOW - datetime.timedelta(seconds=queries.SETTLE)
LAST = NOW - datetime.timedelta(seconds=20)
OLD_POD, NEW_POD, ROUTER_POD = "assistant-chat-old-1-7f9c-abcde", "assistant-chat-new-1-55d-xyz01", "assistant-router-6b-aaaaa"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclasses.dataclass
class Store:
    """A stub of Prometheus' HTTP API."""

    url: str = ""
    now: float = NOW.timestamp()
    asked: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    answer: Handler | None = None
    mute: bool = False     # not even the time is told
    slow: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.query["query"], request.query.get("time", "now")))
        self.headers = dict(request.headers)
        if request.query["query"] == queries.CLOCK.text and not self.mute:
            return web.json_response(vector(({}, f"{self.now:.3f}")))
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
    """The stable went from 30 to 60 requests since the last tick, the canary from 3 to 9; before the rollout there were 250."""
    text, moment = request.query["query"], float(request.query["time"])
    if text.startswith("max by (pod) (timestamp("):
        return web.json_response(vector(*(({"pod": pod}, str(moment)) for pod in (OLD_POD, NEW_POD, ROUTER_POD))))
    if text.startswith("max by (pod) (last_over_time("):
        return web.json_response(vector(*(({"pod": pod}, "1") for pod in (OLD_POD, NEW_POD, ROUTER_POD))))
    if text.startswith("sum by (pod) (resets("):
        return web.json_response(vector(({"pod": OLD_POD}, "0")))
    if "num_requests_running" in text:
        return web.json_response(vector(({"__name__": "vllm:num_requests_running", "pod": OLD_POD}, "NaN")))
    if "DCGM" in text:
        return web.json_response(vector())
    counts = {UNTIL: (60, 9), LAST: (30, 3), BEGAN: (250, 0)}.get(datetime.datetime.fromtimestamp(moment, datetime.UTC), (0, 0))
    if "envoy_fairlane" in text:
        return web.json_response(vector(tries("old-1", counts[0]), tries("new-1", counts[1])))
    return web.json_response(vector(*buckets(OLD_POD, counts[0]), *buckets(NEW_POD, counts[1])))


def answering(status: int = 200, text: str = "", content_type: str = "application/json") -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, text=text, content_type=content_type)

    return answer


CURSOR = types.Cursor(LAST, (NEW_POD, OLD_POD, ROUTER_POD), (LAST.timestamp(), LAST.timestamp(), LAST.timestamp()), BEGAN)


def remembered(cursor: types.Cursor) -> str:
    return memory.Memory(cursor, BEGAN, memory.Side("old-1"), memory.Side("new-1")).text()


def seen(url: str | None, labels: dict[str, str] | None = None, **lane: Any) -> observed.Observed:
    """A lane under trial; its fields over those of an analysis at its first tick."""
    fields = {"name": "chat", "phase": statuses.Phase.ANALYZING, "stable": "old-1", "canary": "new-1", "started_at": "2026-01-01T11:50:00Z", **lane}
    spec = specs.LLMServiceSpec.model_validate(
        {
            "model": {"uri": "hf://a/b"},
            "engine": {"image": "vllm:v0.32.0"},
            "lanes": [{"name": "chat", "profile": "Interactive", "replicas": 1}],
            "router": {"defaultLane": "chat"},
            "metrics": {"prometheus": {"url": url, "labels": labels or {}}},
        }
    )
    pod = observed.Pod(OLD_POD, "chat", "old-1", BEGAN, ready=True)
    status = statuses.LLMServiceStatus(lanes=[statuses.LaneStatus(**fields)])
    return observed.Observed("assistant", "prod", "uid", 1, NOW, spec, status=status, pods=(pod,))


async def asked(what: observed.Observed, deadline: float = 2.0, **credentials: Any) -> prometheus.Gathered:
    async with prometheus.client(**credentials) as http:
        return await prometheus.gather(what, http, deadline)


async def gathered(what: observed.Observed, deadline: float = 2.0, **credentials: Any) -> types.Evidence | types.Unavailable | None:
    return (await asked(what, deadline, **credentials)).evidence.get("chat")


def exactly(window: queries.Window) -> list[tuple[str, str]]:
    """What a round asks, and as of when."""
    return sorted([(queries.CLOCK.text, "now"), *((query.text, f"{query.time:.3f}") for query in queries.queries(window, UNTIL))])


@pytest.mark.parametrize("phase", [statuses.Phase.WARMING, statuses.Phase.ANALYZING, statuses.Phase.PROMOTING])
async def test_the_first_tick_is_a_baseline_with_a_reference(store: Store, phase: statuses.Phase) -> None:
    store.answer = good
    made = await gathered(seen(store.url + "/", {"cluster": "x"}, phase=phase))
    window = queries.Window("assistant", "prod", "chat", "old-1", "new-1", None, {"cluster": "x"}, BEGAN, "old-1")
    assert sorted(store.asked) == exactly(window)
    assert isinstance(made, types.Evidence)
    assert (made.since, made.until, made.stable.requests, made.canary.requests, made.stable.pods) == (UNTIL, UNTIL, 0, 0, ())
    assert (made.reference["ttft"].counts, made.cursor.pods) == ((250, 250), (NEW_POD, OLD_POD, ROUTER_POD))


async def test_the_next_tick_counts_from_the_last_one_on(store: Store) -> None:
    store.answer = good
    made = await gathered(seen(store.url, judge_state=remembered(CURSOR)))
    assert sorted(store.asked) == exactly(queries.Window("assistant", "prod", "chat", "old-1", "new-1", CURSOR, {}, BEGAN, "old-1"))
    assert isinstance(made, types.Evidence)
    assert (made.since, made.until, made.stable.requests, made.canary.requests) == (LAST, UNTIL, 30, 6)
    assert (made.stable.replicas, made.canary.replicas, made.canary.pods[0].histograms["ttft"].counts) == (1, 0, (6, 6))
    assert (made.reference, made.stable.context.running) == ({}, None)


@pytest.mark.parametrize(("in_use", "expected"), [(None, 3), (2, 2), (4, 3)], ids=["all are in use", "one stands by", "fewer are ready than may be used"])
async def test_pods_that_stand_by_are_no_replicas_of_the_evidence(store: Store, in_use: int | None, expected: int) -> None:
    store.answer = good
    tracks = (document.Track(role="stable", revision="old-1", weight=50, in_use=in_use), document.Track(role="canary", revision="new-1", weight=50))
    lane = document.LaneRoute(name="chat", tracks=tracks)
    routes = document.RouteDocument(namespace="prod", service="assistant", model="m", default_lane="chat", lanes=(lane,))
    around = seen(store.url)
    pods = tuple(dataclasses.replace(around.pods[0], name=f"{OLD_POD}{number}") for number in range(3))
    made = await gathered(dataclasses.replace(around, pods=pods, routes=routes))
    assert isinstance(made, types.Evidence)
    assert (made.stable.replicas, made.canary.replicas) == (expected, 0)


async def test_a_fresh_baseline_takes_the_stables_place(store: Store) -> None:
    store.answer = good
    made = await gathered(seen(store.url, baseline="old-2"))
    assert sorted(store.asked) == exactly(queries.Window("assistant", "prod", "chat", "old-2", "new-1", None, {}, BEGAN, "old-1"))
    assert isinstance(made, types.Evidence)
    assert made.stable.revision == "old-2"


@pytest.mark.parametrize("phase", [statuses.Phase.IDLE, statuses.Phase.WAITING, statuses.Phase.LOADING, statuses.Phase.ROLLING_BACK])
async def test_without_canary_traffic_nothing_is_asked_of_it(store: Store, phase: statuses.Phase) -> None:
    store.answer = good
    assert (await gathered(seen(store.url, phase=phase, expected="said")), store.asked) == (None, [])


@pytest.mark.parametrize("phase", [statuses.Phase.WAITING, statuses.Phase.LOADING])
async def test_a_canary_that_keeps_its_weight_while_more_replicas_load_is_judged_on(store: Store, phase: statuses.Phase) -> None:
    store.answer = good
    assert isinstance(await gathered(seen(store.url, phase=phase, weight=10)), types.Evidence)


@pytest.mark.parametrize(
    ("ago", "asks"),
    [
        pytest.param(4.9, False, id="a pass that something else woke asks nothing"),
        pytest.param(5.0, True, id="from half an interval on it asks"),
        pytest.param(-3.0, True, id="a clock ahead of ours keeps nobody from asking"),
    ],
)
async def test_one_round_per_interval(store: Store, ago: float, asks: bool) -> None:
    store.answer = good
    cursor = dataclasses.replace(CURSOR, until=NOW - datetime.timedelta(seconds=ago))
    found = await asked(seen(store.url, judge_state=remembered(cursor)))
    assert (bool(store.asked), bool(found.evidence)) == (asks, asks)


RATE = json.dumps({"status": "success", "data": {"resultType": "vector", "result": [{"metric": {}, "value": [0, "2.5"]}]}})


@pytest.mark.parametrize(
    ("status", "text", "lane", "rates"),
    [
        pytest.param(200, RATE, {}, {"chat": 2.5}, id="a lane whose canary loads"),
        pytest.param(200, RATE, {"phase": statuses.Phase.WAITING}, {"chat": 2.5}, id="or waits"),
        pytest.param(200, RATE, {"expected": "said"}, {}, id="not where it is said already"),
        pytest.param(200, RATE, {"canary": ""}, {}, id="nor without a canary"),
        pytest.param(200, RATE.replace("2.5", "NaN"), {}, {}, id="no number is none"),
        pytest.param(200, RATE.replace('{"metric": {}, "value": [0, "2.5"]}', ""), {}, {}, id="a lane without a sample has none"),
        pytest.param(500, "boom", {}, {}, id="a failure is none"),
    ],
)
async def test_the_rate_of_a_lane_whose_canary_loads(store: Store, status: int, text: str, lane: dict[str, Any], rates: dict[str, float]) -> None:
    store.answer = answering(status, text)
    assert await asked(seen(store.url, **{"phase": statuses.Phase.LOADING, **lane})) == prometheus.Gathered({}, rates)


@pytest.mark.parametrize(
    ("ahead", "words"),
    [
        pytest.param(-61.0, "Prometheus' clock is 61 s behind the operator's: synchronise", id="a minute behind"),
        pytest.param(61.0, "Prometheus' clock is 61 s ahead of the operator's: synchronise", id="a minute ahead"),
        pytest.param(-15.1, "Prometheus' clock is 15 s behind the operator's", id="just too much"),
        pytest.param(-15.0, "", id="what may be"),
        pytest.param(14.0, "", id="the same ahead"),
    ],
)
async def test_the_clocks_must_agree(store: Store, ahead: float, words: str) -> None:
    store.answer, store.now = good, NOW.timestamp() + ahead
    made = await gathered(seen(store.url))
    assert isinstance(made, types.Unavailable) == bool(words)
    if isinstance(made, types.Unavailable):
        assert (made.reason, words in made.message, len(store.asked)) == ("ClockSkew", True, 1), made.message


async def test_a_clock_that_went_back_counts_nothing_twice(store: Store) -> None:
    store.answer, store.now = good, LAST.timestamp()
    what = dataclasses.replace(seen(store.url, judge_state=remembered(CURSOR)), now=LAST + datetime.timedelta(seconds=8))
    made = await gathered(what)
    assert isinstance(made, types.Unavailable)
    assert (made.reason, made.message[:42]) == ("ClockSkew", "Prometheus' clock went back by 2 s or more")


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
    pytest.param(answering(text=NAN), "PrometheusError", "nan is no count (m of pod p-1)", id="NaN is no number"),
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


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(answering(text="<html>log in</html>", content_type="text/html"), "query clock: HTTP 200 without JSON: <html>log in", id="a log-in page"),
        pytest.param(answering(text=json.dumps(vector())), "query clock: no time in the answer", id="no time"),
        pytest.param(answering(text=json.dumps(vector(({}, "1e300")))), "query clock: no time in the answer", id="a time that is none"),
    ],
)
async def test_without_the_time_nothing_else_is_asked(store: Store, answer: Handler, words: str) -> None:
    store.answer, store.mute = answer, True
    made = await gathered(seen(store.url))
    assert isinstance(made, types.Unavailable)
    assert (made.reason, words in made.message, len(store.asked)) == ("PrometheusError", True, 1), made.message


async def test_an_answer_that_is_too_big_is_not_read_to_its_end(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "MAX_BYTES", 2**20)
    store.answer = answering(text=" " * (2**20 + 1))
    made = await gathered(seen(store.url))
    assert isinstance(made, types.Unavailable)
    assert (made.reason, "the answer is over 1 MiB" in made.message) == ("PrometheusError", True), made.message


async def test_a_history_that_is_lost_is_told_with_where_to_go_on(store: Store) -> None:
    async def fresh(request: web.Request) -> web.StreamResponse:
        return await good(request) if float(request.query["time"]) == UNTIL.timestamp() else web.json_response(vector())

    store.answer = fresh
    made = await gathered(seen(store.url, judge_state=remembered(CURSOR)))
    assert isinstance(made, types.Unavailable)
    assert (made.reason, made.cursor and made.cursor.until, made.cursor and made.cursor.began) == ("HistoryLost", UNTIL, BEGAN)


@pytest.mark.parametrize("mute", [pytest.param(True, id="all of it"), pytest.param(False, id="all but the time")])
async def test_a_slow_answer_ends_at_the_deadline(store: Store, mute: bool) -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        await store.slow.wait()
        return web.Response()

    store.answer, store.mute = slow, mute
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
    assert (made.reason, store.asked) == ("NotConfigured", [(queries.CLOCK.text, "now")])


async def test_the_installations_address_serves_where_the_service_names_none(store: Store) -> None:
    store.answer = good
    what = dataclasses.replace(seen(None), settings=observed.Settings(prometheus_url=store.url))
    assert isinstance(await gathered(what), types.Evidence)
