"""What OpenAI's request and answer bodies hold, as far as the stand-in needs it."""
from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

CHAT, COMPLETION, RESPONSE, EMBEDDING = "chat.completion", "text_completion", "response", "embedding"
WORDS = ("The", "stand-in", "engine", "answers", "every", "question", "with", "this", "same", "sentence", "word", "by", "word", "until", "tokens", "end.")
_BYTES_PER_TOKEN = 4


def prompt_tokens(kind: str, body: dict[str, Any]) -> int:
    """Tokens to prefill: token ids as they are, text by its length."""
    given = body.get({CHAT: "messages", COMPLETION: "prompt"}.get(kind, "input"))
    if isinstance(given, list) and given and all(isinstance(item, int) for item in given):
        return len(given)
    texts = [*_texts(given), *([json.dumps(body["tools"])] if body.get("tools") else [])]
    return max(1, math.ceil(sum(len(text.encode()) for text in texts) / _BYTES_PER_TOKEN))


def output_tokens(body: dict[str, Any], longest: int) -> int:
    asked = next((body[name] for name in ("max_completion_tokens", "max_tokens", "max_output_tokens") if body.get(name) is not None), 16)
    return min(int(asked), longest)


def _texts(value: Any) -> Iterator[str]:
    """Every text of messages, parts and tool calls."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for key in ("content", "text", "arguments", "function", "tool_calls"):
            yield from _texts(value.get(key))


def token(number: int) -> str:
    return WORDS[number % len(WORDS)] + " "


def error(status: int, kind: str, message: str, param: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": param, "code": status}}


def answer(kind: str, identity: str, model: str, text: str, prompt: int, produced: int) -> dict[str, Any]:
    """The whole answer of a request that does not stream."""
    usage = {"prompt_tokens": prompt, "completion_tokens": produced, "total_tokens": prompt + produced}
    common = {"id": identity, "object": kind, "model": model}
    if kind == RESPONSE:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        usage = {"input_tokens": prompt, "output_tokens": produced, "total_tokens": prompt + produced}
        return common | {"status": "completed", "output": [{"type": "message", "role": "assistant", "content": content}], "usage": usage}
    if kind == EMBEDDING:
        return {"id": identity, "object": "list", "model": model, "data": [{"object": kind, "index": 0, "embedding": [0.0, 1.0]}], "usage": usage}
    choice: dict[str, Any] = {"index": 0, "finish_reason": "length"}
    choice |= {"message": {"role": "assistant", "content": text}} if kind == CHAT else {"text": text}
    return common | {"choices": [choice], "usage": usage}


def chunk(kind: str, identity: str, model: str, text: str, last: bool) -> dict[str, Any]:
    """One event of a stream."""
    if kind == RESPONSE:
        return {"type": "response.output_text.delta", "delta": text}
    choice: dict[str, Any] = {"index": 0, "finish_reason": "length" if last else None}
    choice |= {"delta": {"content": text}} if kind == CHAT else {"text": text}
    return {"id": identity, "object": f"{kind}.chunk" if kind == CHAT else kind, "model": model, "choices": [choice]}
