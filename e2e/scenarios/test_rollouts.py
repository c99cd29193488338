"""Changes that reach everyone, and changes that do not."""
from __future__ import annotations

from e2e.scenarios import manifests, prompts, traffic
from e2e.scenarios.conftest import Service
from e2e.scenarios.space import Space

CHAT = manifests.lane("chat", scheduler={"maxNumSeqs": 8, "maxNumBatchedTokens": 2048})
SLOW_STEPS = {"STANDIN_STEP_SECONDS": "0.05"}


def test_a_good_change_is_promoted_and_no_pod_restarts(space: Space, service: Service) -> None:
    space.apply(service(CHAT | {"replicas": 2}, rollout=manifests.rollout((20, "15s"), (50, "25s"))))
    space.wait_ready()
    stable = space.lane("chat")["stable"]
    with traffic.Load(space.url, 8, prompts.mixed) as load:
        space.patch_lane("chat", scheduler={"maxNumSeqs": 16})
        space.wait_phase("chat", "Analyzing")
        trial = space.restarts("chat")
        record = space.wait_ended("chat", "Promoted")
        status = space.wait_ready()
        # a router names the track as it was when the request came, and may hear of the new one a moment after the status tells it
        space.wait("a user is served by it as the stable", lambda _: ("stable", record["canary"]) in served(load), 30)
    after = space.restarts("chat")
    assert [answer.line() for answer in load.failures] == []
    assert set(after.values()) == {0}
    canary = {uid for uid in trial if uid in after}
    assert canary, "the canary's pod of the trial serves no more"
    assert len(after) == 2
    assert space.lane("chat", status)["stable"] == record["canary"] != stable
    assert {("stable", stable), ("canary", record["canary"]), ("stable", record["canary"])} == served(load)
    evidence = next(item["evidence"] for item in record["decisions"] if item["weight"] == 50)
    assert (evidence["stable"]["replicas"], evidence["canary"]["replicas"]) == (1, 1), "one of the stable's two replicas stands by at half of the lane"
    assert 0.6 < float(evidence["loadRatio"]) < 1.4, "some ten seconds' chance is in it; with both of the stable's in use it is 2"


def served(load: traffic.Load) -> set[tuple[str, str]]:
    """The tracks and revisions that users were answered by."""
    return {(answer.track, answer.revision) for answer in load.answers if not answer.failure}


def test_a_bad_change_is_rolled_back_at_10_percent_by_its_p99(space: Space, service: Service) -> None:
    space.apply(service(CHAT, env=SLOW_STEPS, rollout=manifests.rollout((10, "120s"), (50, "10s"))))
    space.wait_ready()
    stable = space.lane("chat")["stable"]
    with traffic.Load(space.url, 5, prompts.page) as load:   # the slow one keeps up with its share
        space.patch_lane("chat", scheduler={"maxNumBatchedTokens": 16})
        record = space.wait_ended("chat", "RolledBack", seconds=150)
        status = space.wait_phase("chat", "Idle")
        rolled_back = [answer for answer in load.answers if answer.track == "canary"]
    assert [answer.line() for answer in load.failures] == []
    evidence = record["decisions"][-1]["evidence"]
    assert record["decisions"][-1]["weight"] == 10
    assert evidence["canary"]["ttftP99Ms"] > evidence["stable"]["ttftP99Ms"]
    assert rolled_back, "no request ever reached the canary"
    ready = space.condition("Ready", status)
    assert ready["status"] == "True"
    assert stable in ready["message"]
    assert space.lane("chat", status)["stable"] == stable
    assert space.service()["spec"]["lanes"][0]["scheduler"]["maxNumBatchedTokens"] == 16
    described = space.kubectl("describe", "llmsvc", "assistant")
    assert "RolledBack" in described


def test_changing_back_ends_the_trial_and_rejects_nothing(space: Space, service: Service) -> None:
    space.apply(service(CHAT, rollout=manifests.rollout((50, "300s"))))
    space.wait_ready()
    with traffic.Load(space.url, 5, prompts.mixed) as load:
        space.patch_lane("chat", scheduler={"maxNumSeqs": 16})
        space.wait_phase("chat", "Analyzing", seconds=90)
        space.patch_lane("chat", scheduler={"maxNumSeqs": 8})
        space.wait_ended("chat", "Superseded")
        status = space.wait_phase("chat", "Idle")
    assert [answer.line() for answer in load.failures] == []
    assert space.lane("chat", status).get("rejected", []) == []


def test_replicas_and_bounds_apply_at_once_without_a_canary(space: Space, service: Service) -> None:
    space.apply(service(CHAT))
    space.wait_ready()
    before = space.restarts("chat")
    space.patch_lane("chat", replicas=2, admission={"maxInFlight": 12}, objectives={"ttftP99": "2s"})
    space.wait("two ready replicas", lambda status: space.lane("chat", status).get("readyReplicas") == 2, 60)
    after = space.restarts("chat")
    assert set(before) < set(after)
    assert set(after.values()) == {0}
    assert space.status().get("history", []) == []


def test_an_added_lane_serves_and_a_removed_lane_drains(space: Space, service: Service) -> None:
    space.apply(service(CHAT))
    space.wait_ready()
    batch = manifests.lane("batch", profile="Throughput", match={"callers": ["nightly"]})
    from_nightly = traffic.Prompt("chat", prompts.short().body, headers={"x-caller": "nightly"})
    with traffic.Load(space.url, 5, prompts.mixed) as load:
        space.patch({"lanes": [CHAT, batch]})
        space.wait("two lanes ready", lambda status: status.get("lanesReady") == "2/2", 60)
        assert traffic.ask_once(space.url, from_nightly).lane == "batch"
        space.patch({"lanes": [CHAT]})
        space.wait("one lane", lambda status: [lane["name"] for lane in status.get("lanes", [])] == ["chat"], 60)
        assert traffic.ask_once(space.url, from_nightly).lane == "chat"
    assert [answer.line() for answer in load.failures] == []
    space.wait("no pod of the removed lane", lambda _: not space.engine_pods("batch"), 60)
