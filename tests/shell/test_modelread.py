"""The process that reads a claim's model, on folders as they are found on claims."""

import json
import os
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from fairlane import __main__, modelread
from fairlane.core.engine import modelfiles, termination
from fairlane.core.engine.memory.unknown import Unknown

CONFIG: dict[str, Any] = {"architectures": ["LlamaForCausalLM"], "hidden_size": 64, "rope_theta": 1e4}
KEPT: dict[str, Any] = {"architectures": ["LlamaForCausalLM"], "hidden_size": 64}


def read(folder: pathlib.Path) -> tuple[int, modelfiles.ModelFiles | Unknown]:
    """The exit code, and what a pass makes of the message."""
    code = __main__.main(["model", str(folder)])
    return code, termination.parse(modelread.MESSAGE.read_text(encoding="ascii"), "pvc://c/m")


@pytest.fixture(autouse=True)
def message(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modelread, "MESSAGE", tmp_path / "message")


@pytest.fixture
def model(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder with a config.json."""
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    return folder


def index(folder: pathlib.Path) -> None:
    (folder / "model.safetensors.index.json").write_text('{"metadata": {"total_size": 77}, "weight_map": {"a": "b"}}')
    (folder / "model-00001.safetensors").write_bytes(b"x" * 5)


def shards(folder: pathlib.Path) -> None:
    (folder / "model-00001.safetensors").write_bytes(b"x" * 5)
    (folder / "model-00002.safetensors").write_bytes(b"x" * 6)
    (folder / "pytorch_model.bin").write_bytes(b"x" * 100)


@pytest.mark.parametrize(("make", "weight_bytes"), [
    pytest.param(index, 77, id="an index"),
    pytest.param(shards, 11, id="no index: the sizes of the files"),
    pytest.param(lambda _: None, None, id="no weights"),
    pytest.param(lambda folder: (folder / "model.safetensors.index.json").write_text("nonsense"), None, id="an index that is none"),
])
def test_what_the_files_say_is_told(model: pathlib.Path, make: Callable[[pathlib.Path], object], weight_bytes: int | None) -> None:
    make(model)
    assert read(model) == (0, modelfiles.ModelFiles(KEPT, weight_bytes, "pvc://c/m"))


def no_folder(folder: pathlib.Path) -> None:
    (folder / "config.json").unlink()
    folder.rmdir()


def endless(folder: pathlib.Path) -> None:
    """A file that says it has no bytes, and has more than anyone reads."""
    (folder / "config.json").unlink()
    os.symlink("/dev/zero", folder / "config.json")


def huge(folder: pathlib.Path) -> None:
    with (folder / "config.json").open("wb") as file:
        file.truncate(modelfiles.LIMIT + 1)


@pytest.mark.parametrize(("make", "words"), [
    pytest.param(no_folder, "there is no folder", id="no folder"),
    pytest.param(lambda folder: (folder / "config.json").unlink(), "has no config.json", id="no config.json"),
    pytest.param(lambda folder: (folder / "config.json").write_text("nonsense"), "is no JSON object", id="nonsense"),
    pytest.param(lambda folder: (folder / "config.json").write_text("[1]"), "is no JSON object", id="a list"),
    pytest.param(lambda folder: (folder / "config.json").write_text("[" * 100_000), "is no JSON object", id="brackets without end"),
    pytest.param(lambda folder: (folder / "config.json").write_text("1" * 5000), "is no JSON object", id="a number without end"),
    pytest.param(lambda folder: (folder / "config.json").write_bytes(b"\xff"), "cannot be read", id="bytes that are no text"),
    pytest.param(lambda folder: (folder / "config.json").write_text(json.dumps({"architectures": ["x" * 9000]})), "than a pod can tell", id="a long field"),
    pytest.param(huge, f"is larger than {modelfiles.LIMIT} bytes", id="a huge file"),
    pytest.param(endless, "has no config.json", id="a device"),
])
def test_what_cannot_be_told_is_a_sentence(model: pathlib.Path, make: Callable[[pathlib.Path], object], words: str) -> None:
    make(model)
    code, found = read(model)
    assert isinstance(found, Unknown)
    assert (code, words in found.reason) == (1, True), found.reason


def test_where_nothing_can_be_told_the_exit_code_says_so(model: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(modelread, "MESSAGE", model / "none" / "message")
    assert modelread.run(str(model)) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_without_a_folder_it_says_how_it_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert (__main__.main(["model"]), "model FOLDER" in capsys.readouterr().err) == (2, True)
