"""Engines that never serve: no user request may have reached them."""
from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
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


EIGHT_BILLION = {
    "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072, "torch_dtype": "bfloat16",
}


def test_what_does_not_fit_its_gpu_is_not_started_and_plan_says_so_before(space: Space, service: Service, tmp_path: Path) -> None:
    """A model of 8 billion parameters on a GPU of 24 GiB."""
    space.config_map("llama", {"config.json": json.dumps(EIGHT_BILLION), "weightBytes": "16060522496"})
    manifest = service(manifests.lane("chat", scheduler={"maxModelLen": 8192}))
    manifest["spec"]["model"]["configMapRef"] = {"name": "llama"}
    manifest["spec"]["engine"]["gpu"] = {"memory": "24Gi"}
    space.apply(manifest)
    space.wait_ready()
    assert space.lane("chat")["memory"]["answer"] == "Fits"
    manifest["spec"]["lanes"][0]["scheduler"]["maxModelLen"] = 120_000
    (tmp_path / "changed.yaml").write_text(json.dumps(manifest))
    code, said = space.plan(str(tmp_path / "changed.yaml"), "--server")
    assert (code, "does not fit" in said) == (1, True), said
    space.apply(manifest)
    status = space.wait("Stalled", lambda status: space.condition("Stalled", status).get("reason") == "DoesNotFit", 30)
    assert "120,000 tokens" in space.condition("Stalled", status)["message"]
    assert len(space.engine_pods("chat")) == 1
    assert traffic.ask_once(space.url, prompts.short()).failure == ""
    manifest["spec"]["lanes"][0]["scheduler"]["maxModelLen"] = 8192
    (tmp_path / "back.yaml").write_text(json.dumps(manifest))
    assert space.plan(str(tmp_path / "back.yaml"), "--server")[0] == 0
    space.apply(manifest)
    space.wait("not stalled", lambda status: space.condition("Stalled", status).get("status") == "False", 30)
    assert space.history("chat") == []


@pytest.mark.own_cluster
def test_a_model_on_a_claim_is_read_before_a_revision_starts(space: Space, service: Service, claim: Path) -> None:
    """The node of the local cluster is this machine: the claim's volume is a folder of it."""
    model = claim / "llama"
    model.mkdir()
    (model / "config.json").write_text(json.dumps(EIGHT_BILLION))
    (model / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": 16060522496}, "weight_map": {}}))
    for path, mode in ((model, 0o755), *((file, 0o644) for file in model.iterdir())):
        path.chmod(mode)   # pods run as another user
    manifest = service(manifests.lane("chat", scheduler={"maxModelLen": 8192}))
    manifest["spec"]["model"]["uri"] = "pvc://weights/llama"
    manifest["spec"]["engine"]["gpu"] = {"memory": "24Gi"}
    space.apply(manifest)
    space.wait_ready()
    assert space.lane("chat")["memory"]["answer"] == "Fits", space.lane("chat")["memory"]
    space.patch_lane("chat", scheduler={"maxModelLen": 120_000})
    status = space.wait("Stalled", lambda status: space.condition("Stalled", status).get("reason") == "DoesNotFit", 60)
    assert "120,000 tokens" in space.condition("Stalled", status)["message"]
    assert len(space.engine_pods("chat")) == 1
    assert traffic.ask_once(space.url, prompts.short()).failure == ""
    assert len(readers(space)) == 1
    space.patch_lane("chat", scheduler={"maxModelLen": 8192})
    space.wait("not stalled", lambda status: space.condition("Stalled", status).get("status") == "False", 30)
    # a claim without the model: nothing is known, and nothing is kept from starting
    space.patch({"model": {"uri": "pvc://weights/other"}})
    space.wait("the canary", lambda status: space.lane("chat", status).get("canary"), 60)
    assert "there is no folder /models/other" in space.lane("chat")["memory"]["message"]
    space.fairlane("abort", "--lane", "chat")
    space.wait_ended("chat", "RolledBack")
    space.wait("no pod that reads is left", lambda _: not readers(space), 60)


def readers(space: Space) -> list[dict[str, Any]]:
    """The pods that read a claim's model."""
    return space.get("pods", "-l", f"fairlane.dev/service={space.name},fairlane.dev/component=model")


@pytest.fixture
def claim(space: Space, tmp_path: Path) -> Iterator[Path]:
    """The folder behind a claim named weights."""
    folder, volume = tmp_path / "weights", f"{space.namespace}-weights"
    folder.mkdir()
    folder.chmod(0o755)
    plain = {"accessModes": ["ReadOnlyMany"], "storageClassName": ""}
    space.apply({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume},
        "spec": plain | {
            "capacity": {"storage": "1Gi"}, "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": str(folder), "type": "Directory"},
            "claimRef": {"namespace": space.namespace, "name": "weights"},
        },
    })
    space.apply({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "weights"},
        "spec": plain | {"volumeName": volume, "resources": {"requests": {"storage": "1Gi"}}},
    })
    yield folder
    space.cluster.kubectl("delete", "persistentvolume", volume, "--wait=false", "--ignore-not-found")


def assert_untouched(load: traffic.Load, record: Status) -> None:
    """No user's request failed, and none reached the canary."""
    assert [answer.line() for answer in load.failures] == []
    assert {answer.track for answer in load.answers} == {"stable"}
    assert record.get("canaryRequests", 0) == 0
