"""Which lane a request gets, told by a real Envoy: bodies as real clients send them."""

import gzip
import hashlib
import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.contract import envoy_engines, envoy_rig

CHAT, PATH = 100, "/v1/chat/completions"   # tokens of the chat lane; 4 bytes each
SHORT, LONG = "a" * 300, "b" * 2_000
CHINESE = "长" * 130                        # 390 bytes in UTF-8, 780 escaped
EMOJI = "😀" * 90                           # 360 bytes in UTF-8, 1,080 escaped


@pytest.fixture(scope="module")
def engines() -> Iterator[envoy_engines.Engines]:
    with envoy_engines.Engines("chat", "documents", "batch", "closed") as running:
        yield running


@pytest.fixture(scope="module")
def rig(engines: envoy_engines.Engines) -> Iterator[envoy_rig.Rig]:
    route = envoy_rig.routes(
        envoy_rig.lane("chat", ("stable", "c-1", 100), max_prompt_tokens=CHAT, callers=("web",), max_output_tokens=500),
        envoy_rig.lane("batch", ("stable", "b-1", 100), callers=("nightly",)),
        envoy_rig.lane("closed", ("stable", "x-1", 100), max_prompt_tokens=20_000, allow_named=False),
        envoy_rig.lane("documents", ("stable", "d-1", 100), max_prompt_tokens=32_768),
    )
    found = {f"{lane}/{revision}": envoy_rig.at(engines[lane].port) for lane, revision in
             (("chat", "c-1"), ("batch", "b-1"), ("closed", "x-1"), ("documents", "d-1"))}
    with envoy_rig.running(route, found) as running:
        yield running


def user(content: object, **fields: object) -> dict[str, object]:
    """A chat of one message."""
    return {"model": "default", "messages": [{"role": "user", "content": content}]} | fields


def image(size: int) -> dict[str, object]:
    return {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * size}}


def tool(size: int) -> dict[str, object]:
    return {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "description": "d" * size}}}


def called(arguments: str) -> list[dict[str, object]]:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": arguments}}
    return [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": [call]}]


SIZES: dict[str, tuple[str, Any, str]] = {
    "a short string goes to the short lane": (PATH, user(SHORT), "chat"),
    "a long string goes to the long lane": (PATH, user(LONG), "closed"),
    "a prompt of exactly the limit fits": (PATH, user("a" * (CHAT * 4 - 4)), "chat"),
    "one byte more does not fit": (PATH, user("a" * (CHAT * 4 - 3)), "closed"),
    "a list of parts counts all texts": (PATH, user([{"type": "text", "text": SHORT}, {"type": "text", "text": SHORT}]), "closed"),
    "short parts fit": (PATH, user([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "chat"),
    "all messages count": (PATH, {"messages": [{"role": "user", "content": SHORT}] * 2}, "closed"),
    "null content with short tool calls fits": (PATH, {"messages": called("{}")}, "chat"),
    "arguments of tool calls count": (PATH, {"messages": called(json.dumps({"q": LONG}))}, "closed"),
    "schemas of tools count": (PATH, user("hi", tools=[tool(2_000)]), "closed"),
    "a short schema fits": (PATH, user("hi", tools=[tool(20)]), "chat"),
    "a response format is not in the prompt": (PATH, user("hi", response_format={"type": "json_schema", "json_schema": {"description": LONG}}), "chat"),
    "an image counts as a fixed number of tokens, not as text": (PATH, user([{"type": "text", "text": "what is this?"}, image(50_000)]), "closed"),
    "sound cannot be sized and goes to the default": (PATH, user([{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}]), "documents"),
    "escaped ASCII counts as what it stands for": (PATH, user("a\n\t\"" * 90), "chat"),
    "a completion's text counts": ("/v1/completions", {"prompt": LONG}, "closed"),
    "a completion's list of texts counts in all": ("/v1/completions", {"prompt": [SHORT, SHORT]}, "closed"),
    "token ids count as tokens": ("/v1/completions", {"prompt": list(range(CHAT))}, "chat"),
    "one token id too many": ("/v1/completions", {"prompt": list(range(CHAT + 1))}, "closed"),
    "lists of token ids count in all": ("/v1/completions", {"prompt": [[1] * CHAT, [2]]}, "closed"),
    "prompt embeddings cannot be sized": ("/v1/completions", {"prompt_embeds": "AAAA"}, "documents"),
    "a response's input as a string": ("/v1/responses", {"input": LONG}, "closed"),
    "a response's instructions count": ("/v1/responses", {"input": "hi", "instructions": LONG}, "closed"),
    "a response's items count": ("/v1/responses", {"input": [{"role": "user", "content": [{"type": "input_text", "text": LONG}]}]}, "closed"),
    "a short response fits": ("/v1/responses", {"input": [{"role": "user", "content": "hi"}]}, "chat"),
    "a response that goes on from a stored one cannot be sized": ("/v1/responses", {"input": "hi", "previous_response_id": "resp_1"}, "documents"),
    "embeddings of a string": ("/v1/embeddings", {"input": SHORT}, "chat"),
    "embeddings of many strings": ("/v1/embeddings", {"input": [SHORT, SHORT]}, "closed"),
    "embeddings of token ids": ("/v1/embeddings", {"input": [[1, 2], [3]]}, "chat"),
    "a string for stream and unknown fields do no harm": (PATH, user("hi", stream="yes", x=[{"y": [1, 2.5e3, -0.1, True, None]}]), "chat"),
}


@pytest.mark.parametrize(("path", "body", "expected"), SIZES.values(), ids=SIZES.keys())
def test_size_chooses_the_lane(rig: envoy_rig.Rig, path: str, body: object, expected: str) -> None:
    raw = json.dumps(body).encode()
    response = httpx.post(rig.url + path, content=raw)
    assert (response.status_code, response.headers["x-fairlane-lane"], response.json()["engine"]) == (200, expected, expected)
    assert response.json()["sha256"] == hashlib.sha256(raw).hexdigest(), "the engine gets the client's bytes"


@pytest.mark.parametrize("text", [CHINESE, EMOJI, "é" * 190, "a\"\\/\b\f" * 60], ids=["Chinese", "emoji", "accents", "short escapes"])
@pytest.mark.parametrize("ascii_only", [True, False], ids=["escaped", "plain"])
def test_an_escape_counts_as_the_bytes_of_its_character(rig: envoy_rig.Rig, text: str, ascii_only: bool) -> None:
    raw = json.dumps(user(text), ensure_ascii=ascii_only).encode()
    response = httpx.post(rig.url + PATH, content=raw)
    assert response.headers["x-fairlane-lane"] == "chat"
    tokens = -(-(len(text.encode()) + len("user")) // 4)
    assert response.json()["headers"]["x-fairlane-tokens"] == str(tokens)


NESTED = '{"messages":' + "[" * 200 + "]" * 200 + "}"
UNREADABLE: dict[str, bytes] = {
    "no JSON": b"hello",
    "half of a JSON": b'{"messages": [{"role": "user", "content": "hi"',
    "text after the object": b'{"messages": []} x',
    "a list": b"[]",
    "a bare string": b'"hi"',
    "an unknown escape": rb'{"messages": "\x41"}',
    "a broken escape": rb'{"messages": "\u00g1"}',
    "an escape cut short": rb'{"messages": "\u00',
    "a control character in a string": b'{"messages": "a\nb"}',
    "a leading zero": b'{"n": 01, "prompt": "hi"}',
    "a number without digits": b'{"n": -, "prompt": "hi"}',
    "a trailing comma": b'{"prompt": "hi",}',
    "NaN": b'{"prompt": "hi", "temperature": NaN}',
    "UTF-16": json.dumps(user("hi")).encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf" + json.dumps(user("hi")).encode(),
    "too deep": NESTED.encode(),
    "a key twice": b'{"prompt": "hi", "prompt": "' + LONG.encode() + b'"}',
    "an escaped key": rb'{"pr\u006fmpt": "hi"}',
    "an empty body": b"",
    "a form": b"------x\r\nContent-Disposition: form-data; name=file\r\n\r\nabc\r\n------x--",
}


@pytest.mark.parametrize("raw", UNREADABLE.values(), ids=UNREADABLE.keys())
@pytest.mark.parametrize("headers", [{}, {"x-fairlane-lane": "chat"}, {"x-caller": "web"}], ids=["unnamed", "named", "caller"])
def test_what_cannot_be_read_goes_to_the_default_lane(rig: envoy_rig.Rig, raw: bytes, headers: dict[str, str]) -> None:
    response = httpx.post(rig.url + PATH, content=raw, headers=headers)
    expected = "chat" if headers and not raw else "documents"   # nothing to prefill fits everywhere
    assert (response.status_code, response.headers["x-fairlane-lane"]) == (200, expected)
    assert response.json()["sha256"] == hashlib.sha256(raw).hexdigest()


def test_a_compressed_body_goes_to_the_default_lane(rig: envoy_rig.Rig) -> None:
    raw = gzip.compress(json.dumps(user("hi")).encode())
    response = httpx.post(rig.url + PATH, content=raw, headers={"content-encoding": "gzip"})
    assert (response.status_code, response.headers["x-fairlane-lane"]) == (200, "documents")


NAMED: dict[str, tuple[str, dict[str, str], str, str]] = {
    "a header names a lane": (PATH, {"x-fairlane-lane": "batch"}, SHORT, "batch"),
    "a path names a lane and is taken off": ("/lanes/batch" + PATH, {}, SHORT, "batch"),
    "the path wins over the header": ("/lanes/batch" + PATH, {"x-fairlane-lane": "chat"}, SHORT, "batch"),
    "the name wins over the caller": (PATH, {"x-fairlane-lane": "chat", "x-caller": "nightly"}, SHORT, "chat"),
    "a lane without limit takes a long prompt": (PATH, {"x-fairlane-lane": "batch"}, LONG, "batch"),
    "a long prompt never lands in a short lane by name": (PATH, {"x-fairlane-lane": "chat"}, LONG, "closed"),
    "a long prompt never lands in a short lane by path": ("/lanes/chat" + PATH, {}, LONG, "closed"),
    "a lane that may not be named is not": (PATH, {"x-fairlane-lane": "closed"}, SHORT, "chat"),
    "an unknown name is no name": (PATH, {"x-fairlane-lane": "nope"}, SHORT, "chat"),
    "an unknown name in the path is no name": ("/lanes/nope" + PATH, {}, SHORT, "chat"),
    "the caller's lane": (PATH, {"x-caller": "nightly"}, SHORT, "batch"),
    "the caller's lane, where the prompt fits": (PATH, {"x-caller": "web"}, LONG, "closed"),
    "an unknown caller": (PATH, {"x-caller": "who"}, SHORT, "chat"),
    "headers of ours are not the client's to set": (PATH, {"x-fairlane-class": "batch", "x-fairlane-rule": "x", "x-fairlane-stream": "1"}, SHORT, "chat"),
}


@pytest.mark.parametrize(("path", "headers", "text", "expected"), NAMED.values(), ids=NAMED.keys())
def test_name_and_identity_choose_when_the_prompt_fits(rig: envoy_rig.Rig, path: str, headers: dict[str, str], text: str, expected: str) -> None:
    response = httpx.post(rig.url + path, json=user(text), headers=headers)
    assert (response.status_code, response.headers["x-fairlane-lane"], response.json()["path"]) == (200, expected, PATH)


def test_internal_headers_of_a_client_are_taken_off(rig: envoy_rig.Rig) -> None:
    mine = {"x-fairlane-tokens": "1", "x-fairlane-other": "1", "x-fairlane-refused": "1", "x-envoy-max-retries": "9", "x-envoy-upstream-rq-timeout-ms": "1"}
    response = httpx.post(rig.url + PATH, json=user(SHORT), headers=mine | {"x-mine": "1"})
    seen = {name.lower(): value for name, value in response.json()["headers"].items()}
    assert seen["x-mine"] == "1"
    assert seen["x-fairlane-tokens"] == "76"
    assert not {"x-fairlane-other", "x-fairlane-refused", "x-envoy-max-retries", "x-envoy-upstream-rq-timeout-ms"} & seen.keys()


def test_a_list_of_models_goes_to_the_default_lane(rig: envoy_rig.Rig) -> None:
    assert httpx.get(rig.url + "/v1/models").headers["x-fairlane-lane"] == "documents"
    assert httpx.get(rig.url + "/lanes/chat/v1/models").headers["x-fairlane-lane"] == "chat"


def test_another_path_is_refused_in_the_shape_of_openai(rig: envoy_rig.Rig) -> None:
    response = httpx.post(rig.url + "/metrics", json={})
    assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found")


def chunks(raw: bytes, size: int = 5_000) -> Iterator[bytes]:
    for start in range(0, len(raw), size):
        yield raw[start : start + size]


LENGTHS: dict[str, tuple[int, str]] = {
    "1 KB is read": (200, "chat"),
    "60 KB is read": (60_000, "closed"),
    "over 64 KiB goes to the longest lane unread": (70_000, "documents"),
    "3 MB too": (3_000_000, "documents"),
}


@pytest.mark.parametrize(("size", "expected"), LENGTHS.values(), ids=LENGTHS.keys())
@pytest.mark.parametrize("chunked", [False, True], ids=["with length", "chunked"])
def test_at_most_64_kib_are_read(rig: envoy_rig.Rig, size: int, expected: str, chunked: bool) -> None:
    raw = json.dumps(user("a" * size)).encode()
    response = httpx.post(rig.url + PATH, content=chunks(raw) if chunked else raw, timeout=30)
    assert (response.status_code, response.headers["x-fairlane-lane"]) == (200, expected)
    assert response.json()["sha256"] == hashlib.sha256(raw).hexdigest()


def test_an_unread_body_follows_its_name_only_into_a_lane_as_long_as_the_longest(rig: envoy_rig.Rig) -> None:
    body = user("a" * 70_000)
    lanes = [httpx.post(rig.url + PATH, json=body, headers={"x-fairlane-lane": name}).headers["x-fairlane-lane"] for name in ("batch", "documents", "chat")]
    assert lanes == ["batch", "documents", "documents"]


def test_a_client_that_waits_for_100_continue_is_served(rig: envoy_rig.Rig) -> None:
    raw = json.dumps(user(SHORT)).encode()
    with socket.create_connection(("127.0.0.1", rig.place.port), timeout=5) as connection:
        head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(raw)}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 100 Continue")
        connection.sendall(raw)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert b"200 OK" in answer
    assert b"x-fairlane-lane: chat" in answer


OUTPUT: dict[str, tuple[dict[str, object], int]] = {
    "as many as allowed": ({"max_tokens": 500}, 200),
    "one more": ({"max_tokens": 501}, 400),
    "the newer name": ({"max_completion_tokens": 501}, 400),
    "the name of responses": ({"max_output_tokens": 501}, 400),
    "the larger of both": ({"max_tokens": 1, "max_completion_tokens": 501}, 400),
    "a number in a string": ({"max_tokens": "5_01"}, 400),
    "null": ({"max_tokens": None}, 200),
    "a float": ({"max_tokens": 5e2}, 200),
}


@pytest.mark.parametrize(("fields", "expected"), OUTPUT.values(), ids=OUTPUT.keys())
def test_more_output_than_the_lane_allows_is_refused(rig: envoy_rig.Rig, fields: dict[str, object], expected: int) -> None:
    response = httpx.post(rig.url + PATH, json=user("hi", **fields))
    assert (response.status_code, response.headers["x-fairlane-lane"]) == (expected, "chat")
    if expected == 400:
        error = response.json()["error"]
        assert response.headers["content-type"] == "application/json"
        assert (error["code"], error["type"], error["param"]) == ("max_output_tokens_exceeded", "invalid_request_error", "max_tokens")
        assert "501" in error["message"]
        assert "lane chat allows at most 500" in error["message"]


def test_the_output_limit_is_the_chosen_lane_s(rig: envoy_rig.Rig) -> None:
    assert httpx.post(rig.url + PATH, json=user(LONG, max_tokens=100_000)).status_code == 200


def test_no_request_of_this_file_met_an_error_in_the_script(rig: envoy_rig.Rig) -> None:
    assert rig.counter("lua.classify.errors") == 0
    assert [entry for entry in rig.log() if entry["rule"] == "error"] == []
