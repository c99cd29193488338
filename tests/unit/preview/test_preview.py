"""What a preview says of one service: each lane's fate, what needs a canary, GPUs, objects."""

from typing import Any

import pytest
from tests.unit.engine import make

from fairlane.api import spec as specs
from fairlane.api import status as statuses
from fairlane.core.preview import preview, types

SERVICE = make.service(lane={"scheduler": {"maxModelLen": 8192}, "replicas": 2})
HASH = make.rendered(SERVICE).hash
OTHER = {"scheduler": {"maxModelLen": 8192, "maxNumSeqs": 8}}


def changed(lane: dict[str, Any] | None = None, **parts: Any) -> specs.LLMServiceSpec:
    """The service with fields of its lane, or of the spec, replaced."""
    dumped = SERVICE.model_dump(mode="json", by_alias=True, exclude_none=True)
    dumped["lanes"][0] |= lane or {}
    return specs.LLMServiceSpec.model_validate(dumped | parts)


OTHER_HASH = make.rendered(changed(OTHER)).hash


def running(**status: Any) -> preview.Running:
    """The service as it serves, with fields of its lane's status replaced."""
    lane = statuses.LaneStatus.model_validate({"name": "chat", "stable": f"{HASH}-1"} | status)
    return preview.Running(SERVICE, statuses.LLMServiceStatus(lanes=[lane]))


def previewed(spec: specs.LLMServiceSpec, now: preview.Running | None = None) -> types.Preview:
    return preview.preview("assistant", "prod", spec, now)


@pytest.mark.parametrize(("spec", "now", "expected", "about"), [
    pytest.param(SERVICE, None, types.Change.CREATE, f"first revision {HASH}-1, without a canary", id="nothing runs"),
    pytest.param(SERVICE, running(stable=""), types.Change.CREATE, "first revision", id="it was applied and nothing serves yet"),
    pytest.param(SERVICE, running(), types.Change.NONE, f"{HASH}-1 stays", id="the same again"),
    pytest.param(changed({"replicas": 3}), running(), types.Change.NONE, "the engine pods are the same", id="what is no engine pod's"),
    pytest.param(changed(OTHER), running(), types.Change.CANARY, f"revision {OTHER_HASH}-1 is tried beside {HASH}-1", id="another scheduler"),
    pytest.param(changed(OTHER), running(canary=f"{OTHER_HASH}-1"), types.Change.CONTINUE, f"the trial of {OTHER_HASH}-1 goes on",
                 id="what is on trial already"),
    pytest.param(changed(OTHER), running(canary="0badcafe-1"), types.Change.CANARY, "the trial of 0badcafe-1 ends", id="a change while another is on trial"),
    pytest.param(SERVICE, running(canary=f"{OTHER_HASH}-1"), types.Change.REVERT, f"back to {HASH}-1, which serves; the trial of {OTHER_HASH}-1 ends",
                 id="back to the stable"),
    pytest.param(SERVICE, running(canary=f"{HASH}-2", trial=True), types.Change.NONE, f"{HASH}-1 stays", id="a trial of the unchanged revision"),
    pytest.param(changed(OTHER), running(rejected=[OTHER_HASH]), types.Change.BLOCKED, "was rolled back before", id="what was rolled back before"),
])
def test_a_lane_becomes(spec: specs.LLMServiceSpec, now: preview.Running | None, expected: types.Change, about: str) -> None:
    lane = previewed(spec, now).lanes[0]
    assert expected is lane.change
    assert about in lane.about


def test_a_revision_that_had_its_rollout_comes_back_under_the_next_ordinal() -> None:
    record = statuses.RolloutRecord.model_validate({
        "lane": "chat", "stable": f"{HASH}-1", "canary": f"{OTHER_HASH}-1", "result": "RolledBack", "startedAt": "2026-01-01T00:00:00Z",
        "endedAt": "2026-01-01T00:10:00Z", "reason": "Aborted", "message": "",
    })
    now = running()
    now = preview.Running(now.spec, now.status.model_copy(update={"history": [record]}))
    assert f"revision {OTHER_HASH}-2 is tried" in previewed(changed(OTHER), now).lanes[0].about


@pytest.mark.parametrize(("spec", "canaried", "at_once"), [
    pytest.param(changed(OTHER), ["lanes[chat].scheduler.maxNumSeqs: unset -> 8"], [], id="a scheduler's field"),
    pytest.param(changed({"profile": "Throughput"}), ["lanes[chat].profile: Interactive -> Throughput"], [], id="the profile"),
    pytest.param(changed({"replicas": 3, "admission": {"maxInFlight": 8}}), [],
                 ["lanes[chat].admission.maxInFlight: unset -> 8", "lanes[chat].replicas: 2 -> 3"],
                 id="replicas and bounds"),
    pytest.param(changed(engine={"image": "vllm/vllm-openai:v0.33.0"}), ["engine.image: vllm/vllm-openai:v0.32.0 -> vllm/vllm-openai:v0.33.0"], [],
                 id="the image, which is every lane's"),
])
def test_fields_that_need_a_canary_stand_apart_from_those_that_apply_at_once(spec: specs.LLMServiceSpec, canaried: list[str], at_once: list[str]) -> None:
    lane = previewed(spec, running()).lanes[0]
    assert (canaried, at_once) == ([str(item) for item in lane.canaried], [str(item) for item in lane.at_once])


def test_what_is_no_lanes_applies_at_once() -> None:
    seen = previewed(changed(router={"defaultLane": "chat", "replicas": 3}), running())
    assert [str(item) for item in seen.at_once] == ["router.replicas: 2 -> 3"]
    assert {"Deployment/assistant-router"} <= {f"{item.kind}/{item.name}" for item in seen.objects if item.verb == "update"}


@pytest.mark.parametrize(("spec", "expected"), [
    pytest.param(SERVICE, [(2, 0), (3, 1), (3, 1), (4, 2)], id="two replicas of one GPU, ten and fifty percent"),
    pytest.param(changed({"scheduler": {"tensorParallelSize": 4, "maxModelLen": 8192}}), [(8, 0), (12, 4), (12, 4), (16, 8)], id="four GPUs a pod"),
    pytest.param(changed({"replicas": 10}), [(10, 0), (11, 1), (15, 5), (20, 10)], id="ten replicas: as many pods as carry the weight"),
    pytest.param(changed(rollout={"baseline": "Fresh"}), [(2, 0), (4, 2), (3, 1), (4, 2)], id="a fresh baseline below fifty percent costs the same again"),
])
def test_gpus_are_those_of_each_phase(spec: specs.LLMServiceSpec, expected: list[tuple[int, int]]) -> None:
    assert expected == [(need.gpus, need.more) for need in previewed(spec).lanes[0].gpus]


def test_a_lane_that_stays_needs_no_more_gpus() -> None:
    assert [types.GpuNeed("serving", 2, 0)] == list(previewed(SERVICE, running()).lanes[0].gpus)


@pytest.mark.parametrize(("spec", "now", "expected"), [
    pytest.param(SERVICE, running(), set(), id="the same again: none"),
    pytest.param(changed(OTHER), running(), {f"create {kind}/assistant-chat-{OTHER_HASH}-1" for kind in ("ControllerRevision", "Service", "Deployment")},
                 id="a canary's own three"),
    pytest.param(changed({"replicas": 3}), running(), {f"update Deployment/assistant-chat-{HASH}-1"}, id="the stable's Deployment, for its replicas"),
    pytest.param(changed({"admission": {"maxInFlight": 8}}), running(), {"update ConfigMap/assistant-routes"}, id="the routes, for a bound"),
    pytest.param(SERVICE, running(canary=f"{OTHER_HASH}-1"),
                 {f"delete {kind}/assistant-chat-{OTHER_HASH}-1" for kind in ("ControllerRevision", "Service", "Deployment")}, id="those of a trial that ends"),
])
def test_objects_that_change(spec: specs.LLMServiceSpec, now: preview.Running, expected: set[str]) -> None:
    assert expected == {f"{item.verb} {item.kind}/{item.name}" for item in previewed(spec, now).objects}


def test_a_lane_that_leaves_drains_and_goes() -> None:
    two = changed(lanes=[*SERVICE.model_dump(mode="json", by_alias=True, exclude_none=True)["lanes"],
                         {"name": "batch", "profile": "Throughput", "replicas": 1}])
    now = running()
    gone = statuses.LaneStatus(name="batch", stable="0badcafe-1")
    seen = previewed(SERVICE, preview.Running(two, now.status.model_copy(update={"lanes": [*now.status.lanes, gone]})))
    assert (seen.lanes[1].change, seen.lanes[1].about) == (types.Change.REMOVE, "0badcafe-1 drains and goes")
    assert "delete Deployment/assistant-batch-0badcafe-1" in {f"{item.verb} {item.kind}/{item.name}" for item in seen.objects}


@pytest.mark.parametrize(("spec", "words"), [
    pytest.param(changed(OTHER | {"flags": {"swap-space": 4}}), "vLLM 0.32.0 has no flag swap-space", id="a removed flag"),
    pytest.param(changed({"scheduler": {"maxNumBatchedTokens": 16}}), "max-num-seqs 64 (profile Interactive) is above max-num-batched-tokens 16",
                 id="what only the effective flags show"),
])
def test_a_lane_that_cannot_be_is_refused_and_nothing_changes(spec: specs.LLMServiceSpec, words: str) -> None:
    seen = previewed(spec, running())
    assert seen.would_be_refused
    assert words in seen.lanes[0].refused
    assert (seen.objects, seen.pending) == ((), False)


def test_the_other_lanes_of_a_refused_spec_wait_for_it() -> None:
    lanes = [*changed({"flags": {"swap-space": 4}}).model_dump(mode="json", by_alias=True, exclude_none=True)["lanes"],
             {"name": "batch", "profile": "Throughput", "replicas": 1}]
    refused, waiting = previewed(changed(lanes=lanes), running()).lanes
    assert (bool(refused.refused), waiting.refused, waiting.about) == (True, "", "nothing is done while another lane is refused")


def test_a_version_that_is_not_supported_refuses_the_whole() -> None:
    seen = previewed(changed(engine={"image": "vllm/vllm-openai:v0.7.0"}))
    assert "outside the supported 0.8 to 0.33" in seen.refused[0]


@pytest.mark.parametrize(("name", "expected"), [
    ("max-num-seqs", ("profile", 64)), ("max-model-len", ("lane.scheduler", 8192)), ("stream-interval", ("default", 1)),
])
def test_every_flag_says_who_set_it(name: str, expected: tuple[str, Any]) -> None:
    flag = next(flag for flag in previewed(SERVICE).lanes[0].flags if flag.name == name)
    assert expected == (flag.origin, flag.value)
