"""Commands of the on-call engineer, through the CLI."""
from __future__ import annotations

import time

import pytest

from e2e.scenarios import manifests, prompts, traffic
from e2e.scenarios.conftest import Service
from e2e.scenarios.space import Space

CHAT = manifests.lane("chat", scheduler={"maxNumSeqs": 8})


def test_pause_holds_a_rollout_and_resume_lets_it_go_on(space: Space, service: Service) -> None:
    space.apply(service(CHAT, rollout=manifests.rollout((50, "30s"))))   # longer than a busy machine takes to hear of the pause
    space.wait_ready()
    with traffic.Load(space.url, 5, prompts.mixed) as load:
        space.patch_lane("chat", scheduler={"maxNumSeqs": 16})
        space.wait_phase("chat", "Analyzing", seconds=90)
        space.fairlane("pause", "--lane", "chat")
        space.wait("paused", lambda status: space.lane("chat", status).get("paused"), 30)
        ends = time.monotonic() + 60
        space.wait("still analyzing after twice the step", lambda status: time.monotonic() > ends and space.lane("chat", status)["phase"] == "Analyzing", 80)
        space.fairlane("resume", "--lane", "chat")
        space.wait_ended("chat", "Promoted")
    assert [answer.line() for answer in load.failures] == []


def test_promote_ends_the_trial_at_once(space: Space, service: Service) -> None:
    space.apply(service(CHAT, rollout=manifests.rollout((10, "30m"))))
    space.wait_ready()
    with traffic.Load(space.url, 5, prompts.mixed) as load:
        space.patch_lane("chat", scheduler={"maxNumSeqs": 16})
        space.wait_phase("chat", "Analyzing", seconds=90)
        space.fairlane("promote", "--lane", "chat")
        space.wait_ended("chat", "Promoted", seconds=60)
    assert [answer.line() for answer in load.failures] == []


def test_abort_rolls_back_and_why_tells_it(space: Space, service: Service) -> None:
    space.apply(service(CHAT, rollout=manifests.rollout((10, "30m"))))
    space.wait_ready()
    with traffic.Load(space.url, 5, prompts.mixed) as load:
        space.patch_lane("chat", scheduler={"maxNumSeqs": 16})
        status = space.wait_phase("chat", "Warming", "Analyzing", seconds=90)
        canary = space.lane("chat", status)["canary"]
        space.fairlane("abort", "--lane", "chat")
        record = space.wait_ended("chat", "RolledBack", seconds=60)
        status = space.wait_phase("chat", "Idle")
    assert [answer.line() for answer in load.failures] == []
    assert record["canary"] == canary
    assert canary in space.fairlane("why", "--lane", "chat")
    assert "RolledBack" in space.fairlane("history")
    assert "chat" in space.fairlane("status")


@pytest.mark.own_cluster
def test_promote_without_room_replaces_in_place(space: Space, service: Service) -> None:
    """The node has one GPU of this kind: no room for a second one beside the first."""
    manifest = service(CHAT)
    manifest["spec"]["engine"]["gpu"] = {"resource": space.cluster.scarce_gpu}
    space.apply(manifest)
    space.wait_ready()
    space.patch_lane("chat", scheduler={"maxNumSeqs": 16})
    space.wait("Waiting for room", lambda status: f"Insufficient {space.cluster.scarce_gpu}" in space.lane("chat", status).get("message", ""), 60)
    space.fairlane("promote", "--lane", "chat", "--yes")
    space.wait_ended("chat", "Promoted")
    space.wait_ready()
    assert traffic.ask_once(space.url, prompts.short()).failure == ""
