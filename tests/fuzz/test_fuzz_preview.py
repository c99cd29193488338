"""A thousand random specs: `fairlane plan` answers each, and never with a traceback."""

import copy
import json
from typing import Any

import hypothesis
from hypothesis import strategies as st
from tests.contract import specs_table
from typer import testing

from fairlane.cli import main

RUNNER = testing.CliRunner()
TEXT = st.text(max_size=12)
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-2**40, 2**40), st.floats(allow_nan=False), TEXT,
    st.sampled_from(["8k", "8K", "auto", "0.9", "30s", "24Gi", "chat", "Interactive", "hf://a/b", "file:///", "fp8", "-1", "1e9", "vllm:v0.8.5"]),
)
JUNK = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=6)
NAMES = ["max-num-seqs", "swap-space", "max_model_len", "kv-cache-dtype", "hf-overrides.a", "", "--", "tensor-parallel-size"]
FLAGS = st.dictionaries(st.sampled_from(NAMES), JUNK)


def paths(value: Any, way: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every place in a document."""
    found = [way] if way else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        found += paths(part, (*way, key))
    return found


RICH = specs_table.changed(
    spec__lanes__0__flags={"kv-cache-dtype": "fp8"}, spec__rollout={"steps": [{"weight": 10, "duration": "1m"}], "baseline": "Fresh"},
    spec__engine__gpu={"memory": "24Gi", "product": "NVIDIA-L4"}, spec__engine__pod={"spec": {"containers": [{"name": "engine", "env": []}]}},
    spec__lanes__0__timeouts={"idle": "10s", "total": "1m", "nonStreaming": "1m"}, spec__router__service={"type": "NodePort"},
    spec__router__pod={"metadata": {"labels": {"team": "a"}}, "spec": {"tolerations": [], "containers": [{"name": "agent", "resources": {}}]}},
)
PLACES = paths(RICH)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """The rich document with one to four places replaced, removed or given flags."""
    document = copy.deepcopy(RICH)
    for _ in range(draw(st.integers(1, 4))):
        *way, last = draw(st.sampled_from(PLACES))
        place: Any = document
        try:
            for part in way:
                place = place[part]
            if draw(st.booleans()):
                place[last] = draw(FLAGS if last == "flags" else JUNK)
            else:
                del place[last]
        except (KeyError, IndexError, TypeError):   # an earlier change took the place away
            continue
    return document


@hypothesis.settings(max_examples=1000, deadline=None, database=None, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(documents())
def test_plan_answers_every_spec(document: dict[str, Any]) -> None:
    done = RUNNER.invoke(main.app, ["plan", "-", "-o", "json", "--offline"], input=json.dumps(document))
    assert done.exception is None or isinstance(done.exception, SystemExit), f"{document}: {done.exception!r}"
    assert done.exit_code in (0, 1)
    if document.get("kind") == "LLMService":
        (found,) = json.loads(done.stdout)
        assert found["wouldBeRefused"] is (done.exit_code == 1)


@hypothesis.settings(max_examples=100, deadline=None, database=None, derandomize=True)
@hypothesis.given(st.binary(max_size=200))
def test_plan_answers_every_file(content: bytes) -> None:
    done = RUNNER.invoke(main.app, ["plan", "-", "--offline"], input=content)
    assert done.exception is None or isinstance(done.exception, SystemExit), f"{content!r}: {done.exception!r}"
    assert done.exit_code == 1
