"""How a lane's requests are divided."""

import pytest

from fairlane.core.routing import document, endpoints, split

STABLE, CANARY = endpoints.Endpoint("10.0.0.1"), endpoints.Endpoint("10.0.0.2")
LEAVING = endpoints.Endpoint("10.0.0.2", serving=False)
TWIN = endpoints.Endpoint("10.0.0.3")
BOTH = {"chat/r-1": (STABLE,), "chat/r-2": (CANARY,)}


def lane(weight: int, keep: str = "Stable") -> document.LaneRoute:
    tracks = ({"role": "stable", "revision": "r-1", "weight": 100 - weight}, {"role": "canary", "revision": "r-2", "weight": weight})
    return document.LaneRoute.model_validate({"name": "chat", "tracks": tracks, "fail_safe": keep})


ALL = BOTH | {"chat/r-3": (TWIN,)}


def three(keep: str = "Stable") -> document.LaneRoute:
    """A stable, a canary and its baseline."""
    tracks = ({"role": "stable", "revision": "r-1", "weight": 80}, {"role": "canary", "revision": "r-2", "weight": 10})
    baseline = {"role": "baseline", "revision": "r-3", "weight": 10}
    return document.LaneRoute.model_validate({"name": "chat", "tracks": (*tracks, baseline), "fail_safe": keep})


CASES: dict[str, tuple[document.LaneRoute, dict[str, tuple[endpoints.Endpoint, ...]], bool, dict[str, int]]] = {
    "by weight": (lane(10), BOTH, False, {"stable": 90, "canary": 10}),
    "a track without weight is not named": (lane(0), BOTH, False, {"stable": 100}),
    "a canary with everything": (lane(100), BOTH, False, {"canary": 100}),
    "a canary without engines": (lane(10), {"chat/r-1": (STABLE,)}, False, {"stable": 100}),
    "a canary whose engines all leave": (lane(10), {"chat/r-1": (STABLE,), "chat/r-2": (LEAVING,)}, False, {"stable": 100}),
    "a stable without engines": (lane(10), {"chat/r-2": (CANARY,)}, False, {"canary": 100}),
    "a stable without engines beside a canary without weight": (lane(0), {"chat/r-2": (CANARY,)}, False, {"stable": 100}),
    "nobody has engines": (lane(10), {}, False, {"stable": 90, "canary": 10}),
    "fail-safe": (lane(10), BOTH, True, {"stable": 100}),
    "fail-safe at full weight": (lane(100), BOTH, True, {"stable": 100}),
    "fail-safe of a promotion": (lane(60, "Keep"), BOTH, True, {"stable": 40, "canary": 60}),
    "beside a baseline": (three(), ALL, False, {"stable": 80, "canary": 10, "baseline": 10}),
    "a baseline without engines": (three(), BOTH, False, {"stable": 90, "canary": 10}),
    "a canary without engines beside its baseline": (three(), {"chat/r-1": (STABLE,), "chat/r-3": (TWIN,)}, False, {"stable": 90, "baseline": 10}),
    "neither has engines": (three(), {"chat/r-1": (STABLE,)}, False, {"stable": 100}),
    "a stable without engines beside canary and baseline": (three(), {"chat/r-2": (CANARY,), "chat/r-3": (TWIN,)}, False, {"canary": 50, "baseline": 50}),
    "fail-safe of canary and baseline": (three(), ALL, True, {"stable": 100}),
    "nothing serves yet": (document.LaneRoute(name="chat"), BOTH, False, {}),
}


@pytest.mark.parametrize(("route", "found", "fail_safe", "expected"), CASES.values(), ids=CASES.keys())
def test_split(route: document.LaneRoute, found: dict[str, tuple[endpoints.Endpoint, ...]], fail_safe: bool, expected: dict[str, int]) -> None:
    assert split.of(route, found, fail_safe) == expected
