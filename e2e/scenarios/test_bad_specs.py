"""What cannot be: refused by `kubectl apply`, or `Stalled` with the field's name."""
from __future__ import annotations

import json
from typing import Any

import pytest

from e2e.cluster import Cluster, ClusterError
from e2e.scenarios import manifests
from e2e.scenarios.conftest import Service
from e2e.scenarios.space import Space, merged

LANE = manifests.lane("chat")

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "two lanes of one name": ({"lanes": [LANE, LANE]}, "spec.lanes[1]"),
    "a lane name that is no DNS name": ({"lanes": [LANE | {"name": "Chat_1"}], "router": {"defaultLane": "Chat_1"}}, "spec.lanes[0].name"),
    "a lane name of 21 letters": ({"lanes": [LANE | {"name": "c" * 21}], "router": {"defaultLane": "c" * 21}}, "spec.lanes[0].name"),
    "a default lane that is none": ({"router": {"defaultLane": "documents"}}, "defaultLane"),
    "weights that fall": ({"rollout": {"steps": [{"weight": 50, "duration": "10s"}, {"weight": 10, "duration": "10s"}]}}, "rollout.steps"),
    "a weight of 101": ({"rollout": {"steps": [{"weight": 101, "duration": "10s"}]}}, "spec.rollout.steps[0].weight"),
    "a weight of 0": ({"rollout": {"steps": [{"weight": 0, "duration": "10s"}]}}, "spec.rollout.steps[0].weight"),
    "a step of no time": ({"rollout": {"steps": [{"weight": 10, "duration": "0s"}]}}, "spec.rollout.steps[0].duration"),
    "a duration that is none": ({"rollout": {"failSafeAfter": "soon"}}, "spec.rollout.failSafeAfter"),
    "fewer batched tokens than sequences": ({"lanes": [LANE | {"scheduler": {"maxNumBatchedTokens": 16, "maxNumSeqs": 32}}]}, "maxNumBatchedTokens"),
    "whole prefills that do not fit": (
        {"lanes": [LANE | {"scheduler": {"chunkedPrefill": False, "maxNumBatchedTokens": 2048, "maxModelLen": 4096}}]}, "chunkedPrefill",
    ),
    "prompts as long as the model": ({"lanes": [LANE | {"match": {"maxPromptTokens": 4096}, "scheduler": {"maxModelLen": 4096}}]}, "match.maxPromptTokens"),
    "one caller in two lanes": (
        {"lanes": [LANE | {"match": {"callers": ["web"]}}, manifests.lane("batch", match={"callers": ["web"]})]}, "callers",
    ),
    "more than all of the memory": ({"lanes": [LANE | {"scheduler": {"gpuMemoryUtilization": "1.5"}}]}, "gpuMemoryUtilization"),
    "none of the memory": ({"lanes": [LANE | {"scheduler": {"gpuMemoryUtilization": "0"}}]}, "gpuMemoryUtilization"),
    "no replicas": ({"lanes": [LANE | {"replicas": 0}]}, "spec.lanes[0].replicas"),
    "no such profile": ({"lanes": [LANE | {"profile": "Fast"}]}, "spec.lanes[0].profile"),
    "a field that does not exist": ({"lanes": [LANE | {"maxSeqs": 8}]}, "maxSeqs"),
    "a model from nowhere": ({"model": {"uri": "s3://bucket/model"}}, "model.uri"),
    "an image whose version nobody knows": ({"engine": {"image": "vllm/vllm-openai:latest", "version": None}}, "engine.version"),
    "a bound below twice the router's replicas": ({"lanes": [LANE | {"admission": {"maxInFlight": 3}}], "router": {"replicas": 2}}, "maxInFlight"),
}

STALLED: dict[str, tuple[dict[str, Any], str]] = {
    "a flag that the version does not know": ({"lanes": [LANE | {"flags": {"swap-space": 4}}]}, "swap-space"),
    "a value that the flag does not take": ({"lanes": [LANE | {"flags": {"scheduling-policy": "lifo"}}]}, "scheduling-policy"),
    "a version that is not supported": ({"engine": {"version": "0.7.0"}}, "engine.version"),
    "fewer tokens than the profile's sequences": ({"lanes": [LANE | {"scheduler": {"maxNumBatchedTokens": 1}}]}, "maxNumBatchedTokens"),
    "a pod that renames the lane": (
        {"engine": {"pod": {"metadata": {"labels": {"fairlane.dev/lane": "other"}}}}}, "engine.pod",
    ),
}


def test_there_are_twenty_bad_specs() -> None:
    assert len(REFUSED) + len(STALLED) >= 20


def test_kubectl_apply_refuses_and_names_the_field(cluster: Cluster, space: Space, service: Service) -> None:
    wrong: dict[str, str] = {}
    for name, (change, field) in REFUSED.items():
        manifest = service(LANE)
        manifest["spec"] = merged(manifest["spec"], change)
        try:
            space.kubectl("apply", "--dry-run=server", "-f", "-", text=json.dumps(manifest))
            wrong[name] = "accepted"
        except ClusterError as error:
            if field not in str(error):
                wrong[name] = str(error)
    assert wrong == {}


@pytest.mark.parametrize(("change", "field"), STALLED.values(), ids=STALLED.keys())
def test_stalled_names_the_field(space: Space, service: Service, change: dict[str, Any], field: str) -> None:
    manifest = service(LANE)
    manifest["spec"] = merged(manifest["spec"], change)
    space.apply(manifest)
    status = space.wait("Stalled", lambda status: space.condition("Stalled", status).get("status") == "True", 30)
    assert field in space.condition("Stalled", status)["message"]
    assert space.get("deployments") == []
