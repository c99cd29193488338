"""How a lane's requests are divided."""

import pytest

from fairlane.core.routing import document, endpoints, split

STABLE, CANARY = endpoints.Endpoint("10.0.0.1"), endpoints.Endpoint("10.0.0.2")
LEAVING = endpoints.Endpoint("10.0.0.2", serving=False)
BOTH = {"chat/r-1": (STABLE,), "chat/r-2": (CANARY,)}


def lane(weight: int, keep: str = "Stable") -> document.LaneRoute:
    tracks = ({"role": "stable", "revision": "r-1", "weight": 100 - weight}, {"role": "canary", "revision": "r-2", "weight": weight})
    return document.LaneRoute.model_validate({"name": "chat", "tracks": tracks, "fail_safe": keep})


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
    "nothing serves yet": (document.LaneRoute(name="chat"), BOTH, False, {}),
}


@pytest.mark.parametrize(("route", "found", "fail_safe", "expected"), CASES.values(), ids=CASES.keys())
def test_split(route: document.LaneRoute, found: dict[str, tuple[endpoints.Endpoint, ...]], fail_safe: bool, expected: dict[str, int]) -> None:
    assert split.of(route, found, fail_safe) == expected
