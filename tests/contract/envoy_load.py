"""Bounded load on a router of a test."""

import asyncio
import collections
import contextlib
from collections.abc import AsyncIterator, Mapping

import httpx

PATH = "/v1/chat/completions"
BODY: Mapping[str, object] = {"model": "default", "messages": [{"role": "user", "content": "hi"}]}
STREAM: Mapping[str, object] = {**BODY, "stream": True}

Answers = list[tuple[int, str, str]]
"""Code, revision and the last characters of each answer."""


async def load(url: str, count: int, clients: int, body: Mapping[str, object] = BODY) -> list[httpx.Response]:
    """Send so many requests from so many clients; return the answers."""
    answers: list[httpx.Response] = []
    left = iter(range(count))
    async with httpx.AsyncClient(base_url=url, timeout=20, limits=httpx.Limits(max_connections=clients)) as client:

        async def one() -> None:
            for _ in left:
                answers.append(await client.post(PATH, json=body))  # noqa: PERF401  (several grow the one list)

        await asyncio.gather(*(one() for _ in range(clients)))
    return answers


def codes(answers: list[httpx.Response]) -> dict[int, int]:
    """Return how many answers have each code."""
    return dict(collections.Counter(answer.status_code for answer in answers))


@contextlib.asynccontextmanager
async def steady(url: str, clients: int, body: Mapping[str, object]) -> AsyncIterator[Answers]:
    """Keep so many clients busy for as long as the context lasts; what they got grows in the list."""
    answers: Answers = []
    over = asyncio.Event()

    async def one(client: httpx.AsyncClient) -> None:
        while not over.is_set():
            answer = await client.post(PATH, json=body)
            answers.append((answer.status_code, answer.headers.get("x-fairlane-revision", ""), answer.text[-15:]))

    async with httpx.AsyncClient(base_url=url, timeout=20, limits=httpx.Limits(max_connections=clients)) as client:
        async with asyncio.TaskGroup() as group:
            for _ in range(clients):
                group.create_task(one(client))
            yield answers
            over.set()


async def grown(answers: Answers, by: int) -> None:
    """Wait until so many more answers came."""
    wanted = len(answers) + by
    async with asyncio.timeout(20):
        while len(answers) < wanted:  # noqa: ASYNC110  (a list has no event)
            await asyncio.sleep(0.01)
