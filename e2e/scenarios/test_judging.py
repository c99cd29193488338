"""What the judge makes of canaries that are the same, cold, or fail."""
from __future__ import annotations

from e2e.scenarios import manifests, prompts, traffic
from e2e.scenarios.conftest import Service
from e2e.scenarios.space import Space

CHAT = manifests.lane("chat", scheduler={"maxNumSeqs": 8, "maxNumBatchedTokens": 2048})


def test_the_unchanged_revision_on_trial_is_tried_and_leaves_nothing(space: Space, service: Service) -> None:
    space.apply(service(CHAT))
    space.wait_ready()
    stable = space.lane("chat")["stable"]
    with traffic.Load(space.url, 8, prompts.mixed) as load:
        space.fairlane("trial", "chat")
        record = space.wait_ended("chat", "Tried")
        status = space.wait_phase("chat", "Idle")
    assert [answer.line() for answer in load.failures] == []
    assert record["canary"] != record["stable"] == stable == space.lane("chat", status)["stable"]
    assert record["canaryRequests"] > 0
    assert "Fail" not in [decision["verdict"] for decision in record["decisions"]]
    assert space.lane("chat", status).get("rejected", []) == []
    space.wait("only the stable's pod is left", lambda _: len(space.engine_pods("chat")) == 1, 60)


def test_a_fresh_baseline_comes_is_compared_with_and_goes(space: Space, service: Service) -> None:
    space.apply(service(CHAT, rollout=manifests.rollout((20, "20s"), baseline="Fresh")))
    space.wait_ready()
    stable = space.lane("chat")["stable"]
    with traffic.Load(space.url, 8, prompts.mixed) as load:
        space.patch_lane("chat", scheduler={"maxNumSeqs": 16})
        status = space.wait_phase("chat", "Analyzing", seconds=90)
        baseline = space.lane("chat", status)["baseline"]
        running = {pod["metadata"]["labels"]["fairlane.dev/revision"] for pod in space.engine_pods("chat")}
        record = space.wait_ended("chat", "Promoted")
    assert [answer.line() for answer in load.failures] == []
    assert baseline.partition("-")[0] == stable.partition("-")[0] != record["canary"].partition("-")[0]
    assert running == {stable, baseline, record["canary"]}
    assert record["decisions"][0]["evidence"]["stable"]["revision"] == baseline
    assert baseline in {answer.revision for answer in load.answers}
    space.wait("only the new stable's pod is left", lambda _: len(space.engine_pods("chat")) == 1, 60)


def test_a_canary_that_answers_500_to_one_in_five_is_rolled_back_within_seconds(space: Space, service: Service) -> None:
    space.apply(service(CHAT, rollout=manifests.rollout((20, "120s"))))
    space.wait_ready()
    with traffic.Load(space.url, 10, prompts.short) as load:
        space.patch({"engine": {"pod": manifests.pod({"STANDIN_ERROR_EVERY": "5"})}})
        record = space.wait_ended("chat", "RolledBack", seconds=150)
    print(f"rolled back after {record['canaryRequests']} canary requests: {record['message']}")
    assert [answer.line() for answer in load.failures] == [], "a retry hides the canary's failures from users"
    assert record["reason"] == "ErrorsWorse"
    assert record["canaryRequests"] < 200


def test_one_500_in_a_quiet_lane_rolls_nothing_back(space: Space, service: Service) -> None:
    space.apply(service(CHAT, rollout=manifests.rollout((50, "20s"))))
    space.wait_ready()
    with traffic.Load(space.url, 1, prompts.short) as load:
        space.patch({"engine": {"pod": manifests.pod({"STANDIN_ERROR_AT": "4"})}})
        record = space.wait_ended("chat", "Promoted")
    assert [answer.line() for answer in load.failures] == []
    assert record["decisions"][-1]["evidence"]["canary"]["errors"] == 1, "the canary's one failure was not seen"
