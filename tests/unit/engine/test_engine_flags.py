"""Effective flags: who wins, what each version knows, what is refused and with which remedy."""

from typing import Any

import pytest
from tests.unit.engine import make

from fairlane.api import spec as specs
from fairlane.core import errors, names
from fairlane.core.engine import catalog, defaults, effective, profiles, values, versions

ALL_VERSIONS = [f"0.{minor}.0" for minor in range(8, 34)]
LANE, SCHEDULER, ENGINE = "spec.lanes[chat].flags", "spec.lanes[chat].scheduler", "spec.engine.flags"


@pytest.mark.parametrize(("engine", "scheduler", "lane", "expected"), [
    pytest.param({}, {}, {}, (64, effective.Origin.PROFILE), id="the profile beats vLLM's default"),
    pytest.param({"max-num-seqs": 32}, {}, {}, (32, effective.Origin.ENGINE), id="engine.flags beat the profile"),
    pytest.param({"max-num-seqs": 32}, {"maxNumSeqs": 16}, {}, (16, effective.Origin.SCHEDULER), id="lane.scheduler beats engine.flags"),
    pytest.param({"max-num-seqs": 32}, {"maxNumSeqs": 16}, {"--max_num_seqs": "8"}, (8, effective.Origin.LANE), id="lane.flags beat all"),
])
def test_stronger_layer_wins(engine: dict[str, Any], scheduler: dict[str, Any], lane: dict[str, Any], expected: tuple[int, effective.Origin]) -> None:
    spec = make.service(lane={"scheduler": scheduler, "flags": lane}, engine={"flags": engine, "gpu": {"memory": "24Gi"}})
    setting = make.settings(spec)["max-num-seqs"]
    assert expected == (setting.value, setting.origin)


@pytest.mark.parametrize(("image", "gpu", "expected"), [
    pytest.param("v:0.32.0", {"memory": "24Gi"}, {"stream-interval": 1, "tensor-parallel-size": 1}, id="an L4 gets the plain defaults"),
    pytest.param("v:0.8.5", {}, {"tensor-parallel-size": 1}, id="defaults of flags that the version lacks are not shown"),
])
def test_defaults_are_shown_as_such(image: str, gpu: dict[str, Any], expected: dict[str, Any]) -> None:
    settings = make.settings(make.service(engine={"image": image, "gpu": gpu}))
    shown = {name: setting.value for name, setting in settings.items() if setting.origin is effective.Origin.DEFAULT}
    assert expected == {name: value for name, value in shown.items() if name != "enable-chunked-prefill"}


@pytest.mark.parametrize("version", ALL_VERSIONS)
@pytest.mark.parametrize("profile", list(specs.Profile))
def test_every_profile_works_on_every_version(profile: specs.Profile, version: str) -> None:
    spec = make.service(lane={"profile": profile.value}, engine={"version": version})
    set_by_profile = {name: setting.value for name, setting in make.settings(spec).items() if setting.origin is effective.Origin.PROFILE}
    parsed = versions.parse(version)
    assert parsed is not None
    assert {name: value for name, value in profiles.get(profile).flags.items() if catalog.find(name, parsed)} == set_by_profile
    assert make.rendered(spec).hash


@pytest.mark.parametrize(("version", "adaptive"), [("0.30.0", False), ("0.32.0", True), ("0.33.0", True)])
def test_a_profile_leaves_out_what_the_version_lacks(version: str, adaptive: bool) -> None:
    spec = make.service(lane={"profile": "LongContext"}, engine={"version": version})
    assert adaptive == ("--long-prefill-token-threshold-adaptive" in make.container(make.rendered(spec))["command"])


def test_a_profiles_cap_is_left_out_where_all_prompts_are_shorter() -> None:
    assert "long-prefill-token-threshold" not in make.settings(make.service(lane={"scheduler": {"maxModelLen": 256, "maxNumSeqs": 4}}))


@pytest.mark.parametrize(("flags", "words"), [
    pytest.param({"enforce-eager": True}, ["--enforce-eager"], id="a switch that is on"),
    pytest.param({"enforce-eager": False}, [], id="a switch that is off is left out"),
    pytest.param({"enable-prefix-caching": False}, ["--no-enable-prefix-caching"], id="what is on by default is turned off by its no-form"),
    pytest.param({"async_scheduling": "true"}, ["--async-scheduling"], id="true as a string, underscores"),
    pytest.param({"max-model-len": "8k"}, ["--max-model-len", "8000"], id="lower-case k is decimal"),
    pytest.param({"max-model-len": "8K"}, ["--max-model-len", "8192"], id="upper-case K is binary"),
    pytest.param({"max-model-len": "32.5k"}, ["--max-model-len", "32500"], id="decimals before a decimal suffix"),
    pytest.param({"max-model-len": "auto"}, ["--max-model-len", "auto"], id="the longest that fits"),
    pytest.param({"device-memory-utilization": "0.50"}, ["--gpu-memory-utilization", "0.5"], id="another name of the same flag"),
    pytest.param({"hf-overrides": {"b": 1, "a": [2]}}, ["--hf-overrides", '{"a":[2],"b":1}'], id="an object is JSON in a fixed order"),
    pytest.param({"compilation-config.mode": 3}, ["--compilation-config.mode", "3"], id="one key of a JSON value"),
    pytest.param({"cudagraph-capture-sizes": [1, 2]}, ["--cudagraph-capture-sizes", "1", "2"], id="several values"),
    pytest.param({"middleware": ["a.A", "b.B"]}, ["--middleware=a.A", "--middleware=b.B"], id="once per value"),
    pytest.param({"quantization": "-x"}, ["--quantization=-x"], id="a value that looks like a flag"),
    pytest.param({"watermark": 0.02}, ["--watermark", "0.02"], id="a fraction"),
])
def test_values_become_words(flags: dict[str, Any], words: list[str]) -> None:
    settings = make.settings(make.service(lane={"flags": flags}))
    assert words == next(setting.words for setting in settings.values() if setting.origin is effective.Origin.LANE)


@pytest.mark.parametrize(("version", "key", "value", "remedy"), [
    pytest.param("0.32.0", "swap-space", 4, "use kv-offloading-size", id="removed, with a replacement"),
    pytest.param("0.18.1", "disable-log-requests", True, "use enable-log-requests false", id="removed, now the default"),
    pytest.param("0.10.2", "num-scheduler-steps", 8, "removed by 0.10.1; leave it out: it was part of", id="removed, with none"),
    pytest.param("0.32.0", "cuda-graph-sizes", [1], "it is cudagraph-capture-sizes now, renamed by 0.13.0", id="renamed"),
    pytest.param("0.30.0", "device-memory-utilization", 0.5, "came with 0.31.0; write gpu-memory-utilization", id="a name that came later"),
    pytest.param("0.8.4", "enable-lora", "no", "neither true nor false", id="a word for a switch"),
    pytest.param("0.28.0", "max-num-partial-prefills", 2, "long-prefill-token-threshold", id="dead configuration"),
    pytest.param("0.28.0", "max-num-queued-reqs", 2, "came with 0.29.0", id="not there yet"),
    pytest.param("0.32.0", "max-num-seq", 2, "did you mean max-num-seqs?", id="misspelled"),
    pytest.param("0.32.0", "maxNumSeqs", 2, "did you mean max-num-seqs?", id="written in camel case"),
    pytest.param("0.32.0", "no-enable-prefix-caching", True, "set enable-prefix-caching to false", id="written in the no-form"),
    pytest.param("0.32.0", "frobnicate", 1, "no supported version has it; leave it out", id="like nothing known"),
    pytest.param("0.32.0", "max_num_seqs.x", 1, "takes no keys", id="a key of what has none"),
    pytest.param("0.32.0", "port", 9000, "is not yours to set", id="the port"),
    pytest.param("0.32.0", "--served_model_name", "x", "set spec.model.name", id="the served name in another spelling"),
    pytest.param("0.32.0", "shutdown-timeout", 5, "follows from the profile", id="the drain"),
    pytest.param("0.32.0", "api-key", "s3cret", "VLLM_API_KEY", id="a secret in the command line"),
    pytest.param("0.33.0", "nnodes", 2, "one pod", id="an engine of several pods"),
    pytest.param("0.32.0", "max-num-seqs", "1k", "write it in digits", id="a human number where vLLM takes none"),
    pytest.param("0.32.0", "max-num-seqs", 1.5, "no whole number", id="a fraction of a sequence"),
    pytest.param("0.32.0", "max-num-seqs", True, "no whole number", id="true is no number"),
    pytest.param("0.32.0", "max-num-seqs", 0, "must be at least 1", id="below the least"),
    pytest.param("0.32.0", "max-model-len", "1.5K", "8k (8000)", id="decimals before a binary suffix"),
    pytest.param("0.12.0", "max-model-len", "auto", "since 0.14.0", id="auto before it came"),
    pytest.param("0.32.0", "gpu-memory-utilization", 0, "must be above 0", id="no memory at all"),
    pytest.param("0.32.0", "gpu-memory-utilization", 1.01, "must be at most 1", id="more memory than there is"),
    pytest.param("0.32.0", "gpu-memory-utilization", "most", "no number", id="a word for a number"),
    pytest.param("0.32.0", "gpu-memory-utilization", "nan", "no number", id="not a number"),
    pytest.param("0.32.0", "watermark", 1, "must be below 1", id="all blocks kept free"),
    pytest.param("0.32.0", "enable-chunked-prefill", "auto", "neither true nor false", id="a word for a boolean"),
    pytest.param("0.32.0", "enforce-eager", 1, "neither true nor false", id="a number for a boolean"),
    pytest.param("0.8.5", "scheduling-policy", "lifo", "none of fcfs, priority", id="a choice that never was one"),
    pytest.param("0.32.0", "kv-cache-dtype", "int8", "none of", id="a choice that this version lacks"),
    pytest.param("0.32.0", "kv-cache-dtype", True, "takes text", id="true for text"),
    pytest.param("0.32.0", "seed", None, "null", id="null"),
])
def test_what_cannot_be_followed_is_refused_with_its_remedy(version: str, key: str, value: Any, remedy: str) -> None:
    for path, spec in (
        (LANE, make.service(lane={"flags": {key: value}}, engine={"version": version})),
        (ENGINE, make.service(engine={"version": version, "flags": {key: value}})),
    ):
        with pytest.raises(errors.Refused) as refused:
            make.settings(spec)
        assert f"{path}.{key}" == refused.value.field
        assert remedy in refused.value.message


def test_a_refusal_names_the_version() -> None:
    with pytest.raises(errors.Refused, match=r"^spec\.lanes\[chat\]\.flags\.swap-space: vLLM 0\.32\.0 has no flag swap-space"):
        make.settings(make.service(lane={"flags": {"swap-space": 4}}))


def test_the_same_flag_in_two_spellings_is_refused() -> None:
    with pytest.raises(errors.Refused, match="keep one of them"):
        make.settings(make.service(lane={"flags": {"max-num-seqs": 8, "max_num_seqs": 9}}))


@pytest.mark.parametrize(("lane", "field", "named"), [
    pytest.param({"scheduler": {"maxNumBatchedTokens": 16}}, f"{SCHEDULER}.maxNumBatchedTokens", "max-num-seqs 64 (profile Interactive)",
                 id="a step smaller than the profile's sequences"),
    pytest.param({"scheduler": {"maxNumSeqs": 4096}}, f"{SCHEDULER}.maxNumSeqs", "max-num-batched-tokens 2048", id="more sequences than the profile's step"),
    pytest.param({"scheduler": {"maxNumSeqs": 64}, "flags": {"max-num-batched-tokens": 32}}, f"{LANE}.max-num-batched-tokens", f"{SCHEDULER}.maxNumSeqs",
                 id="the stronger field is blamed"),
    pytest.param({"flags": {"max-num-active-seqs": 65}}, f"{LANE}.max-num-active-seqs", "max-num-seqs 64", id="more active sequences than sequences"),
    pytest.param({"scheduler": {"maxModelLen": 2048}, "flags": {"long-prefill-token-threshold": 4096}},
                 f"{LANE}.long-prefill-token-threshold", "max-model-len 2048", id="a cap longer than any prompt"),
    pytest.param({"scheduler": {"maxModelLen": 8192, "chunkedPrefill": False}}, f"{SCHEDULER}.chunkedPrefill", "below max-model-len 8192",
                 id="whole prompts that no step holds"),
    pytest.param({"scheduler": {"chunkedPrefill": False}}, f"{SCHEDULER}.chunkedPrefill", "set both", id="whole prompts of unknown length"),
    pytest.param({"scheduler": {"maxModelLen": 2048}, "match": {"maxPromptTokens": 2048}}, "spec.lanes[chat].match.maxPromptTokens", "must be below",
                 id="prompts that leave no room for an answer"),
    pytest.param({"flags": {"max-model-len": 2048}, "admission": {"maxOutputTokens": 2048}}, "spec.lanes[chat].admission.maxOutputTokens", "must be below",
                 id="answers that leave no room for a prompt"),
    pytest.param({"flags": {"max-num-scheduled-tokens": 4096}}, f"{LANE}.max-num-scheduled-tokens",
                 "above max-num-batched-tokens 2048 (profile Interactive); raise max-num-batched-tokens to 4096", id="more scheduled tokens than a step has"),
    pytest.param({"flags": {"enable-log-outputs": True}}, f"{LANE}.enable-log-outputs", "needs enable-log-requests; set enable-log-requests too",
                 id="answers in the log without requests"),
    pytest.param({"flags": {"enable-log-outputs": True, "enable-log-requests": False}}, f"{LANE}.enable-log-outputs", "needs enable-log-requests",
                 id="the same, with requests turned off"),
    pytest.param({"flags": {"enable-auto-tool-choice": True}}, f"{LANE}.enable-auto-tool-choice", "needs tool-call-parser", id="tools without a parser"),
    pytest.param({"flags": {"collect-detailed-traces": ["model"]}}, f"{LANE}.collect-detailed-traces", '["model"] needs otlp-traces-endpoint',
                 id="traces that go nowhere"),
    pytest.param({"flags": {"spec-tokens": 3}}, f"{LANE}.spec-tokens", "needs speculative-config or spec-model or", id="guesses without a guesser"),
    pytest.param({"flags": {"per-request-spec-decode-metrics": "summary"}}, f"{LANE}.per-request-spec-decode-metrics",
                 "needs speculative-config or spec-model or", id="measures of guesses without a guesser"),
    pytest.param({"flags": {"ray-workers-use-nsight": True, "distributed-executor-backend": "mp"}}, f"{LANE}.ray-workers-use-nsight",
                 "needs distributed-executor-backend ray", id="a profiler of Ray without Ray"),
    pytest.param({"flags": {"enable-elastic-ep": True}}, f"{LANE}.enable-elastic-ep", "needs enable-eplb", id="elastic experts without balance"),
    pytest.param({"flags": {"enable-mamba-cache-stochastic-rounding": True, "mamba-ssm-cache-dtype": "float32"}},
                 f"{LANE}.enable-mamba-cache-stochastic-rounding", "needs mamba-ssm-cache-dtype float16", id="rounding of another type"),
    pytest.param({"flags": {"mamba-ssu-algorithm": "simple"}}, f"{LANE}.mamba-ssu-algorithm", "needs mamba-backend flashinfer",
                 id="an algorithm of another backend"),
    pytest.param({"flags": {"decode-context-parallel-size": 2}}, f"{LANE}.decode-context-parallel-size",
                 "tensor-parallel-size 1 (vLLM's default) is no multiple of", id="more context ranks than ranks"),
    pytest.param({"scheduler": {"tensorParallelSize": 3}, "flags": {"decode-context-parallel-size": 2}}, f"{LANE}.decode-context-parallel-size",
                 "is no multiple of", id="ranks that do not divide"),
    pytest.param({"flags": {"data-parallel-rpc-port": 65536}}, f"{LANE}.data-parallel-rpc-port", "must be at most 65535", id="no port"),
    pytest.param({"flags": {"custom-histogram-buckets": {"ttft": [1]}}}, f"{LANE}.custom-histogram-buckets", "'ttft' is no family of histograms; use one of",
                 id="bounds of an unknown family"),
    pytest.param({"flags": {"custom-histogram-buckets.ttft": [1]}}, f"{LANE}.custom-histogram-buckets.ttft", "'ttft' is no family", id="the same by a key"),
    pytest.param({"flags": {"custom-histogram-buckets": '{"request_latency": [1, 1]}'}}, f"{LANE}.custom-histogram-buckets",
                 "the bounds of request_latency [1, 1] do not rise", id="bounds that stay, in JSON"),
    pytest.param({"flags": {"custom-histogram-buckets.request_latency": [2, 1]}}, f"{LANE}.custom-histogram-buckets.request_latency", "do not rise",
                 id="bounds that fall"),
    pytest.param({"flags": {"custom-histogram-buckets": {"request_latency": []}}}, f"{LANE}.custom-histogram-buckets", "no list of numbers above 0",
                 id="no bounds"),
    pytest.param({"flags": {"custom-histogram-buckets": {"request_latency": [0, 1]}}}, f"{LANE}.custom-histogram-buckets", "no list of numbers above 0",
                 id="a bound of nothing"),
    pytest.param({"flags": {"custom-histogram-buckets": {"request_latency": [True, 2]}}}, f"{LANE}.custom-histogram-buckets", "no list of numbers above 0",
                 id="true as a bound"),
    pytest.param({"flags": {"custom-histogram-buckets": "[1, 2]"}}, f"{LANE}.custom-histogram-buckets", "is no object", id="bounds without a family"),
    pytest.param({"flags": {"custom-histogram-buckets": "fine"}}, f"{LANE}.custom-histogram-buckets", "'fine' is no object", id="no JSON"),
    pytest.param({"flags": {"enable-per-request-metrics": True, "disable-log-stats": True}}, f"{LANE}.disable-log-stats", "is not yours to set",
                 id="metrics of requests without statistics"),
    pytest.param({"flags": {"max-model-len": "2k"}, "match": {"maxPromptTokens": 2048}}, "spec.lanes[chat].match.maxPromptTokens", "max-model-len 2000",
                 id="the same, with a length in human form"),
])
def test_lanes_that_contradict_themselves_are_refused(lane: dict[str, Any], field: str, named: str) -> None:
    with pytest.raises(errors.Refused) as refused:
        make.rendered(make.service(lane=lane))
    assert field == refused.value.field
    assert named in refused.value.message


@pytest.mark.parametrize("lane", [
    pytest.param({"scheduler": {"maxNumBatchedTokens": 16, "maxNumSeqs": 16}}, id="a step as large as its sequences"),
    pytest.param({"scheduler": {"maxModelLen": 2048, "chunkedPrefill": False}}, id="whole prompts that fit a step"),
    pytest.param({"scheduler": {"maxModelLen": 2049}, "match": {"maxPromptTokens": 2048}}, id="one token left for an answer"),
    pytest.param({"flags": {"max-model-len": "auto"}, "match": {"maxPromptTokens": 2048}}, id="a length that only the engine will know"),
    pytest.param({"match": {"maxPromptTokens": 2048}}, id="no length: the model's own"),
    pytest.param({"flags": {"max-num-scheduled-tokens": 2048}}, id="as many scheduled tokens as a step has"),
    pytest.param({"flags": {"enable-log-outputs": True, "enable-log-requests": True}}, id="answers and requests in the log"),
    pytest.param({"flags": {"enable-log-outputs": False}}, id="no answers in the log"),
    pytest.param({"flags": {"per-request-spec-decode-metrics": "none"}}, id="no measures of guesses"),
    pytest.param({"flags": {"spec-tokens": 3, "speculative-config.method": "ngram"}}, id="guesses with a guesser, by a key"),
    pytest.param({"flags": {"enable-mamba-cache-stochastic-rounding": True, "mamba-ssm-cache-dtype": "float16"}}, id="rounding of the right type"),
    pytest.param({"scheduler": {"tensorParallelSize": 4}, "flags": {"decode-context-parallel-size": 2}}, id="ranks that divide"),
    pytest.param({"flags": {"enable-auto-tool-choice": True, "tool-call-parser": "hermes"}}, id="tools with a parser"),
    pytest.param({"flags": {"collect-detailed-traces": "all", "otlp-traces-endpoint": "http://otel:4317"}}, id="traces with an address"),
    pytest.param({"flags": {"custom-histogram-buckets": {"request_latency": [0.1, 1, 10]}}}, id="bounds that rise"),
    pytest.param({"flags": {"custom-histogram-buckets.request_latency": [0.1]}}, id="one bound, by a key"),
])
def test_lanes_at_their_limits_are_taken(lane: dict[str, Any]) -> None:
    assert make.rendered(make.service(lane=lane)).hash


@pytest.mark.parametrize(("version", "flags", "refused"), [
    pytest.param("0.8.5", {"enable-auto-tool-choice": True}, "needs tool-call-parser", id="a rule holds in every version that has its flags"),
    pytest.param("0.10.0", {"enable-log-outputs": True}, "came with 0.10.1", id="before that the flag is unknown"),
    pytest.param("0.25.1", {"max-num-scheduled-tokens": 4096}, "came with 0.26.0", id="scheduled tokens before they came"),
    pytest.param("0.26.0", {"max-num-scheduled-tokens": 4096}, "is above max-num-batched-tokens", id="and from then on"),
    pytest.param("0.31.0", {"custom-histogram-buckets": {"x": [1]}}, "no flag custom-histogram-buckets", id="bounds before they came"),
])
def test_rules_hold_where_the_version_has_their_flags(version: str, flags: dict[str, Any], refused: str) -> None:
    with pytest.raises(errors.Refused, match=refused):
        make.rendered(make.service(lane={"flags": flags}, engine={"version": version}))


@pytest.mark.parametrize("profile", list(specs.Profile))
def test_every_profile_sets_what_vllm_would_double(profile: specs.Profile) -> None:
    """performance-mode throughput doubles vLLM's own defaults of these two (arg_utils.py), which defaults.yaml does not tell."""
    assert {"max-num-batched-tokens", "max-num-seqs"} <= profiles.get(profile).flags.keys()


@pytest.mark.parametrize(("text", "number"), [
    ("8k", 8000), ("8K", 8192), ("32.5k", 32500), ("2M", 2 * 2**20), ("7", 7), (" 7 ", 7), ("1.5K", None), ("1.5", None), ("k", None), ("", None),
])
def test_human_numbers_read_as_vllm_reads_them(text: str, number: int | None) -> None:
    assert number == values.human(text)


@pytest.mark.parametrize(("gpu", "version", "expected"), [
    pytest.param({"memory": "24Gi"}, "0.32.0", (2048, 256, 0.92), id="an L4"),
    pytest.param({"memory": "80Gi"}, "0.32.0", (8192, 1024, 0.92), id="an H100"),
    pytest.param({"memory": "80G"}, "0.32.0", (8192, 1024, 0.92), id="the same, written in decimal units"),
    pytest.param({"memory": "80Gi", "product": "NVIDIA-A100-SXM4-80GB"}, "0.32.0", (2048, 256, 0.92), id="an A100, whose large steps are slow"),
    pytest.param({"memory": "192Gi"}, "0.32.0", (16384, 1024, 0.92), id="a B200"),
    pytest.param({"memory": "192Gi"}, "0.27.1", (8192, 1024, 0.92), id="a B200 before it had a row of its own"),
    pytest.param({"memory": "80Gi", "product": "NVIDIA-A100-SXM4-80GB"}, "0.8.5", (8192, 1024, 0.9), id="an A100 before it was excepted"),
    pytest.param({"memory": "119Gi", "product": "NVIDIA-GB10"}, "0.32.0", (8192, 1024, 0.92), id="a GB10 before it was excepted"),
    pytest.param({"memory": "119Gi", "product": "NVIDIA-GB10"}, "0.33.0", (2048, 256, 0.92), id="a GB10"),
    pytest.param({"memory": "80Gi"}, "0.8.4", (None, None, 0.9), id="a version that went by the product's name"),
    pytest.param({"memory": "24Gi"}, "0.20.0", (2048, 256, 0.92), id="the first version with the higher utilization"),
    pytest.param({"memory": "80Gi"}, "0.19.1", (8192, 1024, 0.9), id="before the default utilization rose"),
    pytest.param({}, "0.32.0", (None, None, 0.92), id="unknown memory: nothing is claimed"),
])
def test_engine_defaults_follow_version_and_device(gpu: dict[str, Any], version: str, expected: tuple[int | None, int | None, float]) -> None:
    parsed = versions.parse(version)
    assert parsed is not None
    known = defaults.flags(parsed, specs.Gpu.model_validate(gpu))
    assert expected == (known.get("max-num-batched-tokens"), known.get("max-num-seqs"), known["gpu-memory-utilization"])


@pytest.mark.parametrize(("profile", "digest"), [
    (specs.Profile.INTERACTIVE, "263d6ab4"), (specs.Profile.LONG_CONTEXT, "74417857"), (specs.Profile.THROUGHPUT, "6bdd3e59"),
])
def test_shipped_profiles_never_change(profile: specs.Profile, digest: str) -> None:
    """A change would give every lane of the profile a rollout when the operator is upgraded: a better profile gets a new name."""
    shipped = profiles.get(profile)
    assert digest == names.digest([shipped.drain_seconds, dict(shipped.flags)])


@pytest.mark.parametrize(("written", "expected"), [("8", 8), (" 8 ", 8), ("1_000", 1000), (8, 8)])
def test_whole_numbers_are_read_as_vllm_reads_them(written: object, expected: int) -> None:
    settings = make.settings(make.service(lane={"flags": {"max-num-seqs": written}}))
    assert settings["max-num-seqs"].value == expected


@pytest.mark.parametrize("written", ["1__000", "_1", "1_", "1e3", "0x10"])
def test_what_python_reads_as_no_whole_number_is_refused(written: str) -> None:
    with pytest.raises(errors.Refused, match="no whole number"):
        make.settings(make.service(lane={"flags": {"max-num-seqs": written}}))
