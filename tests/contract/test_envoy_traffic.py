"""What a real Envoy does with the rendered files under traffic: bounds, splits, retries, changes of weight."""

import asyncio
import collections
import time

import httpx
import pytest
from tests.contract import envoy_engines, envoy_load, envoy_rig

from fairlane.core.routing import document, endpoints, metrics

BODY, STREAM, PATH = envoy_load.BODY, envoy_load.STREAM, envoy_load.PATH


def two_tracks(weight: int, **fields: object) -> document.RouteDocument:
    """One lane, its stable r-1 and its canary r-2."""
    return envoy_rig.routes(envoy_rig.lane("chat", ("stable", "r-1", 100 - weight), ("canary", "r-2", weight), **fields))


def found(engines: envoy_engines.Engines) -> dict[str, tuple[endpoints.Endpoint, ...]]:
    """Engines named s… are the stable's, c… the canary's."""
    ports = {letter: [one.port for one in engines.by_name.values() if one.name[0] == letter] for letter in "sc"}
    return {"chat/r-1": envoy_rig.at(*ports["s"]), "chat/r-2": envoy_rig.at(*ports["c"])}


async def test_a_lane_s_bound_is_exact_and_refusals_say_why() -> None:
    with envoy_engines.Engines("s1", "s2", "c1") as engines:
        for engine in engines.by_name.values():
            engine.delay = 0.15
        with envoy_rig.running(two_tracks(10, max_in_flight=8), found(engines)) as rig:
            answers = await envoy_load.load(rig.url, 128, 64)
            assert engines.most == 8
            assert set(envoy_load.codes(answers)) == {200, 429}
            refused = next(answer for answer in answers if answer.status_code == 429)
            assert (refused.headers["retry-after"], refused.headers["x-fairlane-lane"]) == ("1", "chat")
            assert refused.json()["error"]["code"] == "lane_overloaded"
            assert "Lane chat has all the requests in flight" in refused.json()["error"]["message"]
            assert "x-fairlane-revision" not in refused.headers
            below = await envoy_load.load(rig.url, 64, 8)
            assert envoy_load.codes(below) == {200: 64}, "with one router nothing is refused below the bound"
            expected = envoy_load.codes(answers)[200] + 64
            assert (rig.total(metrics.TRIES), rig.total(metrics.FAILURES)) == (expected, 0), "a refusal is no try"
            assert rig.total(metrics.REQUESTS, code="429", fairlane_lane="chat", fairlane_revision="") == envoy_load.codes(answers)[429]


async def test_those_refused_complete_after_they_waited_as_told() -> None:
    with envoy_engines.Engines("s1") as engines:
        engines["s1"].delay = 0.05
        with envoy_rig.running(two_tracks(0, max_in_flight=8), found(engines)) as rig:

            async def patient(client: httpx.AsyncClient) -> int:
                while (answer := await client.post(PATH, json=BODY)).status_code == 429:  # noqa: ASYNC110  (as told by the router)
                    await asyncio.sleep(float(answer.headers["retry-after"]))
                return answer.status_code

            async with httpx.AsyncClient(base_url=rig.url, timeout=20, limits=httpx.Limits(max_connections=24)) as client:
                done = await asyncio.gather(*(patient(client) for _ in range(24)))
            assert (set(done), engines.most) == ({200}, 8)


async def test_the_bound_is_shared_by_the_routers_and_changes_without_a_new_cluster() -> None:
    with envoy_engines.Engines("s1") as engines:
        engines["s1"].delay = 0.1
        route = two_tracks(0, max_in_flight=8).model_copy(update={"router_replicas": 2})
        with envoy_rig.running(route, found(engines)) as rig:
            await envoy_load.load(rig.url, 32, 16)
            assert engines.most == 4
            assert rig.give(two_tracks(0, max_in_flight=12), found(engines)).taken
            await envoy_load.load(rig.url, 64, 32)
            assert (engines.most, rig.counter("cluster_modified")) == (12, 0)


async def test_the_split_is_by_weight_and_measured_by_revision() -> None:
    with envoy_engines.Engines("s1", "s2", "c1") as engines, envoy_rig.running(two_tracks(10), found(engines)) as rig:
        answers = await envoy_load.load(rig.url, 1_000, 8)
        of_canary = [answer for answer in answers if answer.headers["x-fairlane-revision"] == "r-2"]
        assert envoy_load.codes(answers) == {200: 1_000}
        assert 60 <= len(of_canary) <= 145   # four standard deviations
        assert {answer.headers["x-fairlane-track"] for answer in of_canary} == {"canary"}
        assert engines["c1"].served == len(of_canary)
        envoy_rig.until(lambda: rig.total(metrics.DURATION + "_count") == 1_000)
        assert rig.total(metrics.TRIES, fairlane_revision="r-2", fairlane_lane="chat", code="200", flags="-") == len(of_canary)
        assert rig.total(metrics.DURATION_BUCKET, fairlane_revision="r-2", le="+Inf") == len(of_canary)


@pytest.mark.parametrize("mode", ["500", "503", "reset", "closed"])
async def test_a_failed_canary_try_goes_to_the_stable_and_counts_against_the_canary(mode: str) -> None:
    with envoy_engines.Engines("s1", "s2", "c1") as engines:
        engines["c1"].mode = mode
        serving = found(engines)
        if mode == "closed":
            serving["chat/r-2"] = envoy_rig.at(*envoy_rig.free_ports(1))
        with envoy_rig.running(two_tracks(30), serving) as rig:
            answers = await envoy_load.load(rig.url, 300, 4)
            assert envoy_load.codes(answers) == {200: 300}
            assert {answer.headers["x-fairlane-revision"] for answer in answers} == {"r-1"}
            failed = rig.total(metrics.FAILURES, fairlane_revision="r-2")
            assert failed >= 3, "outlier detection may take the canary out after some"
            assert failed == rig.total(metrics.TRIES, fairlane_revision="r-2")
            assert rig.total(metrics.FAILURES, fairlane_revision="r-1") == 0


async def test_a_canary_without_weight_gets_nothing_even_by_retries() -> None:
    with envoy_engines.Engines("s1", "c1") as engines:
        engines["s1"].mode = "503"
        with envoy_rig.running(two_tracks(0), found(engines)) as rig:
            answers = await envoy_load.load(rig.url, 50, 4)
            assert (envoy_load.codes(answers), engines["c1"].served) == ({503: 50}, 0)


async def test_one_engine_of_two_that_dies_costs_no_answer() -> None:
    with envoy_engines.Engines("s1", "s2") as engines, envoy_rig.running(two_tracks(0), found(engines)) as rig:
        async with envoy_load.steady(rig.url, 8, BODY) as answers:
            await envoy_load.grown(answers, 100)
            engines["s1"].mode = "reset"
            await envoy_load.grown(answers, 400)
        assert {code for code, _, _ in answers} == {200}


async def test_a_track_without_engines_has_no_weight() -> None:
    with envoy_engines.Engines("s1", "c1") as engines:
        without_canary = {"chat/r-1": envoy_rig.at(engines["s1"].port)}
        with envoy_rig.running(two_tracks(50), without_canary) as rig:
            assert envoy_load.codes(await envoy_load.load(rig.url, 50, 4)) == {200: 50}
            assert rig.give(two_tracks(50), {"chat/r-2": envoy_rig.at(engines["c1"].port)}).taken
            answers = await envoy_load.load(rig.url, 50, 4)
            assert {(answer.status_code, answer.headers.get("x-fairlane-revision")) for answer in answers} == {(200, "r-2")}


async def test_a_lane_without_engines_says_so() -> None:
    with envoy_rig.running(envoy_rig.routes(envoy_rig.lane("chat")), {}) as rig:
        answer = (await envoy_load.load(rig.url, 1, 1))[0]
        assert (answer.status_code, answer.headers["retry-after"], answer.headers["x-fairlane-lane"]) == (503, "5", "chat")
        assert answer.json()["error"]["code"] == "lane_unavailable"
        assert "chat has no engine" in answer.json()["error"]["message"]


async def test_weights_and_promotions_under_load_lose_nothing() -> None:
    with envoy_engines.Engines("s1", "s2", "c1") as engines:
        for engine in engines.by_name.values():
            engine.delay = 0.05
        everything = found(engines)
        promoted = envoy_rig.routes(envoy_rig.lane("chat", ("stable", "r-2", 100)))
        with envoy_rig.running(two_tracks(0), everything) as rig:
            async with envoy_load.steady(rig.url, 6, STREAM) as streams, envoy_load.steady(rig.url, 6, BODY) as answers:
                for _ in range(3):
                    for route in (two_tracks(10), two_tracks(50), two_tracks(100), promoted, two_tracks(0)):
                        rig.swap(route, everything)
                        await envoy_load.grown(answers, 12)
                assert rig.give(promoted, everything).taken
                await envoy_load.grown(answers, 24)
                since = len(answers)
                await envoy_load.grown(answers, 24)
            assert {code for code, _, _ in streams + answers} == {200}
            assert {end.endswith("[DONE]\n\n") for _, _, end in streams} == {True}
            assert {revision for _, revision, _ in answers[since:]} == {"r-2"}
            refused = {name: value for name, value in rig.statistics().items() if name.endswith(("rejected", "failure")) and value != "0"}
            assert (refused, rig.counter("cluster_modified")) == ({}, 0)


async def test_a_lane_is_added_and_removed_under_load() -> None:
    with envoy_engines.Engines("s1") as engines:
        everything = found(engines) | {"docs/d-1": envoy_rig.at(engines["s1"].port)}
        one, docs = two_tracks(0), envoy_rig.lane("docs", ("stable", "d-1", 100))
        two = one.model_copy(update={"lanes": (*one.lanes, docs)})
        with envoy_rig.running(one, everything) as rig:
            async with envoy_load.steady(rig.url, 4, BODY) as answers:
                for _ in range(3):
                    assert (await asyncio.to_thread(rig.give, two, everything)).taken
                    named = await asyncio.to_thread(httpx.post, rig.url + "/lanes/docs" + PATH, json=BODY)
                    assert named.headers["x-fairlane-lane"] == "docs"
                    assert (await asyncio.to_thread(rig.give, one, everything)).taken
            assert {code for code, _, _ in answers} == {200}


async def test_an_engine_that_leaves_the_endpoints_gets_nothing_new_and_ends_its_streams() -> None:
    with envoy_engines.Engines("s1", "s2") as engines:
        engines["s1"].delay = engines["s2"].delay = 1.0
        both = found(engines)
        leaving = (endpoints.Endpoint("127.0.0.1", engines["s1"].port, serving=False), endpoints.Endpoint("127.0.0.1", engines["s2"].port))
        with envoy_rig.running(two_tracks(0), both) as rig:
            open_streams = asyncio.create_task(envoy_load.load(rig.url, 8, 8, STREAM))
            await asyncio.to_thread(envoy_rig.until, lambda: sum(one.in_flight for one in engines.by_name.values()) == 8)
            assert (await asyncio.to_thread(rig.give, two_tracks(0), {"chat/r-1": leaving})).taken
            before = engines["s1"].served
            assert before > 0
            engines["s2"].delay = 0.0
            assert envoy_load.codes(await envoy_load.load(rig.url, 30, 4)) == {200: 30}
            ended = await open_streams
            assert {answer.text.endswith("[DONE]\n\n") for answer in ended} == {True}
            assert engines["s1"].served == before


async def test_a_router_that_leaves_asks_clients_to_go_and_still_serves() -> None:
    with envoy_engines.Engines("s1") as engines, envoy_rig.running(two_tracks(0), found(engines)) as rig:
        rig.post_admin("/healthcheck/fail")
        assert not await asyncio.to_thread(rig.serves)
        answer = (await envoy_load.load(rig.url, 1, 1))[0]
        assert (answer.status_code, answer.headers["connection"]) == (200, "close")


def test_the_metrics_port_gives_statistics_and_nothing_else() -> None:
    with envoy_rig.running(envoy_rig.routes(envoy_rig.lane("chat")), {}) as rig:
        base = f"http://127.0.0.1:{rig.place.metrics_port}"
        assert httpx.get(f"{base}/stats/prometheus").status_code == 200
        assert [httpx.post(f"{base}/quitquitquit").status_code, httpx.get(f"{base}/config_dump").status_code] == [404, 404]


async def test_a_refusal_comes_at_once() -> None:
    with envoy_engines.Engines("s1") as engines:
        engines["s1"].delay = 2.0
        with envoy_rig.running(two_tracks(0, max_in_flight=2), found(engines)) as rig:
            held = asyncio.create_task(envoy_load.load(rig.url, 2, 2))
            await asyncio.to_thread(envoy_rig.until, lambda: engines["s1"].in_flight == 2)
            begun = time.monotonic()
            refused = await envoy_load.load(rig.url, 5, 1)
            assert (envoy_load.codes(refused), time.monotonic() - begun < 1) == ({429: 5}, True)
            assert envoy_load.codes(await held) == {200: 2}


async def test_a_baseline_has_its_share_and_is_the_stable_to_clients() -> None:
    with envoy_engines.Engines("s1", "c1", "b1") as engines:
        split = ("stable", "r-1", 60), ("canary", "r-2", 20), ("baseline", "r-3", 20)
        known = found(engines) | {"chat/r-3": envoy_rig.at(engines["b1"].port)}
        with envoy_rig.running(envoy_rig.routes(envoy_rig.lane("chat", *split)), known) as rig:
            answers = await envoy_load.load(rig.url, 400, 8)
            assert envoy_load.codes(answers) == {200: 400}
            told = collections.Counter((answer.headers["x-fairlane-revision"], answer.headers["x-fairlane-track"]) for answer in answers)
            assert set(told) == {("r-1", "stable"), ("r-2", "canary"), ("r-3", "stable")}
            assert all(40 <= told[revision, track] <= 130 for revision, track in (("r-2", "canary"), ("r-3", "stable")))
            assert rig.total(metrics.TRIES, fairlane_revision="r-3") == told["r-3", "stable"]
