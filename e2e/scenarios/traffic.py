"""Users: requests at a steady rate from a thread of their own, each answer kept with its time, lane, track and revision."""
from __future__ import annotations

import asyncio
import dataclasses
import json
import math
import random
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

import httpx

TIMEOUT = httpx.Timeout(120.0, connect=5.0)


@dataclasses.dataclass(frozen=True)
class Prompt:
    """One request to send."""

    kind: str                                   # what the report calls it: chat, documents
    body: Mapping[str, Any] | bytes             # bytes are sent as they are
    path: str = "/v1/chat/completions"
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclasses.dataclass(frozen=True)
class Answer:
    """What came of one request. Times in seconds; `failure` is empty where the answer was whole."""

    at: float                 # since the epoch, when it was sent
    kind: str
    status: int               # 0: no answer
    failure: str
    lane: str = ""
    track: str = ""
    revision: str = ""
    ttft: float | None = None
    duration: float = 0.0
    text: str = ""
    retry_after: str = ""
    prompt_tokens: int = 0    # as the engine counted them; 0 where the answer does not say

    def line(self) -> str:
        """One line for people."""
        clock = time.strftime("%H:%M:%S", time.localtime(self.at))
        return f"{clock} {self.kind} {self.status or '-'} {self.failure} [{self.lane}/{self.track}/{self.revision}] after {self.duration:.2f} s"


def chat(text: str, *, tokens: int = 8, stream: bool = True, **more: Any) -> dict[str, Any]:
    """An ordinary chat body."""
    return {"model": "default", "max_tokens": tokens, "stream": stream, "temperature": 0, "messages": [{"role": "user", "content": text}], **more}


async def ask(client: httpx.AsyncClient, prompt: Prompt) -> Answer:
    """Send one request and read its answer to the end."""
    at, started = time.time(), time.monotonic()
    answer = Answer(at, prompt.kind, 0, "")
    try:
        async with client.stream("POST", prompt.path, content=prompt.content, headers={"content-type": "application/json", **prompt.headers}) as response:
            answer = dataclasses.replace(answer, **_headers(response))
            first, raw = None, b""
            async for data in response.aiter_raw():
                first = first if first is not None else time.monotonic() - started
                raw += data
    except httpx.HTTPError as error:
        return dataclasses.replace(answer, failure=f"{type(error).__name__}: {error}", duration=time.monotonic() - started)
    streamed = response.headers.get("content-type", "").startswith("text/event-stream")
    text, failure = _read_stream(raw) if streamed else _read_whole(response.status_code, raw)
    found = re.search(rb'"prompt_tokens": ?(\d+)', raw)
    return dataclasses.replace(
        answer, ttft=first, duration=time.monotonic() - started, text=text, failure=failure, prompt_tokens=int(found[1]) if found else 0,
    )


def _headers(response: httpx.Response) -> dict[str, Any]:
    named = {name: response.headers.get(f"x-fairlane-{name}", "") for name in ("lane", "track", "revision")}
    return {"status": response.status_code, "retry_after": response.headers.get("retry-after", ""), **named}


def _read_whole(status: int, raw: bytes) -> tuple[str, str]:
    """The text of an answer, and what is wrong with it."""
    if status != 200:
        return "", f"HTTP {status}: {raw[:200].decode(errors='replace')}"
    try:
        choice = json.loads(raw)["choices"][0]
        return str(choice["message"]["content"] if "message" in choice else choice["text"]), ""
    except (ValueError, KeyError, IndexError, TypeError) as error:
        return "", f"unreadable answer ({error!r}): {raw[:200]!r}"


def _read_stream(raw: bytes) -> tuple[str, str]:
    """The text of a stream, and what is wrong with it: an error inside, or no end."""
    events = [line.removeprefix(b"data: ") for line in raw.split(b"\n") if line.startswith(b"data: ")]
    if not events or events[-1] != b"[DONE]":
        return "", f"the stream broke after {len(events)} events"
    text = ""
    for event in events[:-1]:
        value = json.loads(event)
        if "error" in value:
            return text, f"error in the stream: {value['error'].get('message')}"
        text += (value.get("choices") or [{}])[0].get("delta", {}).get("content") or ""
    return text, ""


def ask_once(url: str, prompt: Prompt) -> Answer:
    """One request, one answer."""
    async def run() -> Answer:
        async with httpx.AsyncClient(base_url=url, timeout=TIMEOUT) as client:
            return await ask(client, prompt)

    return asyncio.run(run())


def ask_all(url: str, prompts: Sequence[Prompt], together: int) -> list[Answer]:
    """All the requests, `together` at a time."""
    async def run() -> list[Answer]:
        gate = asyncio.Semaphore(together)
        async with httpx.AsyncClient(base_url=url, timeout=TIMEOUT, limits=httpx.Limits(max_connections=together)) as client:
            async def one(prompt: Prompt) -> Answer:
                async with gate:
                    return await ask(client, prompt)

            return await asyncio.gather(*map(one, prompts))

    return asyncio.run(run())


class Load:
    """Requests at `rate` a second while the block runs; never more than `most` in all, nor `together` at a time.

    They come as a Poisson stream; `paced`, at intervals that differ by no more than a third.
    """

    def __init__(
        self, url: str, rate: float, prompt: Callable[[int], Prompt], *, paced: bool = False, most: int = 20_000, together: int = 64, seed: int = 7
    ) -> None:
        self._url, self._rate, self._prompt, self._most, self._together, self._paced = url, rate, prompt, most, together, paced
        self._random = random.Random(seed)
        self._answers: list[Answer] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="load", daemon=True)
        self.sent = 0
        self.skipped = 0   # were due while `together` were in flight

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Send no more, and wait for the answers that are due."""
        self._stopping.set()
        if self.running:
            self._thread.join(150)

    @property
    def running(self) -> bool:
        """Whether requests may still be sent or awaited."""
        return self._thread.is_alive()

    @property
    def answers(self) -> list[Answer]:
        return list(self._answers)

    def since(self, at: float) -> list[Answer]:
        return [answer for answer in self.answers if answer.at >= at]

    @property
    def failures(self) -> list[Answer]:
        return [answer for answer in self.answers if answer.failure]

    async def _run(self) -> None:
        running: set[asyncio.Task[None]] = set()
        async with httpx.AsyncClient(base_url=self._url, timeout=TIMEOUT, limits=httpx.Limits(max_connections=self._together)) as client:
            due = time.monotonic()
            while not self._stopping.is_set() and self.sent < self._most:
                due += self._random.uniform(0.67, 1.33) / self._rate if self._paced else self._random.expovariate(self._rate)
                if await asyncio.to_thread(self._stopping.wait, max(0.0, due - time.monotonic())):
                    break   # of rare requests the next one may be minutes away
                if len(running) >= self._together:
                    self.skipped += 1
                    continue
                task = asyncio.create_task(self._one(client, self._prompt(self.sent)))
                self.sent += 1
                running.add(task)
                task.add_done_callback(running.discard)
            if running:
                await asyncio.wait(running)

    async def _one(self, client: httpx.AsyncClient, prompt: Prompt) -> None:
        self._answers.append(await ask(client, prompt))


def quantile(values: Sequence[float], q: float) -> float | None:
    """The value below which the share `q` of all lies (nearest rank); None without values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(q * len(ordered)) - 1)] if ordered else None
