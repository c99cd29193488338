"""The hub's answers, good and bad, and a folder's files. Nothing raises."""

import json
import pathlib
from collections.abc import Callable

import httpx
import pytest

from fairlane import hub
from fairlane.core.engine import modelfiles
from fairlane.core.engine.memory.unknown import Unknown

CONFIG, INDEX = '{"architectures": ["LlamaForCausalLM"]}', '{"metadata": {"total_size": 42}}'
MODEL = modelfiles.HubModel("meta/llama", "v1")
ROOT = "/meta/llama/resolve/v1"

Answer = Callable[[httpx.Request], httpx.Response]


def serving(**files: httpx.Response) -> Answer:
    """A hub with these files; 404 for others."""
    by_path = {f"{ROOT}/{name.replace('__', '.')}": answer for name, answer in files.items()}
    return lambda request: by_path.get(request.url.path, httpx.Response(404))


async def fetched(answer: Answer, token: str = "") -> modelfiles.ModelFiles | Unknown:
    return await hub.fetch(MODEL, token, "https://hub.example", httpx.MockTransport(answer))


async def test_config_and_index_are_read() -> None:
    found = await fetched(serving(config__json=httpx.Response(200, text=CONFIG), model__safetensors__index__json=httpx.Response(200, text=INDEX)))
    assert found == modelfiles.ModelFiles(json.loads(CONFIG), 42, "meta/llama at v1")


@pytest.mark.parametrize(("head", "expected"), [
    pytest.param(httpx.Response(302, headers={"x-linked-size": "269060552", "location": "https://x.example"}), 269060552, id="the hub says it itself"),
    pytest.param(httpx.Response(200, headers={"content-length": "77"}), 77, id="a plain server says it"),
    pytest.param(httpx.Response(404), None, id="there is no such file"),
    pytest.param(httpx.Response(302, headers={"location": "https://x.example", "content-length": "12"}), None, id="the length of a redirection is not it"),
])
async def test_the_size_of_one_file_is_asked_for_and_the_file_is_not_fetched(head: httpx.Response, expected: int | None) -> None:
    found = await fetched(serving(config__json=httpx.Response(200, text=CONFIG), model__safetensors=head))
    assert isinstance(found, modelfiles.ModelFiles)
    assert found.weight_bytes == expected


async def test_the_token_is_sent() -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("authorization", ""))
        return httpx.Response(401)

    await fetched(answer, "hf_secret")
    assert seen == ["Bearer hf_secret"]


@pytest.mark.parametrize(("answer", "words"), [
    pytest.param(httpx.Response(401), "needs a token", id="no token"),
    pytest.param(httpx.Response(403), "the token may not read it", id="a gated model"),
    pytest.param(httpx.Response(404), "there is no such model, revision or file", id="no such model"),
    pytest.param(httpx.Response(503), "answered 503", id="an outage"),
    pytest.param(httpx.Response(200, text="<html>log in</html>"), "is no JSON object", id="a page instead"),
    pytest.param(httpx.Response(200, content=b"\xff\xfe\x00"), "is no JSON object", id="bytes"),
])
async def test_a_bad_answer_is_unknown_and_says_why(answer: httpx.Response, words: str) -> None:
    found = await fetched(serving(config__json=answer))
    assert isinstance(found, Unknown)
    assert words in found.reason


@pytest.mark.parametrize("error", [httpx.ConnectError("no route"), httpx.ReadTimeout("late"), httpx.TooManyRedirects("round and round")])
async def test_a_hub_that_cannot_be_reached_is_unknown(error: Exception) -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        raise error

    found = await fetched(answer)
    assert found == Unknown(f"the hub at https://hub.example cannot be asked for meta/llama at v1: {error}")


async def test_an_endless_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modelfiles, "LIMIT", 100)
    found = await fetched(serving(config__json=httpx.Response(200, content=b" " * 101)))
    assert isinstance(found, Unknown)
    assert "is larger than 100 bytes" in found.reason


async def test_an_address_that_is_none_is_unknown() -> None:
    found = await hub.fetch(MODEL, at="nonsense")
    assert isinstance(found, Unknown)
    assert "the hub at nonsense cannot be asked" in found.reason


def test_a_folder_says_the_same(tmp_path: pathlib.Path) -> None:
    (tmp_path / "config.json").write_text(CONFIG)
    (tmp_path / "model.safetensors").write_bytes(b"x" * 9)
    assert hub.folder(tmp_path) == modelfiles.ModelFiles(json.loads(CONFIG), 9, str(tmp_path))


@pytest.mark.parametrize(("make", "words"), [
    pytest.param(lambda _: None, "has no config.json", id="an empty folder"),
    pytest.param(lambda path: (path / "config.json").write_bytes(b"\xff"), "cannot be read", id="bytes that are no text"),
])
def test_a_folder_without_a_model_is_unknown(tmp_path: pathlib.Path, make: Callable[[pathlib.Path], object], words: str) -> None:
    make(tmp_path)
    found = hub.folder(tmp_path)
    assert isinstance(found, Unknown)
    assert words in found.reason


@pytest.mark.parametrize(("value", "expected"), [("", False), ("0", False), ("1", True), ("true", True), ("YES", True)])
def test_silence_is_asked_for_as_vllm_reads_it(monkeypatch: pytest.MonkeyPatch, value: str, expected: bool) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", value)
    assert hub.is_offline() is expected


@pytest.mark.parametrize(("value", "expected"), [("", "https://huggingface.co"), ("http://mirror:8080/", "http://mirror:8080")])
def test_the_hub_is_where_vllm_finds_it(monkeypatch: pytest.MonkeyPatch, value: str, expected: str) -> None:
    monkeypatch.setenv("HF_ENDPOINT", value)
    assert hub.endpoint() == expected
