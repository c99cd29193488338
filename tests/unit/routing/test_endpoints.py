"""Which engines may be sent requests."""

from typing import Any

import pytest

from fairlane.core import names
from fairlane.core.routing import document, endpoints


def a_slice(*entries: dict[str, Any], revision: str = "r-1", port: int | None = 8000) -> dict[str, Any]:
    ports = [{"port": port}] if port else []
    return {"metadata": {"name": "x", "labels": names.labels("s", "engine", "chat", revision)}, "ports": ports, "endpoints": list(entries)}


def entry(address: str, **conditions: bool) -> dict[str, Any]:
    return {"addresses": [address], "conditions": conditions}


CASES: dict[str, tuple[list[dict[str, Any]], dict[str, list[tuple[str, int, bool]]]]] = {
    "nothing": ([], {}),
    "a slice of somebody else": ([{"metadata": {"name": "x", "labels": {"fairlane.dev/service": "s"}}, "endpoints": [entry("10.0.0.1")]}], {}),
    "a slice without labels": ([{"metadata": {"name": "x"}}], {}),
    "ready engines": ([a_slice(entry("10.0.0.2", ready=True), entry("10.0.0.1", ready=True))],
                      {"chat/r-1": [("10.0.0.1", 8000, True), ("10.0.0.2", 8000, True)]}),
    "no word on readiness means ready": ([a_slice({"addresses": ["10.0.0.1"]})], {"chat/r-1": [("10.0.0.1", 8000, True)]}),
    "one that is not ready": ([a_slice(entry("10.0.0.1", ready=False))], {"chat/r-1": [("10.0.0.1", 8000, False)]}),
    "one that terminates but still serves": ([a_slice(entry("10.0.0.1", ready=True, serving=True, terminating=True))],
                                             {"chat/r-1": [("10.0.0.1", 8000, False)]}),
    "a revision without engines is known": ([a_slice()], {"chat/r-1": []}),
    "null lists": ([a_slice() | {"endpoints": None, "ports": None}], {"chat/r-1": []}),
    "another port": ([a_slice(entry("10.0.0.1", ready=True), port=9000)], {"chat/r-1": [("10.0.0.1", 9000, True)]}),
    "no port": ([a_slice(entry("10.0.0.1", ready=True), port=None)], {"chat/r-1": [("10.0.0.1", 8000, True)]}),
    "two slices of one revision": ([a_slice(entry("10.0.0.1", ready=True)), a_slice(entry("10.0.0.2", ready=True))],
                                   {"chat/r-1": [("10.0.0.1", 8000, True), ("10.0.0.2", 8000, True)]}),
    "an address in two slices serves where one says so": ([a_slice(entry("10.0.0.1", ready=False)), a_slice(entry("10.0.0.1", ready=True))],
                                                          {"chat/r-1": [("10.0.0.1", 8000, True)]}),
}  # fmt: skip


@pytest.mark.parametrize(("slices", "expected"), CASES.values(), ids=CASES.keys())
def test_from_slices(slices: list[dict[str, Any]], expected: dict[str, list[tuple[str, int, bool]]]) -> None:
    found = endpoints.from_slices(slices)
    assert {name: [(one.address, one.port, one.serving) for one in of_revision] for name, of_revision in found.items()} == expected


def test_only_revisions_that_the_routes_know_are_counted() -> None:
    tracks = (document.Track(role="stable", revision="r-1", weight=100), document.Track(role="canary", revision="r-2", weight=0))
    lane = document.LaneRoute(name="chat", tracks=tracks)
    route = document.RouteDocument(namespace="n", service="s", model="m", default_lane="chat", lanes=(lane,))
    found = {"chat/r-1": (endpoints.Endpoint("a"), endpoints.Endpoint("b", serving=False)), "chat/r-9": (endpoints.Endpoint("c"),)}
    assert endpoints.counts(route, found) == {"chat/r-1": 1, "chat/r-2": 0}


def stable(in_use: int | None) -> document.Track:
    return document.Track(role="stable", revision="r-1", weight=50, in_use=in_use)


FOUR = tuple(endpoints.Endpoint(f"10.0.0.{number}") for number in range(1, 5))


@pytest.mark.parametrize(
    ("in_use", "expected"), [(None, 0), (1, 3), (3, 1), (4, 0), (9, 0)],
    ids=["without a limit nobody", "all but one", "one", "nobody where all are wanted", "nor where more are wanted than there are"],
)
def test_how_many_stand_by(in_use: int | None, expected: int) -> None:
    assert expected == len(endpoints.standing_by(stable(in_use), FOUR))


def test_who_stands_by_does_not_depend_on_the_order_in_which_a_router_learnt_of_them() -> None:
    assert endpoints.standing_by(stable(2), FOUR) == endpoints.standing_by(stable(2), reversed(FOUR))


@pytest.mark.parametrize("gone", FOUR, ids=lambda gone: gone.address)
def test_one_that_goes_or_comes_back_changes_one_place_at_most(gone: endpoints.Endpoint) -> None:
    left = set(FOUR) - {gone}
    before, after = (set(known) - endpoints.standing_by(stable(2), known) for known in (FOUR, left))
    assert (len(after), len(before - after)) == (2, int(gone in before))
