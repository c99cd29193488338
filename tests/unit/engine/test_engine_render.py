"""A lane's revision: what its hash is made of, and the whole template against golden files.

`UPDATE_GOLDEN=1 pytest tests/unit/engine/test_engine_render.py` writes the golden files anew; read their diff before committing it.
A changed template is a matter of taste; a changed hash gives every lane of every user a rollout when they upgrade the operator.
"""

import json
import os
import pathlib
from typing import Any

import pytest
import yaml
from tests.unit.engine import make

from fairlane.core import errors
from fairlane.core.engine import render as rendering

GOLDEN = pathlib.Path(__file__).parent / "golden"
FULL = {
    "lane": {"scheduler": {"maxModelLen": 8192, "maxNumSeqs": 16, "tensorParallelSize": 2, "gpuMemoryUtilization": "0.90"}, "flags": {"kv-cache-dtype": "fp8"}},
    "engine": {"gpu": {"product": "NVIDIA-L4", "memory": "24Gi"}, "pod": {"spec": {"tolerations": [{"operator": "Exists"}]}}},
    "model": {"tokenSecretRef": {"name": "hf-token"}},
}
OLD = {"lane": {"profile": "Throughput"}, "engine": {"image": "vllm/vllm-openai:v0.16.0"}, "model": {"uri": "pvc://weights/qwen"}}


@pytest.mark.parametrize(("name", "spec"), [
    pytest.param("interactive-0.32", make.service(**FULL), id="a chat lane on 0.32"),
    pytest.param("throughput-0.16", make.service(**OLD), id="a batch lane on 0.16"),
])
def test_template_is_as_it_was(name: str, spec: Any) -> None:
    rendered = make.rendered(spec)
    plain = json.loads(json.dumps({"hash": rendered.hash, "gpus": rendered.gpus, "inputs": rendered.inputs, "template": rendered.template}))   # no YAML aliases
    text = yaml.safe_dump(plain, sort_keys=False, width=160)
    path = GOLDEN / f"{name}.yaml"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text)
    assert path.read_text() == text


@pytest.mark.parametrize("change", [
    pytest.param({"lane": {"replicas": 5}}, id="replicas"),
    pytest.param({"lane": {"match": {"maxPromptTokens": 2048, "callers": ["web"]}}}, id="match"),
    pytest.param({"lane": {"admission": {"maxInFlight": 8}}}, id="admission"),
    pytest.param({"lane": {"timeouts": {"drain": "10m"}}}, id="timeouts, the drain among them"),
    pytest.param({"lane": {"objectives": {"ttftP99": "2s"}}}, id="objectives"),
    pytest.param({"lane": {"flags": {"enforce-eager": False}}}, id="a switch that is off anyway"),
    pytest.param({"lane": {"flags": {"max_num_seqs": "64"}}}, id="the profile's value, spelled out"),
    pytest.param({"engine": {"version": "v0.32.0"}}, id="the version that the tag says"),
    pytest.param({"engine": {"gpu": {"memory": "24Gi"}}}, id="the GPU's memory"),
])
def test_what_changes_no_pod_makes_no_revision(change: dict[str, dict[str, Any]]) -> None:
    assert make.rendered(make.service()).hash == make.rendered(make.service(**change)).hash
    assert make.rendered(make.service()).template == make.rendered(make.service(**change)).template


@pytest.mark.parametrize("change", [
    pytest.param({"lane": {"scheduler": {"maxNumSeqs": 16}}}, id="a scheduler value"),
    pytest.param({"lane": {"profile": "Throughput"}}, id="the profile"),
    pytest.param({"lane": {"flags": {"enable-prefix-caching": False}}}, id="what the profile turns on, turned off"),
    pytest.param({"lane": {"flags": {"stream-interval": 1}}}, id="a default, pinned"),
    pytest.param({"engine": {"image": "vllm/vllm-openai:v0.31.0"}}, id="the image"),
    pytest.param({"engine": {"gpu": {"product": "NVIDIA-L4"}}}, id="the GPU's product"),
    pytest.param({"engine": {"pod": {"spec": {"tolerations": [{"operator": "Exists"}]}}}}, id="the pod's fragment"),
    pytest.param({"model": {"uri": "hf://Qwen/Qwen2.5-14B-Instruct"}}, id="the model"),
    pytest.param({"model": {"name": "qwen"}}, id="the name clients send"),
])
def test_what_changes_a_pod_makes_a_revision(change: dict[str, dict[str, Any]]) -> None:
    assert make.rendered(make.service()).hash != make.rendered(make.service(**change)).hash


def test_two_spellings_of_one_value_are_one_revision() -> None:
    as_flag, as_field = make.service(lane={"flags": {"max-model-len": "8K"}}), make.service(lane={"scheduler": {"maxModelLen": 8192}})
    assert make.rendered(as_flag).hash == make.rendered(as_field).hash


def test_the_order_of_flags_changes_nothing() -> None:
    forth, back = {"seed": 1, "dtype": "half", "enforce-eager": True}, {"enforce-eager": True, "dtype": "half", "seed": 1}
    assert make.rendered(make.service(lane={"flags": forth})) == make.rendered(make.service(lane={"flags": back}))


def test_the_hash_is_of_the_inputs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    before = make.rendered(make.service())
    monkeypatch.setattr(rendering.template, "template", lambda _: {"metadata": {}, "spec": {"containers": []}})
    after = make.rendered(make.service())
    assert before.hash == after.hash
    assert before.template != after.template


def test_two_lanes_never_share_a_hash() -> None:
    assert make.rendered(make.service()).hash != make.rendered(make.service(lane={"name": "talk"})).hash
    assert make.rendered(make.service(), "one").hash != make.rendered(make.service(), "two").hash


@pytest.mark.parametrize(("flags", "expected"), [
    pytest.param({}, 1, id="one by default"),
    pytest.param({"tensor-parallel-size": 4}, 4, id="tensor parallel"),
    pytest.param({"tensor-parallel-size": 2, "pipeline-parallel-size": 2}, 4, id="times pipeline parallel"),
    pytest.param({"tensor-parallel-size": 2, "data-parallel-size": 3}, 6, id="times data parallel"),
])
def test_accelerators_follow_from_the_parallel_sizes(flags: dict[str, Any], expected: int) -> None:
    rendered = make.rendered(make.service(lane={"flags": flags}, engine={"gpu": {"resource": "amd.com/gpu"}}))
    assert expected == rendered.gpus
    assert make.container(rendered)["resources"] == {"requests": {"amd.com/gpu": str(expected)}, "limits": {"amd.com/gpu": str(expected)}}


@pytest.mark.parametrize(("profile", "drain"), [("Interactive", 60), ("LongContext", 180), ("Throughput", 300)])
def test_the_grace_period_holds_removal_drain_and_teardown(profile: str, drain: int) -> None:
    rendered = make.rendered(make.service(lane={"profile": profile}))
    assert make.words_after(make.container(rendered)["command"], "shutdown-timeout") == [str(drain)]
    assert rendered.template["spec"]["terminationGracePeriodSeconds"] >= 10 + drain + 15


def test_no_shutdown_timeout_before_vllm_had_it() -> None:
    assert "--shutdown-timeout" not in make.container(make.rendered(make.service(engine={"version": "0.17.1"})))["command"]
    assert "--shutdown-timeout" in make.container(make.rendered(make.service(engine={"version": "0.18.0"})))["command"]


def test_the_first_error_is_the_message() -> None:
    with pytest.raises(errors.Refused, match=r"^spec\.engine\.version"):
        make.rendered(make.service(engine={"image": "vllm:latest"}, lane={"flags": {"swap-space": 1}}))
