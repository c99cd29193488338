"""One request, measured with the monotonic clock."""

import asyncio
import dataclasses
import json
import time
from typing import Any

import httpx

from . import config as configs
from . import prompts
from .results import Sample

MAX_RETRY_AFTER = 30.0      # seconds that a Retry-After may ask for
_TEXT = 200


@dataclasses.dataclass
class _Answer:
    """What has come of one try so far."""

    status: int = 0
    first: float | None = None
    last: float | None = None
    gaps: list[float] = dataclasses.field(default_factory=list)
    tokens: int = 0
    text: str = ""
    lane: str = ""
    track: str = ""
    revision: str = ""
    retry_after: float = 1.0
    done: bool = False
    problem: str = ""

    def content(self, piece: str, now: float) -> None:
        """Note a piece of content."""
        if self.last is not None:
            self.gaps.append(now - self.last)
        self.first = now if self.first is None else self.first
        self.last = now
        self.text = (self.text + piece)[:_TEXT]
        self.tokens += 1


async def measure(client: httpx.AsyncClient, config: configs.Config, prompt: prompts.Prompt, start: float, due: float) -> Sample:
    """Send one prompt, waiting 429s out where asked to, and return its times from `due`. `start` and `due` are monotonic; never raises for the other side."""
    answer, refused, kind = _Answer(), 0, ""
    try:
        async with asyncio.timeout_at(asyncio.get_running_loop().time() + config.timeout):
            while True:
                answer = _Answer()
                await _send(client, config, prompt, answer)
                kind = _kind(answer)
                if kind != "429" or not config.retry_429:
                    break
                refused += 1
                await asyncio.sleep(answer.retry_after)
    except (TimeoutError, httpx.TimeoutException) as error:
        kind, answer.problem = "timeout", str(error) or f"no whole answer within {config.timeout:g} s"
    except httpx.HTTPError as error:
        kind, answer.problem = ("broken stream" if answer.status == httpx.codes.OK else "connection"), str(error) or type(error).__name__
    return _sample(answer, kind, refused, start, due)


def _sample(answer: _Answer, kind: str, refused: int, start: float, due: float) -> Sample:
    return Sample(
        at=round(due - start, 6),
        kind=kind,
        status=answer.status,
        ttft=None if answer.first is None else round(answer.first - due, 6),
        e2e=round(time.monotonic() - due, 6),
        gaps=tuple(round(gap, 6) for gap in answer.gaps),
        output_tokens=answer.tokens,
        refused=refused,
        lane=answer.lane,
        track=answer.track,
        revision=answer.revision,
        message=answer.problem[:_TEXT],
        text=answer.text,
    )


def body(config: configs.Config, prompt: prompts.Prompt) -> dict[str, Any]:
    """The request's JSON."""
    messages = list(prompt.messages) or [{"role": "user", "content": prompt.text}]
    content: dict[str, Any] = {"model": config.model, "messages": messages, "max_tokens": prompt.output_tokens, "stream": config.stream}
    if config.stream:
        content["stream_options"] = {"include_usage": True}
    if config.ignore_eos:
        content["ignore_eos"] = True
    return content


async def _send(client: httpx.AsyncClient, config: configs.Config, prompt: prompts.Prompt, answer: _Answer) -> None:
    async with client.stream("POST", config.endpoint, json=body(config, prompt), headers=dict(config.headers)) as response:
        answer.status = response.status_code
        answer.lane, answer.track, answer.revision = (response.headers.get(f"x-fairlane-{name}", "") for name in ("lane", "track", "revision"))
        answer.retry_after = _retry_after(response.headers.get("retry-after", ""))
        if response.status_code != httpx.codes.OK:
            answer.problem = " ".join((await response.aread()).decode(errors="replace").split())
        elif "text/event-stream" in response.headers.get("content-type", ""):
            async for line in response.aiter_lines():
                _event(line, answer)
        else:
            _whole(await response.aread(), answer)


def _event(line: str, answer: _Answer) -> None:
    """Take one line of a stream of server-sent events."""
    if not line.startswith("data:"):
        return
    data = line[5:].strip()
    if data == "[DONE]":
        answer.done = True
        return
    try:
        event = json.loads(data)
        piece = "".join(_piece(choice) for choice in event.get("choices") or ())
        usage = int((event.get("usage") or {}).get("completion_tokens") or 0)
    except (ValueError, TypeError, AttributeError) as error:
        answer.problem = f"an event that is no completion ({error}): {data[:80]}"
        return
    if event.get("error"):
        answer.problem = str(event["error"])
    if piece:
        answer.content(piece, time.monotonic())
    answer.tokens = usage or answer.tokens


def _piece(choice: dict[str, Any]) -> str:
    delta = choice.get("delta") or {}
    return delta.get("content") or delta.get("reasoning_content") or delta.get("reasoning") or choice.get("text") or ""


def _whole(content: bytes, answer: _Answer) -> None:
    """Take an answer that came in one piece."""
    try:
        document = json.loads(content)
        choice = document["choices"][0]
        answer.text = str((choice.get("message") or choice).get("content") or choice.get("text") or "")[:_TEXT]
        answer.tokens = int((document.get("usage") or {}).get("completion_tokens") or 0)
        answer.done = True
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        answer.problem = f"an answer that is no completion: {error}"


def _kind(answer: _Answer) -> str:
    if answer.status == httpx.codes.OK:
        return "ok" if answer.done and not answer.problem else "broken stream"
    if answer.status == httpx.codes.TOO_MANY_REQUESTS:
        return "429"
    return "5xx" if answer.status >= 500 else "4xx"


def _retry_after(value: str) -> float:
    """Seconds to wait; a date or nothing is a second."""
    try:
        return min(max(float(value), 0.05), MAX_RETRY_AFTER)
    except ValueError:
        return 1.0
