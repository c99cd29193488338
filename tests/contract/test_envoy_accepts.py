"""Envoy itself accepts every configuration that can be rendered, and the script's estimate is what Python counts."""

import json
import math
import pathlib
import shutil
import ssl
from collections.abc import Iterator
from typing import Any

import httpx
import hypothesis
import pytest
import trustme
from hypothesis import strategies
from tests.contract import envoy_engines, envoy_load, envoy_rig

from fairlane.core.routing import document, endpoints

NAMES = strategies.from_regex(r"[a-z]([-a-z0-9]{0,18}[a-z0-9])?", fullmatch=True)
LIMITS = strategies.one_of(strategies.none(), strategies.integers(1, 10_000_000))
SECONDS = strategies.sampled_from([0.001, 0.5, 1.0, 30.0, 600.0, 86_400.0])


@strategies.composite
def lanes(draw: strategies.DrawFn, name: str) -> document.LaneRoute:
    weight = draw(strategies.sampled_from([None, 0, 1, 10, 50, 99, 100]))
    tracks: list[document.Track] = []
    if weight is not None:
        tracks = [
            document.Track(role="stable", revision="0a1b2c3d-1", weight=100 - weight),
            document.Track(role="canary", revision="ffffffff-12", weight=weight),
        ]
        if weight <= 10 and draw(strategies.booleans()):
            tracks[0] = tracks[0].model_copy(update={"weight": 100 - 2 * weight})
            tracks.append(document.Track(role="baseline", revision="0a1b2c3d-2", weight=weight))
    callers = draw(strategies.lists(strategies.text(min_size=1, max_size=20), max_size=3))
    return document.LaneRoute(
        name=name, max_prompt_tokens=draw(LIMITS), callers=tuple(callers), allow_named=draw(strategies.booleans()), max_in_flight=draw(LIMITS),
        max_output_tokens=draw(LIMITS), idle_seconds=draw(SECONDS), total_seconds=draw(SECONDS), non_streaming_seconds=draw(SECONDS), tracks=tuple(tracks),
        fail_safe=draw(strategies.sampled_from(["Stable", "Keep"])), synthetic_key=draw(strategies.sampled_from(["", "0a" * 16])),
    )  # fmt: skip


@strategies.composite
def situations(draw: strategies.DrawFn) -> tuple[document.RouteDocument, endpoints.Endpoints, bool]:
    named = draw(strategies.lists(NAMES, min_size=1, max_size=5, unique=True))
    made = tuple(draw(lanes(name)) for name in named)
    route = document.RouteDocument(
        namespace="n", service="s", model="m", default_lane=draw(strategies.sampled_from(named)),
        caller_header=draw(strategies.sampled_from(["x-caller", "X_Who"])), bytes_per_token=draw(strategies.integers(1, 16)),
        router_replicas=draw(strategies.integers(1, 100)), lanes=made,
    )  # fmt: skip
    addresses = strategies.lists(strategies.sampled_from(["127.0.0.1", "::1", "127.0.0.9"]), max_size=3, unique=True)
    keys = [endpoints.key(lane.name, track.revision) for lane in made for track in lane.tracks]
    found = {key: tuple(endpoints.Endpoint(address, 9, draw(strategies.booleans())) for address in draw(addresses)) for key in keys}
    return route, found, draw(strategies.booleans())


@pytest.fixture(scope="module")
def empty() -> Iterator[envoy_rig.Rig]:
    with envoy_rig.running(envoy_rig.routes(envoy_rig.lane("chat")), {}) as running:
        yield running


@hypothesis.settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(situation=situations())
def test_every_configuration_is_accepted(empty: envoy_rig.Rig, situation: tuple[document.RouteDocument, endpoints.Endpoints, bool]) -> None:
    route, found, fail_safe = situation
    answer = empty.give(route, found, fail_safe=fail_safe)
    assert (answer.taken, answer.rejected) == (True, ""), empty.errors()[-2000:]
    served = httpx.post(empty.url + envoy_load.PATH, json=envoy_load.BODY)
    assert served.headers["x-fairlane-lane"] in {lane.name for lane in route.lanes}


def test_a_configuration_that_is_wrong_is_refused_and_said(empty: envoy_rig.Rig) -> None:
    good = envoy_rig.routes(envoy_rig.lane("chat"))
    assert empty.give(good, {}).taken
    wrong = envoy_rig.routes(envoy_rig.lane("chat", ("stable", "r-1", 100)))
    answer = empty.give(wrong, {"chat/r-1": (endpoints.Endpoint("not an address"),)})
    assert "eds-chat.json" in answer.rejected
    assert empty.give(good, {}).taken


TEXTS = strategies.text(alphabet=strategies.characters(exclude_categories=("Cs",)), max_size=60)
JSON_VALUES = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.integers() | strategies.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: strategies.lists(inner, max_size=3) | strategies.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@strategies.composite
def chats(draw: strategies.DrawFn) -> tuple[dict[str, Any], int]:
    """A chat and the bytes of all that its template prints."""
    messages: list[dict[str, Any]] = []
    counted = 0
    for _ in range(draw(strategies.integers(0, 4))):
        texts = draw(strategies.lists(TEXTS, min_size=1, max_size=3))
        content: Any = texts[0] if len(texts) == 1 else [{"type": "text", "text": text} for text in texts]
        messages.append({"role": "user", "content": content})
        counted += len("user") + sum(len(text.encode()) for text in texts)
    return {"messages": messages, "temperature": draw(JSON_VALUES), "metadata": draw(JSON_VALUES)}, counted


@pytest.fixture(scope="module")
def echo() -> Iterator[str]:
    with envoy_engines.Engines("e1") as engines:
        lane = envoy_rig.lane("chat", ("stable", "r-1", 100), max_prompt_tokens=100_000)
        with envoy_rig.running(envoy_rig.routes(lane), {"chat/r-1": envoy_rig.at(engines["e1"].port)}) as rig:
            yield rig.url + envoy_load.PATH


@hypothesis.settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(chat=chats(), escaped=strategies.booleans(), spaces=strategies.sampled_from([None, 2]))
def test_the_estimate_is_what_python_counts(echo: str, chat: tuple[dict[str, Any], int], escaped: bool, spaces: int | None) -> None:
    body, counted = chat
    answer = httpx.post(echo, content=json.dumps(body, ensure_ascii=escaped, indent=spaces).encode())
    assert answer.json()["headers"]["x-fairlane-tokens"] == str(math.ceil(counted / 4))


@hypothesis.settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(raw=strategies.binary(max_size=80) | strategies.text(alphabet='{}[]":,\\u0d8e+-.tfn ', max_size=80).map(str.encode))
def test_any_bytes_are_served(echo: str, raw: bytes) -> None:
    answer = httpx.post(echo, content=raw)
    assert (answer.status_code, answer.headers["x-fairlane-lane"], answer.json()["length"]) == (200, "chat", len(raw))


def test_a_certificate_is_served_and_renewed() -> None:
    route = envoy_rig.routes(envoy_rig.lane("chat", ("stable", "r-1", 100)), tls=True)
    authority = trustme.CA()
    context = ssl.create_default_context()
    authority.configure_trust(context)
    with envoy_engines.Engines("e1") as engines, envoy_rig.prepared(route, {"chat/r-1": envoy_rig.at(engines["e1"].port)}) as rig:
        _mount(authority, pathlib.Path(rig.place.tls_dir), "first")
        rig.start(probe=False)
        url = rig.url.replace("http:", "https:")
        with httpx.Client(verify=context, base_url=url) as client:
            envoy_rig.until(lambda: _ready(client))
            assert client.post(envoy_load.PATH, json=envoy_load.BODY).status_code == 200
        other = trustme.CA()
        other.configure_trust(only_other := ssl.create_default_context())
        _mount(other, pathlib.Path(rig.place.tls_dir), "second")
        with httpx.Client(verify=only_other, base_url=url) as client:
            envoy_rig.until(lambda: _ready(client))


def _ready(client: httpx.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx.HTTPError:
        return False


def _mount(authority: trustme.CA, folder: pathlib.Path, version: str) -> None:
    """Put a certificate into a folder as the kubelet does: a folder of its own, and a rename of the link."""
    issued = authority.issue_cert("127.0.0.1")
    target = folder / f"..{version}"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    (target / "tls.crt").write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(str(target / "tls.key"))
    (folder / "..data_tmp").symlink_to(target.name)
    (folder / "..data_tmp").rename(folder / "..data")
    for name in ("tls.crt", "tls.key"):
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"..data/{name}")
