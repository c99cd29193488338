"""Which lanes get synthetic load, how much and of what lengths."""

import dataclasses
import math
from typing import Any

import pytest
from tests.unit.rollout import views

from fairlane.api import spec as specs
from fairlane.api import status as statuses
from fairlane.core import observed, revisions, traffic
from fairlane.core.judge import types
from fairlane.core.load import document as loads
from fairlane.core.rollout import lanes, synthetic, view
from fairlane.core.routing import document

PHASE, ON = statuses.Phase, {"requestsPerSecond": "2", "maxRequests": 1000}


def spec(load: dict[str, Any] | None = ON, routers: int = 1, **router: Any) -> specs.LLMServiceSpec:
    return specs.LLMServiceSpec.model_validate({
        "model": {"uri": "file:///m"}, "engine": {"image": "vllm/vllm-openai:v0.32.0"},
        "lanes": [{"name": "chat", "profile": "Interactive", "replicas": 2}, {"name": "docs", "profile": "LongContext", "replicas": 1}],
        "router": {"defaultLane": "docs", "replicas": routers} | router, "rollout": {"analysis": {"syntheticLoad": load} if load else {}},
    })


def seen(**fields: Any) -> observed.Observed:
    return observed.Observed(name="assistant", namespace="ai", uid="u-1", generation=1, now=views.NOW, spec=None, **fields)


def route(weight: int = 10, **fields: Any) -> document.LaneRoute:
    tracks = (document.Track(role="stable", revision=views.STABLE, weight=100 - weight), document.Track(role="canary", revision=views.CANARY, weight=weight))
    return document.LaneRoute.model_validate({"name": "chat", "tracks": tracks} | fields)


KEYS: dict[str, tuple[document.LaneRoute, dict[str, Any] | None, int, bool]] = {
    "a canary has a share": (route(), ON, 1, True),
    "nobody asked for it": (route(), None, 1, False),
    "the canary has no weight yet": (route(0), ON, 1, False),
    "the canary has all: nothing to compare with": (route(100), ON, 1, False),
    "no canary": (route().model_copy(update={"tracks": (document.Track(role="stable", revision="a-1", weight=100),)}), ON, 1, False),
    "promoting": (route(fail_safe="Keep"), ON, 1, False),
    "a lane of few requests at a time": (route(max_in_flight=4), ON, 1, True),
    "a lane of fewer": (route(max_in_flight=3), ON, 1, False),
    "a lane whose routers have fewer each": (route(max_in_flight=6), ON, 2, False),
}


@pytest.mark.parametrize(("lane", "load", "routers", "expected"), KEYS.values(), ids=KEYS.keys())
def test_a_lane_has_a_key_while_there_is_something_to_compare(lane: document.LaneRoute, load: dict[str, Any] | None, routers: int, expected: bool) -> None:
    assert bool(synthetic.marked(seen(), spec(load, routers), lane).synthetic_key) is expected


def test_each_rollout_of_each_lane_of_each_service_has_its_own_key() -> None:
    next_tracks = (route().tracks[0], document.Track(role="canary", revision="cccccccc-1", weight=10))
    made = [
        synthetic.marked(seen(), spec(), route()), synthetic.marked(seen(), spec(), route().model_copy(update={"tracks": next_tracks})),
        synthetic.marked(seen(), spec(), route(name="docs")), synthetic.marked(dataclasses.replace(seen(), uid="u-2"), spec(), route()),
    ]
    keys = [lane.synthetic_key for lane in made]
    assert (len(set(keys)), {len(key) for key in keys}) == (4, {32})
    assert synthetic.marked(seen(), spec(), route(50)).synthetic_key == keys[0], "a step keeps it"


SHARES = {
    "no bound": (None, 1, 8), "a quarter": (24, 1, 6), "of one router's share": (48, 2, 6), "never more than 8": (1000, 1, 8),
    "nothing to share": (3, 1, 0),
}


@pytest.mark.parametrize(("bound", "routers", "expected"), SHARES.values(), ids=SHARES.keys())
def test_it_never_takes_more_than_a_quarter_of_what_a_lane_lets_in(bound: int | None, routers: int, expected: int) -> None:
    assert synthetic.in_flight(route(max_in_flight=bound), routers) == expected


def revision(name: str, length: int | None) -> revisions.Revision:
    hash_, _, ordinal = name.partition("-")
    flags = {"max-model-len": length} if length else {}
    return revisions.Revision(lane="chat", hash=hash_, ordinal=int(ordinal), inputs={"flags": flags}, template={}, gpus=1)


def load(
    status: dict[str, Any] | None = None, known: traffic.Traffic | None = None, stored: loads.Load | None = None, *,
    lane: document.LaneRoute | None = None, lengths: tuple[int | None, int | None] = (None, None), bytes_per_token: int = 4, **router: Any,
) -> loads.Load:  # fmt: skip
    """What the sender of the lane is told."""
    pair = tuple(revision(name, length) for name, length in zip((views.STABLE, views.CANARY), lengths, strict=True))
    one = views.lane(status, revisions=pair)
    around = seen(traffic={"chat": known} if known else {}, loads={"chat": stored} if stored else {})
    asked = spec(**router)
    marked = synthetic.marked(around, asked, lane or route())
    routes = document.RouteDocument(
        namespace="ai", service="assistant", model="m", default_lane="docs", bytes_per_token=bytes_per_token,
        lanes=(marked, document.LaneRoute(name="docs", max_prompt_tokens=32_768)),
    )  # fmt: skip
    return synthetic.load(around, asked, routes, lanes.Moved(one, view.Move(one.status)))


RATES: dict[str, tuple[dict[str, Any], traffic.Traffic | None, float]] = {
    "nobody sends anything": ({}, traffic.Traffic(0.0, 0.0), 2.0),
    "what is missing": ({}, traffic.Traffic(0.5, 0.0), 1.4),
    "users send enough": ({}, traffic.Traffic(2.0, 0.0), 0.0),
    "users send more than enough": ({}, traffic.Traffic(50.0, 0.0), 0.0),
    "in the warm-up too": ({"phase": PHASE.WARMING}, traffic.Traffic(0.0, 0.0), 2.0),
    "not while the next step's replicas load": ({"phase": PHASE.LOADING}, traffic.Traffic(0.0, 0.0), 0.0),
    "not while it waits for a node": ({"phase": PHASE.WAITING}, traffic.Traffic(0.0, 0.0), 0.0),
    "not while it is paused": ({"paused": True}, traffic.Traffic(0.0, 0.0), 0.0),
    "held, perhaps for want of just these requests": ({"held_since": views.ago(5)}, traffic.Traffic(0.0, 0.0), 2.0),
    "the last one is left": ({}, traffic.Traffic(0.0, 999.0), 2.0),
    "all were sent": ({}, traffic.Traffic(0.0, 1000.0), 0.0),
    "nothing is known of the users": ({}, None, 0.0),
}


@pytest.mark.parametrize(("status", "known", "expected"), RATES.values(), ids=RATES.keys())
def test_what_is_missing_is_sent(status: dict[str, Any], known: traffic.Traffic | None, expected: float) -> None:
    assert load(status, known).rate == expected


def test_without_new_numbers_what_was_said_goes_on_but_not_into_the_next_rollout() -> None:
    before = load(known=traffic.Traffic(1.0, 0.0))
    assert load(stored=before).rate == before.rate == 1.0
    assert load({"held_since": views.ago(5)}, stored=before).rate == 0.0, "nor while the trial is held"
    assert load(stored=before.model_copy(update={"key": "another rollout's"})).rate == 0.0


SHORT = types.Histogram((10.0, 100.0, math.inf), (50.0, 100.0, 100.0))
LONG = types.Histogram((1000.0, 5000.0, math.inf), (0.0, 90.0, 100.0))


def test_lengths_are_the_lanes_own_and_stay_so() -> None:
    first = load(known=traffic.Traffic(0.0, 0.0, SHORT, LONG))
    assert (first.measured, len(first.prompt_tokens), first.prompt_tokens[0], first.prompt_tokens[-1]) == (True, 20, 1, 96)
    assert first.prompt_tokens == tuple(sorted(first.prompt_tokens))
    later = load(known=traffic.Traffic(0.0, 0.0, LONG, SHORT), stored=first)
    assert (later.prompt_tokens, later.output_tokens) == (first.prompt_tokens, first.output_tokens)


def test_without_a_history_they_are_the_profiles_until_there_is_one() -> None:
    guessed = load(known=traffic.Traffic(0.0, 0.0))
    assert (guessed.measured, guessed.prompt_tokens[-1], guessed.output_tokens[-1]) == (False, 1024, 256)
    assert load(known=traffic.Traffic(0.0, 0.0, SHORT, SHORT), stored=guessed).measured


HISTORY = traffic.Traffic(0.0, 0.0, LONG, LONG)
LIMITS: dict[str, tuple[dict[str, Any], tuple[int, int]]] = {
    "none": ({}, (5000, 5000)),
    "the lane's longest prompt, with room for words of two tokens": ({"lane": route(max_prompt_tokens=2000)}, (1800, 5000)),
    "the lane's longest answer": ({"lane": route(max_output_tokens=64)}, (5000, 64)),
    "the shorter of both models, of which an answer has half": ({"lengths": (8192, 4096)}, (1843, 2048)),
    "a router that counts two bytes as a token": ({"lane": route(max_prompt_tokens=2000), "bytes_per_token": 2}, (900, 5000)),
}


@pytest.mark.parametrize(("given", "expected"), LIMITS.values(), ids=LIMITS.keys())
def test_no_request_is_longer_than_the_lane_takes(given: dict[str, Any], expected: tuple[int, int]) -> None:
    made = load(known=HISTORY, **given)
    assert (max(made.prompt_tokens), max(made.output_tokens)) == expected


def test_a_prompt_that_the_router_does_not_read_would_leave_the_lane() -> None:
    huge = types.Histogram((10.0, 50_000.0, math.inf), (0.0, 100.0, 100.0))
    made = load(known=traffic.Traffic(0.0, 0.0, huge, SHORT), lane=route(max_prompt_tokens=30_000))
    assert max(made.prompt_tokens) * 4 < 65_536


def test_it_is_sent_to_the_services_own_address() -> None:
    assert load().url == "http://assistant-router.ai.svc"
    assert load(tls={"secretRef": {"name": "cert"}}).url == "https://assistant-router.ai.svc"
