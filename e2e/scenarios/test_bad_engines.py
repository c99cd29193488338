"""Engines that never serve: no user request may have reached them."""
from __future__ import annotations

from typing import Any

import pytest

from e2e.scenarios import manifests, prompts, traffic
from e2e.scenarios.conftest import Service
from e2e.scenarios.space import Space, Status

CHAT = manifests.lane("chat")
LIMITED = manifests.pod({}, resources={"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "300Mi"}})


@pytest.mark.parametrize(
    ("start", "change", "words"),
    [
        # 0.16 knew --swap-space, the engine in the image is 0.32: what Fairlane cannot know, argparse says
        pytest.param({"engine": {"version": "0.16.0"}}, {"lanes": [CHAT | {"flags": {"swap-space": 4}}]}, "swap-space", id="a flag unknown to the engine"),
        pytest.param({"engine": {"pod": LIMITED}}, {"lanes": [CHAT | {"flags": {"kv-cache-memory-bytes": "1G"}}]}, "OOMKilled", id="out of memory"),
        pytest.param({}, {"engine": {"pod": manifests.pod({"STANDIN_KV_TOKENS": "1024"})}}, "maxModelLen that fits: 1,024", id="a cache too small"),
        pytest.param({}, {"engine": {"image": "docker.io/local/absent:1"}}, "ImagePull", id="an image that cannot be pulled"),
    ],
)
def test_rolled_back_without_one_user_request(space: Space, service: Service, start: dict[str, Any], change: dict[str, Any], words: str) -> None:
    manifest = service(CHAT)
    manifest["spec"]["engine"] |= start.get("engine", {})
    space.apply(manifest)
    space.wait_ready()
    with traffic.Load(space.url, 3, prompts.short) as load:
        space.patch(change)
        record = space.wait_ended("chat", "RolledBack", seconds=150)
        space.wait_phase("chat", "Idle")
    assert_untouched(load, record)
    assert words in record["reason"] + record["message"], record
    space.wait("only the stable's pod is left", lambda _: len(space.engine_pods("chat")) == 1, 60)


def test_a_flag_that_the_version_does_not_know_stalls_and_touches_nothing(space: Space, service: Service) -> None:
    space.apply(service(CHAT))
    space.wait_ready()
    before = space.restarts("chat")
    space.patch_lane("chat", flags={"swap-space": 4})
    status = space.wait("Stalled", lambda status: space.condition("Stalled", status).get("status") == "True", 30)
    message = space.condition("Stalled", status)["message"]
    assert "swap-space" in message
    assert "0.32.0" in message
    assert space.restarts("chat") == before
    assert traffic.ask_once(space.url, prompts.short()).failure == ""


def test_a_canary_without_room_waits_with_the_schedulers_words(space: Space, service: Service) -> None:
    space.apply(service(CHAT))
    space.wait_ready()
    space.patch_lane("chat", scheduler={"tensorParallelSize": 32})
    status = space.wait("Waiting for room", lambda status: "nvidia.com/gpu" in space.lane("chat", status).get("message", ""), 60)
    assert space.lane("chat", status)["phase"] == "Waiting"
    assert "Insufficient nvidia.com/gpu" in space.lane("chat", status)["message"]
    assert traffic.ask_once(space.url, prompts.short()).failure == ""
    space.patch_lane("chat", scheduler={"tensorParallelSize": None})
    space.wait_phase("chat", "Idle")
    space.wait("only the stable's pod is left", lambda _: len(space.engine_pods("chat")) == 1, 60)
    assert space.lane("chat").get("rejected", []) == []


def test_a_length_beyond_the_model_is_rolled_back_and_not_tried_again_until_retry(space: Space, service: Service) -> None:
    space.apply(service(CHAT))
    space.wait_ready()
    with traffic.Load(space.url, 3, prompts.short) as load:
        space.patch_lane("chat", scheduler={"maxModelLen": 100000})
        record = space.wait_ended("chat", "RolledBack")
        space.patch_lane("chat", replicas=2)
        space.wait("two ready replicas", lambda status: space.lane("chat", status).get("readyReplicas") == 2, 60)
        assert len(space.history("chat")) == 1
        space.fairlane("retry", "--lane", "chat")
        space.wait_ended("chat", "RolledBack", after=1)
    assert_untouched(load, record)
    assert "User-specified max_model_len (100000)" in record["message"]


def assert_untouched(load: traffic.Load, record: Status) -> None:
    """No user's request failed, and none reached the canary."""
    assert [answer.line() for answer in load.failures] == []
    assert {answer.track for answer in load.answers} == {"stable"}
    assert record.get("canaryRequests", 0) == 0
