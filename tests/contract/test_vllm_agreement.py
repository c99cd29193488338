"""Fairlane and the real vLLM 0.32 take the same flags: 500 generated sets, and the reasons of every difference."""

import collections
import dataclasses
import json
import pathlib
import re
import subprocess
from typing import Any

import pytest
from e2e.cluster import vllm_env
from tests.contract import flag_sets
from tests.unit.engine import make

from fairlane.core import errors
from fairlane.core.engine import effective
from fairlane.core.engine import render as rendering

CHILD = pathlib.Path(__file__).with_name("vllm_parser.py")
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 4, "vocab_size": 1024, "max_position_embeddings": 131072, "dtype": "bfloat16", "rms_norm_eps": 1e-6,
}

# What vLLM says, and why Fairlane does not say it.
ONLY_VLLM_REFUSES: dict[str, str] = {
    r"(Sleep mode|cumem allocator) is not supported on current platform": "this vLLM is built for CPU",
    r"requires Model Runner V2|Model Runner V1 does not support": "vLLM on CPU still runs the old model runner, and on a GPU the new one",
    r"Number of experts in the model must be greater than 0": "depends on the model, which Fairlane does not know",
    r"greater than the model's total number of KV heads": "depends on the model",
}
# What Fairlane says, and why although vLLM takes it.
ONLY_FAIRLANE_REFUSES: dict[str, str] = {
    r"max-num-scheduled-tokens .* is above max-num-batched-tokens": "vLLM does not compare them; no step ever has more tokens than its budget",
    r"has no flag ([\w-]+); did you mean \1[\w-]+\?$": "argparse takes unambiguous beginnings, which the next version may make ambiguous",
    r"the same flag is set as .* too; keep one of them": "vLLM takes the last of two; which one was meant is not known",
}


@dataclasses.dataclass(frozen=True)
class Asked:
    """One set: what Fairlane says to it (None: it is taken) and the words for vLLM."""

    flags: flag_sets.Flags
    refused: str | None
    words: list[str]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> list[Asked]:
    folder = tmp_path_factory.mktemp("model")
    (folder / "config.json").write_text(json.dumps(CONFIG))
    return [ask(flags, folder) for flags in flag_sets.kept()]


@pytest.fixture(scope="module")
def answers(asked: list[Asked]) -> list[str | None]:
    """One process for all sets: the import alone takes seconds."""
    request = json.dumps({"lines": [one.words for one in asked]})
    done = subprocess.run([vllm_env.python(), CHILD], input=request, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    errors_of_vllm: list[str | None] = json.loads(done.stdout)["errors"]
    return errors_of_vllm


def ask(flags: flag_sets.Flags, folder: pathlib.Path) -> Asked:
    model = {"uri": f"file://{folder}"}
    spec = make.service(lane={"flags": flags}, model=model)
    try:
        command = make.container(rendering.render("assistant", spec, spec.lanes[0]))["command"]
    except errors.Refused as refused:
        profile = make.settings(make.service(model=model))
        return Asked(flags, str(refused), [str(folder), *as_written(flags, profile)])
    return Asked(flags, None, list(command[2:]))


def as_written(flags: flag_sets.Flags, profile: effective.Settings) -> list[str]:
    """The words that say what the user wrote, beside those of the profile that it does not replace."""
    names = {name.strip().lstrip("-").replace("_", "-").partition(".")[0] for name in flags}
    words = [word for setting in profile.values() if setting.origin is effective.Origin.PROFILE and setting.name not in names for word in setting.words]
    return words + [word for name, value in flags.items() for word in spelt(name.lstrip("-"), value)]


def spelt(name: str, value: Any) -> list[str]:
    match value:
        case True:
            return [f"--{name}"]
        case False:
            return [f"--no-{name}"]
        case list():
            return [f"--{name}", *(str(item) for item in value)]
        case dict():
            return [f"--{name}={json.dumps(value)}"]
    return [f"--{name}={value}"]


def test_as_many_sets_as_promised_of_both_kinds(asked: list[Asked]) -> None:
    kinds = collections.Counter(one.refused is None for one in asked)
    assert sum(kinds.values()) == flag_sets.COUNT
    assert min(kinds.values()) >= flag_sets.COUNT // 4


def test_both_say_the_same_but_for_the_reasons_in_the_tables(asked: list[Asked], answers: list[str | None]) -> None:
    met, unexplained = set(), []
    for one, answer in zip(asked, answers, strict=True):
        if (one.refused is None) == (answer is None):
            continue
        table = ONLY_VLLM_REFUSES if one.refused is None else ONLY_FAIRLANE_REFUSES
        reasons = [pattern for pattern in table if re.search(pattern, (answer or one.refused or "").replace("\n", " "))]
        met |= set(reasons)
        if len(reasons) != 1:
            unexplained.append((one.flags, one.refused, answer))
    assert unexplained == []
    assert ONLY_VLLM_REFUSES.keys() | ONLY_FAIRLANE_REFUSES.keys() == met
