"""vLLM itself with a small model: what the stand-in stands in for."""
from __future__ import annotations

from functools import partial

import pytest

from e2e.cluster import Cluster
from e2e.scenarios import prompts, traffic, vllm
from e2e.scenarios.space import Space, Status

pytestmark = [pytest.mark.disruptive, pytest.mark.vllm, pytest.mark.xdist_group("vllm")]
# Two minutes on a quiet machine; as long as it takes where something else has the two cores, since the load is paced by what they carry
_ENDED = 900


def test_two_lanes_of_vllm_answer_a_failed_load_is_read_and_a_bad_change_is_rolled_back_but_not_its_twin(cluster: Cluster, space: Space) -> None:
    """The twin is the unchanged revision on trial: the same weight, time and load, and no harm."""
    manifest = vllm.service(cluster, (50, "75s"))
    manifest["spec"]["rollout"]["analysis"]["minRequests"] = 25   # the step goes on until then, on a slow machine too
    manifest["spec"]["rollout"]["warmup"]["duration"] = "10s"
    space.config_map("smollm2", {"config.json": cluster.model_config()})
    manifest["spec"]["model"]["configMapRef"] = {"name": "smollm2"}
    space.apply(manifest)
    space.wait_ready(seconds=360)
    _measured_as_computed(space)
    _failed_load_is_read(space)
    url = space.url
    answer = traffic.ask_once(url, traffic.Prompt("chat", traffic.chat(vllm.FRANCE, tokens=24)))
    assert (answer.lane, answer.failure) == ("chat", "")
    assert "Paris" in answer.text
    assert len(answer.text.split()) >= 5
    document = traffic.ask_once(url, prompts.document(2000))
    assert (document.lane, document.failure) == ("documents", "")
    with traffic.Load(url, vllm.CHATS * vllm.pace(url), vllm.question, paced=True, together=32) as load:
        space.fairlane("trial", "chat")
        twin = space.wait_ended("chat", "Tried", after=1, seconds=_ENDED)
        space.patch({"rollout": {"onInsufficient": "Hold"}})   # how soon the evidence is in is the machine's affair: never promoted for want of it
        space.patch_lane("chat", scheduler={"maxNumBatchedTokens": 16, "maxNumSeqs": 8})
        record = space.wait_ended("chat", "RolledBack", after=2, seconds=_ENDED)
    assert [answer.line() for answer in load.failures] == []
    assert [decision["verdict"] for decision in twin["decisions"] if decision["verdict"] == "Fail"] == []
    assert record["decisions"][-1]["verdict"] == "Fail"
    print(f"rolled back after {record['canaryRequests']} canary requests, its twin not after {twin['canaryRequests']}: {record['message']}")


def _measured_as_computed(space: Space) -> None:
    """The KV cache that was computed from config.json is the one that vLLM has."""
    for name in ("chat", "documents"):
        space.wait(f"the KV cache of {name} measured", partial(_is_measured, space, name), 60)
        memory = space.lane(name)["memory"]
        assert abs(memory["predictedKVTokens"] / memory["measuredKVTokens"] - 1) <= 0.02, memory


def _is_measured(space: Space, name: str, status: Status) -> bool:
    return "measuredKVTokens" in space.lane(name, status).get("memory", {})


def _failed_load_is_read(space: Space) -> None:
    """A KV cache too small for one sequence: foreseen, it takes no GPU; with the preflight off vLLM itself says it, and `why` what to do."""
    space.patch_lane("chat", flags={"kv-cache-memory-bytes": "16M"})
    status = space.wait("it is not started", lambda status: space.lane("chat", status).get("reason") == "DoesNotFit", 30)
    assert space.condition("Stalled", status)["reason"] == "DoesNotFit"
    assert len(space.engine_pods("chat")) == 1
    space.patch({"rollout": {"preflight": "Off"}})
    record = space.wait_ended("chat", "RolledBack", seconds=240)
    assert record["reason"] == "KVCacheTooSmall"
    assert record.get("canaryRequests", 0) == 0
    assert "largest maxModelLen that fits" in space.fairlane("why", "chat")
    space.patch({"rollout": {"preflight": "Enforce"}})
    space.patch_lane("chat", flags={"kv-cache-memory-bytes": None})
    space.wait_phase("chat", "Idle", seconds=120)
