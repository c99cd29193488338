"""The real vLLM 0.32 accepts every command line that we render, and knows the flags that our data says it knows."""

import json
import pathlib
import subprocess
from typing import Any

import pytest
import yaml
from e2e.cluster import vllm_env
from tests.unit.engine import make
from tools.flags import store

from fairlane.api import spec as specs
from fairlane.core.engine import catalog, versions
from fairlane.core.engine import render as rendering

VERSION = versions.Version(0, 32, 0)
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
CHILD = pathlib.Path(__file__).with_name("vllm_parser.py")
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 4, "vocab_size": 1024, "max_position_embeddings": 131072, "dtype": "bfloat16", "rms_norm_eps": 1e-6,
}

LANES: list[tuple[str, dict[str, Any]]] = [
    ("nothing but the profile", {}),
    ("the scheduler's fields", {
        "scheduler": {"maxModelLen": 8192, "maxNumSeqs": 16, "maxNumBatchedTokens": 2048, "chunkedPrefill": True, "gpuMemoryUtilization": "0.85"},
    }),
    ("steps of sixteen tokens", {"scheduler": {"maxNumBatchedTokens": 16, "maxNumSeqs": 8, "maxModelLen": 8192}}),
    ("whole prompts", {"scheduler": {"chunkedPrefill": False, "maxModelLen": 4096, "maxNumBatchedTokens": 4096}}),
    ("a length below the profile's cap", {"scheduler": {"maxModelLen": 256}}),
    ("two ranks", {"scheduler": {"tensorParallelSize": 2}}),
    ("human numbers", {"flags": {"max-model-len": "32.5k", "max_num_batched_tokens": "8K", "kv-cache-memory-bytes": "64M"}}),
    ("the longest that fits", {"flags": {"max-model-len": "auto"}}),
    ("booleans of both kinds", {"flags": {"enforce-eager": True, "enable-prefix-caching": False, "async-scheduling": False, "enable-log-requests": False}}),
    ("an object", {"flags": {"hf-overrides": {"rope_theta": 10000.0}, "compilation-config": {"mode": 0}}}),
    ("a key of an object", {"flags": {"compilation-config.mode": 0}}),
    ("several values", {"flags": {"ignore-patterns": ["original/*", "*.pth"]}}),
    ("bounds inside vLLM", {"flags": {"max-num-queued-reqs": 64, "max-num-queued-tokens": "16k", "max-num-active-seqs": 4, "watermark": "0.02"}}),
    ("its own buckets", {"flags": {"custom-histogram-buckets": {"time_to_first_token": [0.01, 0.1, 1]}}}),
    ("another name of a flag", {"flags": {"device-memory-utilization": 0.5}}),
    ("priorities", {"flags": {"scheduling-policy": "priority", "seed": "7", "dtype": "bfloat16"}}),
]

# Every rule and type of ours that refuses, written as the line we would otherwise render: vLLM refuses it too, so none of them is too strict.
REFUSED: list[tuple[str, list[str]]] = [
    ("a removed flag", ["--swap-space", "4"]),
    ("a value for a boolean", ["--enable-chunked-prefill=auto"]),
    ("a human number of sequences", ["--max-num-seqs", "1k"]),
    ("decimals before a binary suffix", ["--max-model-len", "1.5K"]),
    ("no sequence", ["--max-num-seqs", "0"]),
    ("fewer tokens than sequences", ["--max-num-batched-tokens", "64", "--max-num-seqs", "128"]),
    ("more active sequences than sequences", ["--max-num-active-seqs", "32", "--max-num-seqs", "16"]),
    ("a cap above the length", ["--long-prefill-token-threshold", "4096", "--max-model-len", "2048"]),
    ("whole prompts that no step holds", ["--no-enable-chunked-prefill", "--max-num-batched-tokens", "1024", "--max-model-len", "2048"]),
    ("more than all memory", ["--gpu-memory-utilization", "1.01"]),
    ("a choice that is none", ["--kv-cache-dtype", "int8"]),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A model as far as its configuration goes."""
    folder = tmp_path_factory.mktemp("model")
    (folder / "config.json").write_text(json.dumps(CONFIG))
    return folder


@pytest.fixture(scope="module")
def lines(model: pathlib.Path) -> dict[str, list[str]]:
    """What follows `vllm serve`, by the case's name: each lane of the table with each profile, and every lane of the examples."""
    cases: dict[str, list[str]] = {}
    for profile in specs.Profile:
        for name, lane in LANES:
            spec = make.service(lane={"profile": profile.value} | lane, model={"uri": f"file://{model}"})
            cases[f"{profile}: {name}"] = words(spec, spec.lanes[0])
    for path, spec in examples():
        for lane_of_example in spec.lanes:
            cases[f"{path.name}: {lane_of_example.name}"] = words(spec, lane_of_example)
    return cases


@pytest.fixture(scope="module")
def answer(lines: dict[str, list[str]], model: pathlib.Path) -> dict[str, Any]:
    """One process for all lines: the import alone takes seconds."""
    request = {"lines": [*lines.values(), *([str(model), *words] for _, words in REFUSED)]}
    done = subprocess.run([vllm_env.python(), CHILD], input=json.dumps(request), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found




def examples() -> list[tuple[pathlib.Path, specs.LLMServiceSpec]]:
    documents = [(path, document) for path in sorted(EXAMPLES.rglob("*.yaml")) for document in yaml.safe_load_all(path.read_text())]
    return [(path, specs.LLMServiceSpec.model_validate(document["spec"])) for path, document in documents if document and document.get("kind") == "LLMService"]


def words(spec: specs.LLMServiceSpec, lane: specs.Lane) -> list[str]:
    command = make.container(rendering.render("assistant", spec, lane))["command"]
    assert command[:2] == ["vllm", "serve"]
    return list(command[2:])


def test_vllm_takes_every_line(lines: dict[str, list[str]], answer: dict[str, Any]) -> None:
    assert {name: error for name, error in zip(lines, answer["errors"], strict=False) if error is not None} == {}


def test_vllm_refuses_what_we_refuse(answer: dict[str, Any]) -> None:
    errors = answer["errors"][-len(REFUSED) :]
    assert [name for (name, _), error in zip(REFUSED, errors, strict=True) if error is None] == []


def test_the_data_names_the_flags_of_the_parser(answer: dict[str, Any]) -> None:
    parser = {option[2:] for option in answer["options"] if option.startswith("--")}
    positive = {name for name in parser if not (name.startswith("no-") and name[3:] in parser)} - {"help"}
    known = {flag.name for flag in catalog.flags().values() if flag.known(VERSION)}
    assert (set(), set()) == (known - positive, positive - known)


def test_kinds_and_choices_are_the_parsers(answer: dict[str, Any]) -> None:
    assert answer["read"] == store.load().parser


def test_the_data_names_the_booleans_of_the_parser(answer: dict[str, Any]) -> None:
    """A flag without a value there has none here, and what we would write as --no-x exists."""
    kinds = ("BooleanOptionalAction", "_StoreTrueAction")
    valueless = {option[2:] for option, action in answer["options"].items() if action in kinds and option.startswith("--")}
    booleans = {flag.name for flag in catalog.flags().values() if flag.known(VERSION) and flag.kind in ("bool", "switch")}
    negatable = {flag.name for flag in catalog.flags().values() if flag.known(VERSION) and flag.kind == "bool"}
    assert booleans == {name for name in valueless if not name.startswith("no-") or name.removeprefix("no-") not in valueless}
    assert {f"no-{name}" for name in negatable} <= valueless
