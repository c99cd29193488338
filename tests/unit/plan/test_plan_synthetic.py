"""Synthetic load in whole rollouts: there while a canary is judged, gone with it, and never in the way."""

import json
from typing import Any

import pytest
from tests.unit.plan import cluster as clusters
from tests.unit.plan import world as worlds

from fairlane.core import names, traffic
from fairlane.core.load import document as loads
from fairlane.core.objects import load as objects
from fairlane.core.routing import document

PHASE, ON = worlds.PHASE, {"syntheticLoad": {"requestsPerSecond": "2"}}
NAME = names.load("assistant", "chat")


def asked() -> worlds.World:
    """A service that asks for synthetic load, with users that send nothing."""
    made = worlds.serving(analysis=ON)
    made.traffic = {"chat": traffic.Traffic(0.0, 0.0)}
    return made


def sender(made: worlds.World) -> dict[str, Any] | None:
    """The Deployment that sends."""
    return made.cluster.things.get(("Deployment", NAME))


def told(made: worlds.World) -> loads.Load:
    """What it is told."""
    return objects.parse(made.cluster.things["ConfigMap", NAME])


def key(made: worlds.World) -> str:
    """The key in the stored routes."""
    routes = made.cluster.routes()
    assert routes is not None
    return routes.lanes[0].synthetic_key


def test_it_is_there_while_a_canary_is_judged_and_gone_with_it() -> None:
    made = asked()
    assert (sender(made), key(made)) == (None, "")
    worlds.changed(made, analysis=ON)
    made.until("chat", PHASE.LOADING)
    assert sender(made) is None
    made.until("chat", PHASE.WARMING)
    made.run(2)
    assert (sender(made) is not None, told(made).key) == (True, key(made))
    made.until("chat", PHASE.ANALYZING)
    assert sender(made) is not None
    made.until("chat", PHASE.PROMOTING)
    made.run(2)
    assert (sender(made), key(made)) == (None, "")
    made.settle()
    assert (("ConfigMap", NAME) in made.cluster.things, made.lane("chat").canary) == (False, "")


def test_how_many_were_synthetic_is_told_with_the_rollout_and_not_with_the_next() -> None:
    made = asked()
    worlds.changed(made, analysis=ON)
    made.until("chat", PHASE.ANALYZING)
    made.traffic = {"chat": traffic.Traffic(0.0, 41.6)}
    made.run(4)
    assert made.lane("chat").synthetic_requests == 42
    made.traffic = {"chat": traffic.Traffic(0.0, 12.0)}     # a router started again
    made.run(4)
    assert made.lane("chat").synthetic_requests == 42
    made.settle()
    assert (made.status.history[0].synthetic_requests, made.lane("chat").synthetic_requests) == (42, 0)


def test_it_goes_with_a_canary_that_fails() -> None:
    made = asked()
    worlds.changed(made, clusters.Quality(errors=True), analysis=ON)
    made.until("chat", PHASE.ROLLING_BACK)
    made.run(2)
    assert (sender(made), key(made)) == (None, "")


def test_it_goes_with_a_canary_that_fails_while_the_spec_cannot_be_followed() -> None:
    made = asked()
    worlds.changed(made, analysis=ON)
    made.until("chat", PHASE.ANALYZING)
    made.run(2)
    assert sender(made) is not None
    made.change(None)
    made.run(4)
    assert sender(made) is not None, "nothing that runs is touched"
    made.say("abort", "chat")
    made.run(20)
    assert (sender(made), ("ConfigMap", NAME) in made.cluster.things) == (None, False)


def test_without_numbers_of_the_users_nothing_starts_to_send() -> None:
    made = asked()
    made.traffic = {}
    worlds.changed(made, analysis=ON)
    made.until("chat", PHASE.ANALYZING)
    made.run(4)
    assert (sender(made), told(made).rate) == (None, 0.0)
    made.traffic = {"chat": traffic.Traffic(1.0, 0.0)}
    made.run(2)
    assert (sender(made) is not None, told(made).rate) == (True, 1.0)


def test_who_did_not_ask_gets_none() -> None:
    made = worlds.serving()
    worlds.changed(made)
    made.until("chat", PHASE.ANALYZING)
    made.run(2)
    assert (sender(made), key(made)) == (None, "")


def test_the_routers_know_the_key_before_anything_is_sent() -> None:
    made = asked()
    worlds.changed(made, analysis=ON)
    made.until("chat", PHASE.WARMING)
    applied = [(thing["kind"], thing["metadata"]["name"]) for thing in made.reconcile(cut=0).apply]
    assert applied.index(("ConfigMap", names.routes("assistant"))) < applied.index(("ConfigMap", NAME)) < applied.index(("Deployment", NAME))


@pytest.mark.parametrize("cut", range(6))
def test_a_pass_that_is_cut_off_comes_to_the_same_end(cut: int) -> None:
    made = asked()
    worlds.changed(made, analysis=ON)
    for _ in range(300):
        made.cluster.tick(2.0)
        made.reconcile(cut=cut, keep_status=False)
        made.reconcile()
        routes = made.cluster.things["ConfigMap", names.routes("assistant")]
        known = json.loads(routes["data"][document.KEY])["lanes"][0]["synthetic_key"]
        assert sender(made) is None or told(made).key == known
    assert (made.lane("chat").result, sender(made)) == ("Promoted", None)
