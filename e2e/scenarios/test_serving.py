"""The first apply, the classes of requests, and the bounds."""
from __future__ import annotations

import asyncio
import json

import httpx

from e2e.scenarios import manifests, prompts, traffic
from e2e.scenarios.conftest import Service
from e2e.scenarios.space import Space


def test_first_apply_serves_both_lanes_behind_one_address(space: Space, service: Service) -> None:
    chat = manifests.lane("chat", match={"maxPromptTokens": 1000, "callers": ["web"]}, scheduler={"maxModelLen": 4096})
    documents = manifests.lane("documents", profile="LongContext", match={"maxPromptTokens": 7000}, scheduler={"maxModelLen": 8192})
    space.apply(service(chat, documents))
    space.wait_ready()
    question = traffic.chat("Wie geht es dir, 你好吗", tokens=2, stream=False)
    escaped = json.dumps(question, ensure_ascii=True).encode()
    plain = json.dumps(question, ensure_ascii=False).encode()
    chinese = traffic.chat("你好" * 800, tokens=2)  # 1,200 tokens by its bytes; escaped it has 2.5 times as many
    sent = {
        "a chat": prompts.short(),
        "the same chat escaped": traffic.Prompt("chat", escaped),
        "the same chat unescaped": traffic.Prompt("chat", plain),
        "a document": prompts.document(5000),
        "a document in the name of chat": traffic.Prompt("documents", prompts.document(5000).body, headers={"x-fairlane-lane": "chat"}),
        "a chat that names documents": traffic.Prompt("chat", prompts.short().body, headers={"x-fairlane-lane": "documents"}),
        "a path that names documents": traffic.Prompt("chat", prompts.short().body, path="/lanes/documents/v1/chat/completions"),
        "1,200 tokens of Chinese": traffic.Prompt("documents", chinese),
        "a body that is no JSON": traffic.Prompt("chat", b"{{{"),
    }
    url = space.url
    answers = {name: traffic.ask_once(url, prompt) for name, prompt in sent.items()}
    lanes = {name: (answer.lane, answer.status) for name, answer in answers.items()}
    assert lanes == {
        "a chat": ("chat", 200), "the same chat escaped": ("chat", 200), "the same chat unescaped": ("chat", 200),
        "a document": ("documents", 200), "a document in the name of chat": ("documents", 200), "a chat that names documents": ("documents", 200),
        "a path that names documents": ("documents", 200), "1,200 tokens of Chinese": ("documents", 200), "a body that is no JSON": ("documents", 400),
    }
    assert {answer.track for answer in answers.values()} == {"stable"}
    assert "sentence" in traffic.ask_once(url, traffic.Prompt("chat", traffic.chat("hello", tokens=16))).text


def test_kubectl_shows_and_explains_the_service(space: Space, service: Service) -> None:
    space.apply(service(manifests.lane("chat")))
    space.wait_ready()
    header, row = space.kubectl("get", "llmsvc").splitlines()
    assert header.split()[:4] == ["NAME", "MODEL", "READY", "LANES"]
    assert row.split()[:4] == ["assistant", "default", "True", "1/1"]
    text = space.kubectl("explain", "llmservice.spec.lanes.scheduler.maxNumSeqs")
    assert "Default" in text
    assert "Unit: sequences" in text.replace("\n", " ")
    described = space.kubectl("describe", "llmsvc", "assistant")
    assert "Ready" in described
    assert "Events:" in described


def test_64_clients_against_8_in_flight(space: Space, service: Service) -> None:
    space.apply(service(manifests.lane("chat", admission={"maxInFlight": 8}), env={"STANDIN_STEP_SECONDS": "0.05"}))
    space.wait_ready()
    answers = asyncio.run(_insist(space.url, 64))
    refused = [answer for tries in answers for answer in tries if answer.status == 429]
    assert [tries[-1].failure for tries in answers if tries[-1].failure] == []
    assert refused, "none of 64 clients met the bound of 8"
    assert all(answer.retry_after and int(answer.retry_after) >= 1 for answer in refused), refused[0]
    assert all('"chat"' in answer.failure or "chat" in answer.failure for answer in refused), refused[0]
    engine = space.engine_pods("chat")[0]["metadata"]["name"]
    peak = httpx.get(space.paths.url(f"pod/{engine}", 8000) + "/standin").json()["peak"]
    assert peak <= 8
    assert peak >= 7, "the bound was never reached"


async def _insist(url: str, clients: int) -> list[list[traffic.Answer]]:
    """Clients that come all at once and come back when told."""
    async with httpx.AsyncClient(base_url=url, timeout=traffic.TIMEOUT, limits=httpx.Limits(max_connections=clients)) as client:
        async def one(number: int) -> list[traffic.Answer]:
            tries: list[traffic.Answer] = []
            while len(tries) < 40:
                tries.append(await traffic.ask(client, traffic.Prompt("chat", traffic.chat(f"{number}", tokens=6))))
                if tries[-1].status != 429:
                    break
                await asyncio.sleep(float(tries[-1].retry_after or 1))
            return tries

        return await asyncio.gather(*map(one, range(clients)))


def test_other_endpoints_of_openai_answer_too(space: Space, service: Service) -> None:
    space.apply(service(manifests.lane("chat")))
    space.wait_ready()
    body = {"model": "default", "prompt": [1, 2, 3], "input": "hello", "max_tokens": 2}
    paths = ["/v1/completions", "/v1/responses", "/v1/embeddings"]
    answers = {path: httpx.post(space.url + path, json=body, timeout=30) for path in paths}
    assert {path: (answer.status_code, answer.headers["x-fairlane-lane"]) for path, answer in answers.items()} == dict.fromkeys(paths, (200, "chat"))
