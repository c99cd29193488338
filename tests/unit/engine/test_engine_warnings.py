"""What is taken and told beside."""

from typing import Any

import pytest
from tests.unit.engine import make

from fairlane.core.engine import versions
from fairlane.core.engine import warnings as warning

LANE, SCHEDULER, ENGINE = "spec.lanes[chat].flags", "spec.lanes[chat].scheduler", "spec.engine.flags"


def warned(lane: dict[str, Any], engine: dict[str, Any] | None = None) -> list[tuple[str, str]]:
    spec = make.service(lane=lane, engine=engine)
    assert make.rendered(spec).hash      # nothing of it is refused
    return [(found.field, found.message) for found in warning.warnings(spec.lanes[0], make.settings(spec), versions.resolve(spec.engine))]


@pytest.mark.parametrize(("lane", "version", "field", "message"), [
    pytest.param({"flags": {"disable-cascade-attn": True}}, "0.32.0", f"{LANE}.disable-cascade-attn",
                 "disable-cascade-attn is deprecated since 0.32.0; leave it out: cascade attention was removed", id="deprecated, with nothing instead"),
    pytest.param({"flags": {"log_config_file": "/x"}}, "0.33.0", f"{LANE}.log_config_file", "since 0.31.0; use logging-config.pylogging_config_file",
                 id="deprecated, with something instead, in another spelling"),
    pytest.param({"flags": {"cuda-graph-sizes": [1]}}, "0.12.0", f"{LANE}.cuda-graph-sizes", "since 0.11.1; use cudagraph-capture-sizes", id="soon renamed"),
    pytest.param({"flags": {"max-model-len": "8k"}}, "0.32.0", f"{LANE}.max-model-len", "max-model-len 8k is 8000; for 8192 write 8K, or write 8000",
                 id="a decimal number just below a power of two"),
    pytest.param({"flags": {"max-model-len": "32.5k"}}, "0.32.0", f"{LANE}.max-model-len", "for 32768 write 32K, or write 32500", id="with a fraction"),
    pytest.param({"scheduler": {"maxModelLen": 8192}, "flags": {"max-num-batched-tokens": "2k"}}, "0.8.5", f"{LANE}.max-num-batched-tokens",
                 "for 2048 write 2K", id="in an old version"),
    pytest.param({"scheduler": {"maxNumSeqs": 1, "maxModelLen": 1024}}, "0.32.0", f"{SCHEDULER}.maxNumSeqs",
                 "2048 (profile Interactive) is more than a step can hold", id="a budget beyond all sequences"),
    pytest.param({"scheduler": {"maxNumSeqs": 2, "maxNumBatchedTokens": 8192}, "flags": {"max-model-len": 4095}}, "0.32.0", f"{LANE}.max-model-len",
                 "set max-num-batched-tokens to 8190 or less", id="by two tokens"),
    pytest.param({"scheduler": {"maxModelLen": 2048, "chunkedPrefill": False}}, "0.32.0", f"{SCHEDULER}.chunkedPrefill",
                 "lets one long prompt hold all requests", id="whole prompts in an Interactive lane"),
    pytest.param({"scheduler": {"maxModelLen": 12293}, "match": {"maxPromptTokens": 2048}, "admission": {"maxOutputTokens": 1025}}, "0.32.0",
                 f"{SCHEDULER}.maxModelLen", "set 3073 or a little more", id="a length far above what the lane lets in"),
])
def test_a_lane_is_warned(lane: dict[str, Any], version: str, field: str, message: str) -> None:
    (found,) = warned(lane, {"version": version})
    assert field == found[0]
    assert message in found[1]


@pytest.mark.parametrize(("lane", "version"), [
    pytest.param({}, "0.32.0", id="nothing but the profile"),
    pytest.param({"flags": {"log-config-file": "/x"}}, "0.30.0", id="not deprecated yet"),
    pytest.param({"flags": {"max-model-len": "8K"}}, "0.32.0", id="a binary number"),
    pytest.param({"flags": {"max-model-len": 8000}}, "0.32.0", id="the same number written out"),
    pytest.param({"flags": {"max-model-len": "8000"}}, "0.32.0", id="written out as text"),
    pytest.param({"flags": {"max-model-len": "10k"}}, "0.32.0", id="a decimal number far from any power of two"),
    pytest.param({"flags": {"kv-cache-memory-bytes": "2g"}}, "0.32.0", id="more than 3 % below one"),
    pytest.param({"scheduler": {"maxNumSeqs": 2, "maxModelLen": 1024}}, "0.32.0", id="a budget that all sequences fill"),
    pytest.param({"flags": {"max-model-len": "auto", "max-num-seqs": 1}}, "0.32.0", id="a length that only the engine will know"),
    pytest.param({"profile": "LongContext", "scheduler": {"maxModelLen": 8192, "chunkedPrefill": False}}, "0.32.0", id="whole prompts among long ones"),
    pytest.param({"scheduler": {"maxModelLen": 12292}, "match": {"maxPromptTokens": 2048}, "admission": {"maxOutputTokens": 1025}}, "0.32.0",
                 id="four times what the lane lets in"),
    pytest.param({"scheduler": {"maxModelLen": 131072}, "match": {"maxPromptTokens": 2048}}, "0.32.0", id="answers of unknown length"),
])
def test_a_lane_is_not_warned(lane: dict[str, Any], version: str) -> None:
    assert warned(lane, {"version": version}) == []


def test_each_oddity_is_told_at_its_own_field() -> None:
    lane = {"flags": {"max-model-len": "8k"}, "match": {"maxPromptTokens": 100}, "admission": {"maxOutputTokens": 100}}
    found = warned(lane, {"flags": {"disable-cascade-attn": False}})
    assert [f"{ENGINE}.disable-cascade-attn", f"{LANE}.max-model-len", f"{LANE}.max-model-len"] == [field for field, _ in found]
