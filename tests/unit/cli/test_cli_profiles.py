"""`fairlane profiles`: what a lane gets that sets nothing, and where to start."""

import json

import pytest
from typer import testing

from fairlane.cli import main

RUNNER = testing.CliRunner()


def run(*args: str) -> tuple[int, str]:
    done = RUNNER.invoke(main.app, ["profiles", *args])
    return done.exit_code, done.output


def test_all_profiles_and_presets_are_listed_with_their_reasons() -> None:
    code, text = run()
    assert code == 0
    words = ("Interactive", "LongContext", "Throughput", "80 GiB and more", "max-num-seqs", "nobody waits for a token")
    assert [word for word in words if word not in text] == []


@pytest.mark.parametrize(("args", "expected"), [
    pytest.param(["Interactive", "--gpu", "NVIDIA-L4", "--parameters", "8B"], [("Interactive", "24 GiB", "4B to 15B")], id="by a product's label"),
    pytest.param(["Throughput", "--gpu", "80Gi", "--parameters", "0.5b"], [("Throughput", "80 GiB and more", "up to 4B")], id="by memory"),
    pytest.param(["LongContext", "--gpu", "NVIDIA-A40", "--parameters", "70B"], [("LongContext", "40-48 GiB", "15B and more")], id="a large model"),
])
def test_one_case_has_one_preset(args: list[str], expected: list[tuple[str, str, str]]) -> None:
    code, text = run(*args, "-o", "json")
    assert (code, [(item["profile"], item["gpu"], item["model"]) for item in json.loads(text)["presets"]]) == (0, expected)


@pytest.mark.parametrize(("args", "words"), [
    pytest.param(["--gpu", "NVIDIA-X1"], "--gpu NVIDIA-X1: its memory is not known; write the amount instead, as 24Gi", id="a product that is not known"),
    pytest.param(["--gpu", "24 gigs"], "neither a product's label, as NVIDIA-L4, nor an amount", id="an amount that is none"),
    pytest.param(["--parameters", "large"], "--parameters 'large' is no size of a model; write it as 8B", id="a size that is none"),
    pytest.param(["--parameters", "0B"], "is no size of a model", id="no parameters"),
])
def test_nonsense_is_named(args: list[str], words: str) -> None:
    code, text = run(*args)
    assert (code, words in text) == (2, True)
