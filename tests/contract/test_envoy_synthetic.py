"""Synthetic requests at a real Envoy: only their key makes them such, both tracks get them, users' numbers leave them out and the judge's do not."""

import json
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping

import httpx
import pytest
from tests.contract import envoy_engines, envoy_load, envoy_rig

from fairlane.core.load import document as loads
from fairlane.core.routing import document, metrics

BODY, PATH, KEY, MARK = envoy_load.BODY, envoy_load.PATH, "0f" * 16, "x-fairlane-synthetic"
COUNT = 200


def route(weight: int = 50, key: str = KEY) -> document.RouteDocument:
    """A lane on trial that nobody may name, and the default lane beside it."""
    quiet = envoy_rig.lane(
        "quiet", ("stable", "r-1", 100 - weight), ("canary", "r-2", weight), synthetic_key=key, allow_named=False, max_prompt_tokens=100, max_output_tokens=64
    )
    return envoy_rig.routes(quiet, envoy_rig.lane("docs", ("stable", "d-1", 100), max_prompt_tokens=32_768))


@pytest.fixture(scope="module")
def engines() -> Iterator[envoy_engines.Engines]:
    with envoy_engines.Engines("s", "c", "d") as running:
        yield running


@pytest.fixture
def rig(engines: envoy_engines.Engines) -> Iterator[envoy_rig.Rig]:
    with envoy_rig.running(route(), found(engines)) as running:
        yield running


def found(engines: envoy_engines.Engines, *without: str) -> dict[str, tuple[object, ...]]:
    places = {"quiet/r-1": "s", "quiet/r-2": "c", "docs/d-1": "d"}
    return {place: envoy_rig.at(*([] if name in without else [engines[name].port])) for place, name in places.items()}


def send(rig: envoy_rig.Rig, count: int, headers: Mapping[str, str], body: Mapping[str, object] = BODY) -> list[httpx.Response]:
    with httpx.Client(base_url=rig.url, headers=headers) as client:
        return [client.post(PATH, json=body) for _ in range(count)]


def test_the_judge_counts_them_on_both_tracks_and_users_numbers_do_not(rig: envoy_rig.Rig) -> None:
    stream = {**BODY, "prompt": "a", "stream": True}
    answers = send(rig, COUNT, {MARK: KEY}, stream)
    send(rig, 3, {}, stream)
    assert {(answer.status_code, answer.headers["x-fairlane-lane"]) for answer in answers} == {(200, "quiet")}
    by_revision = {name: sum(answer.headers["x-fairlane-revision"] == name for answer in answers) for name in ("r-1", "r-2")}
    assert min(by_revision.values()) >= 65, "an even split; five standard deviations"
    envoy_rig.until(lambda: rig.total(metrics.TTFT + "_count") == COUNT + 3)
    for name, expected in by_revision.items():
        series = {"fairlane_lane": "quiet", "fairlane_revision": name, metrics.SYNTHETIC: "1"}
        judged = (metrics.TRIES, metrics.TTFT + "_count", metrics.DURATION + "_count")
        assert [rig.total(metric, **series) for metric in judged] == [expected] * 3
    assert (rig.total(metrics.REQUESTS), rig.total(metrics.SYNTHETIC_REQUESTS, fairlane_lane="quiet", code="200")) == (3, COUNT)
    assert (rig.total(metrics.TRIES, fairlane_synthetic=""), rig.total(metrics.TTFT + "_count", fairlane_synthetic="")) == (3, 3)


def test_the_log_tells_them_apart(rig: envoy_rig.Rig) -> None:
    send(rig, 1, {MARK: KEY, "x-request-id": "fairlane-synthetic-1"})
    send(rig, 1, {"x-request-id": "mine"})
    envoy_rig.until(lambda: len(rig.log()) == 2)
    seen = {line["request_id"]: (line["synthetic"], line["rule"], line["lane"]) for line in rig.log()}
    assert seen == {"fairlane-synthetic-1": ("1", "synthetic", "quiet"), "mine": (None, "size", "quiet")}


@pytest.mark.parametrize("mark", ["1", "", "0" * 32, KEY.upper(), f"{KEY},{KEY}", KEY[:-1]])
def test_a_client_without_the_key_hides_nothing(rig: envoy_rig.Rig, engines: envoy_engines.Engines, mark: str) -> None:
    before = engines["s"].served + engines["c"].served
    answer = send(rig, 1, {MARK: mark})[0]
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "synthetic_refused")
    assert engines["s"].served + engines["c"].served == before
    assert (rig.total(metrics.SYNTHETIC_REQUESTS), rig.total(metrics.TRIES)) == (0, 0)


def test_a_failure_of_the_engine_is_the_canarys_and_no_users(rig: envoy_rig.Rig, engines: envoy_engines.Engines) -> None:
    engines["c"].mode = "500"
    try:
        answers = send(rig, 20, {MARK: KEY})
    finally:
        engines["c"].mode = "ok"
    failed = rig.total(metrics.FAILURES, fairlane_revision="r-2", fairlane_synthetic="1")
    assert {answer.status_code for answer in answers} == {200}, "tried again at the stable, as a user's request is"
    assert (failed >= 3, rig.total(metrics.FAILURES)) == (True, failed)
    assert rig.total(metrics.REQUESTS) == 0


GONE: dict[str, tuple[document.RouteDocument, tuple[str, ...], bool]] = {
    "the rollout has ended": (route(key=""), (), False),
    "the canary has no weight": (route(weight=0), (), False),
    "the canary has all of it": (route(weight=100), (), False),
    "the canary has no engine": (route(), ("c",), False),
    "the operator is silent: fail-safe": (route(), (), True),
}


@pytest.mark.parametrize(("after", "without", "fail_safe"), GONE.values(), ids=GONE.keys())
def test_none_is_taken_where_there_is_nothing_to_compare(
    rig: envoy_rig.Rig, engines: envoy_engines.Engines, after: document.RouteDocument, without: tuple[str, ...], fail_safe: bool
) -> None:
    assert send(rig, 1, {MARK: KEY})[0].status_code == 200
    assert rig.give(after, found(engines, *without), fail_safe=fail_safe).taken
    envoy_rig.until(lambda: send(rig, 1, {MARK: KEY})[0].status_code == 403)
    assert send(rig, 1, {})[0].status_code == 200


def test_the_lanes_own_bounds_hold_for_them(rig: envoy_rig.Rig) -> None:
    long = {"prompt": "a" * 1_000}
    assert [send(rig, 1, {MARK: KEY}, body)[0].status_code for body in (long, {**BODY, "max_tokens": 65})] == [403, 400]


async def test_a_full_lane_refuses_them_as_it_does_users() -> None:
    with envoy_engines.Engines("s", "c", "d") as engines:
        engines["s"].delay = engines["c"].delay = 0.2
        full = route().model_copy(update={"lanes": (route().lanes[0].model_copy(update={"max_in_flight": 2}), route().lanes[1])})
        with envoy_rig.running(full, found(engines)) as rig:
            async with envoy_load.steady(rig.url, 4, BODY):
                async with httpx.AsyncClient(base_url=rig.url, headers={MARK: KEY}) as client:
                    refused = False
                    while not refused:
                        refused = (await client.post(PATH, json=BODY)).status_code == 429
            assert rig.total(metrics.SYNTHETIC_REQUESTS, code="429", flags="UO") >= 1


def test_the_sender_reaches_both_tracks_and_stops_with_the_rollout(rig: envoy_rig.Rig, engines: envoy_engines.Engines, tmp_path: pathlib.Path) -> None:
    told = loads.Load(
        url=rig.url, lane="quiet", model="default", key=KEY, rate=50.0, max_requests=10_000, in_flight=8, prompt_tokens=(10, 90), output_tokens=(1, 64)
    )
    (tmp_path / loads.KEY).write_text(told.model_dump_json())
    environment = os.environ | {"PYTHONPATH": "operator", "FAIRLANE_LOAD_DIR": str(tmp_path), "FAIRLANE_RUN_DIR": str(tmp_path)}
    repository = pathlib.Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-m", "fairlane", "load"], cwd=repository, env=environment, stderr=subprocess.PIPE) as sender:
        envoy_rig.until(lambda: rig.total(metrics.SYNTHETIC_REQUESTS, code="200") >= 60, 30)
        assert rig.give(route(weight=0), found(engines)).taken
        served = envoy_rig.until(lambda: engines["s"].served + engines["c"].served)
        envoy_rig.until(lambda: [line for line in rig.log() if line["code"] == 403], 30)
        sender.send_signal(signal.SIGTERM)
        assert sender.wait(10) == 0
    assert engines["s"].served + engines["c"].served - served <= 8, "only what was on its way"
    lines = rig.log()
    answered = [line for line in lines if line["code"] == 200]
    assert {(line["lane"], line["synthetic"], line["stream"], line["request_id"][:19]) for line in answered} == {("quiet", "1", "1", "fairlane-synthetic-")}
    assert {line["track"] for line in answered} == {"stable", "canary"}
    assert all(10 <= int(line["prompt_tokens"]) <= 90 for line in answered)
    assert len(answered) <= json.loads((tmp_path / "sent.json").read_text())["sent"] <= len(lines) + 8
    assert rig.total(metrics.REQUESTS) == 0
