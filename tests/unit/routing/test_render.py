"""The rendered files: what changes with what, and whether Envoy took them."""

import itertools
import json

import pytest

from fairlane.core.routing import document, endpoints, metrics, place, render, taken

PLACE = place.Place()
FOUND = {"chat/r-1": (endpoints.Endpoint("10.0.0.1"),), "chat/r-2": (endpoints.Endpoint("10.0.0.2"),)}


def route(weight: int = 10, **fields: object) -> document.RouteDocument:
    tracks = (document.Track(role="stable", revision="r-1", weight=100 - weight), document.Track(role="canary", revision="r-2", weight=weight))
    lane = document.LaneRoute.model_validate({"name": "chat", "tracks": tracks, "max_in_flight": 64} | fields)
    return document.RouteDocument(namespace="n", service="s", model="m", default_lane="chat", lanes=(lane,))


def changed(before: document.RouteDocument, after: document.RouteDocument) -> set[str]:
    first, second = (render.files(one, FOUND, False, PLACE) for one in (before, after))
    return {name for name in first | second if first.get(name) != second.get(name)}


CHANGES: dict[str, tuple[document.RouteDocument, set[str]]] = {
    "nothing": (route(), set()),
    "a weight": (route(50), {"rds.json"}),
    "a time limit": (route(idle_seconds=5), {"rds.json"}),
    "a class": (route(max_prompt_tokens=5, callers=("a",)), {"rds.json"}),
    "a bound": (route(max_in_flight=8), {"rtds.json"}),
    "the number of routers": (route().model_copy(update={"router_replicas": 4}), {"rtds.json"}),
    "another lane": (route().model_copy(update={"lanes": (*route().lanes, document.LaneRoute(name="docs"))}), {"rds.json", "cds.json", "eds-docs.json"}),
}


@pytest.mark.parametrize(("after", "expected"), CHANGES.values(), ids=CHANGES.keys())
def test_a_change_touches_only_its_files(after: document.RouteDocument, expected: set[str]) -> None:
    assert changed(route(), after) == expected


def test_a_promotion_changes_endpoints_and_routes_but_no_cluster() -> None:
    lane = document.LaneRoute(name="chat", max_in_flight=64, tracks=(document.Track(role="stable", revision="r-2", weight=100),))
    assert changed(route(), route().model_copy(update={"lanes": (lane,)})) == {"rds.json", "eds-chat.json"}


def test_a_router_s_share_of_a_bound_is_rounded_down_and_never_nothing() -> None:
    def share(bound: int | None, routers: int) -> object:
        given = route(max_in_flight=bound).model_copy(update={"router_replicas": routers})
        layer = json.loads(render.files(given, FOUND, False, PLACE)["rtds.json"])["resources"][0]["layer"]
        return layer.get("circuit_breakers.lane_chat.default.max_requests")

    assert [share(64, 3), share(8, 1), share(1, 2), share(None, 2)] == [21, 8, 1, None]


def test_every_file_but_the_bootstrap_has_a_version() -> None:
    files = render.files(route().model_copy(update={"tls": True}), FOUND, False, PLACE)
    assert set(render.versions(files)) == set(files) - {"bootstrap.json"} == {"lds.json", "rds.json", "cds.json", "rtds.json", "sds.json", "eds-chat.json"}


def test_buckets_show_a_change_by_a_fifth() -> None:
    edges = metrics.BUCKETS_MS
    assert (edges[0], edges[-1]) == (10, 600_000)
    assert max(after / before for before, after in itertools.pairwise(edges)) <= 1.2


VERSIONS = {"rds.json": "b", "eds-chat.json": "e"}
TOOK = {"http.ingress.rds.routes.version_text": "b", "cluster.lane_chat.version_text": "e"}
OLD = TOOK | {"http.ingress.rds.routes.version_text": "a"}
REJECTED = "http.ingress.rds.routes.update_rejected"

ANSWERS: dict[str, tuple[dict[str, str], dict[str, str], tuple[bool, str]]] = {
    "it has all of them": ({}, TOOK, (True, "")),
    "it has not read them yet": (OLD, OLD, (False, "")),
    "it refused one before, not this time": (OLD | {REJECTED: "3"}, OLD | {REJECTED: "3"}, (False, "")),
    "it refused one": (OLD | {REJECTED: "3"}, OLD | {REJECTED: "4"}, (False, "rds.json")),
    "it could not read one": (OLD, OLD | {"http.ingress.rds.routes.update_failure": "1"}, (False, "rds.json")),
    "it does not know the lane yet": (OLD, {"http.ingress.rds.routes.version_text": "b"}, (False, "")),
}


@pytest.mark.parametrize(("before", "now", "expected"), ANSWERS.values(), ids=ANSWERS.keys())
def test_whether_envoy_took_the_files(before: dict[str, str], now: dict[str, str], expected: tuple[bool, str]) -> None:
    answer = taken.judge(VERSIONS, before, now)
    assert (answer.taken, expected[1] in answer.rejected, bool(answer.rejected)) == (expected[0], True, bool(expected[1]))


def test_envoy_s_statistics_are_read_line_by_line() -> None:
    text = 'runtime.version_text: "abc"\nhttp.ingress.downstream_rq_active: 7\n\nnoise\ncluster.x.upstream_rq_time: No recorded values\n'
    stats = taken.parse(text)
    assert (stats["runtime.version_text"], taken.active_requests(stats), taken.active_requests({})) == ("abc", 7, 0)


def test_clients_are_told_that_a_baseline_is_the_stable() -> None:
    others = (document.Track(role="canary", revision="r-2", weight=10), document.Track(role="baseline", revision="r-3", weight=10))
    lane = document.LaneRoute(name="chat", tracks=(document.Track(role="stable", revision="r-1", weight=80), *others))
    found = FOUND | {"chat/r-3": (endpoints.Endpoint("10.0.0.3"),)}
    files = render.files(route().model_copy(update={"lanes": (lane,)}), found, False, PLACE)
    engines = json.loads(files["eds-chat.json"])["resources"][0]["endpoints"][0]["lb_endpoints"]
    told = [engine["metadata"]["filter_metadata"]["envoy.lb"] for engine in engines]
    assert [(one["role"], one["track"]) for one in told] == [("stable", "stable"), ("canary", "canary"), ("baseline", "stable")]
    assert '"role": "baseline"' in files["rds.json"]
    assert "envoy.lb:track" in files["lds.json"]


STANDING = {"chat/r-1": (endpoints.Endpoint("10.0.0.1"), endpoints.Endpoint("10.0.0.3")), "chat/r-2": (endpoints.Endpoint("10.0.0.2"),)}


def choices(in_use: int | None, found: endpoints.Endpoints = STANDING, fail_safe: bool = False, keep: str = "Stable") -> list[tuple[int, list[str]]]:
    """Priorities and the roles of their engines, the canary having half of the lane."""
    tracks = (document.Track(role="stable", revision="r-1", weight=50, in_use=in_use), document.Track(role="canary", revision="r-2", weight=50))
    files = render.files(route(tracks=tracks, fail_safe=keep), found, fail_safe, PLACE)
    groups = json.loads(files["eds-chat.json"])["resources"][0]["endpoints"]
    roles = [[one["metadata"]["filter_metadata"]["envoy.lb"]["role"] for one in group["lb_endpoints"]] for group in groups]
    return [(group.get("priority", 0), role) for group, role in zip(groups, roles, strict=True)]


EVERY = [(0, ["stable", "stable", "canary"])]
CHOICES: dict[str, tuple[list[tuple[int, list[str]]], list[tuple[int, list[str]]]]] = {
    "all of the stable's are in use": (choices(None), EVERY),
    "one of two is": (choices(1), [(0, ["stable", "canary"]), (1, ["stable"])]),
    "the only one is": (choices(1, FOUND), [(0, ["stable", "canary"])]),
    "in the fail-safe all are": (choices(1, fail_safe=True), EVERY),
    "in that of a promotion too": (choices(1, fail_safe=True, keep="Keep"), EVERY),
    "beside a canary without engines all are": (choices(1, STANDING | {"chat/r-2": ()}), [(0, ["stable", "stable"])]),
    "a stable without engines": (choices(1, STANDING | {"chat/r-1": ()}), [(0, ["canary"])]),
}


@pytest.mark.parametrize(("actual", "expected"), CHOICES.values(), ids=CHOICES.keys())
def test_engines_that_stand_by_are_the_second_choice(actual: list[tuple[int, list[str]]], expected: list[tuple[int, list[str]]]) -> None:
    assert expected == actual


def test_an_agent_of_another_version_reads_what_it_knows() -> None:
    text = route().model_dump_json().replace('"weight":', '"of_the_future":1,"weight":')
    assert document.RouteDocument.model_validate_json(text) == route()
