"""What the users of scenarios ask."""
from __future__ import annotations

from e2e.scenarios import traffic

TEXT = "Please tell me which of the lanes of this service a question of this length goes to, and how long it waits there. "


def short(number: int = 0) -> traffic.Prompt:
    """A chat line of about 30 tokens."""
    return traffic.Prompt("chat", traffic.chat(f"{number} {TEXT}", tokens=2))


def page(number: int = 0) -> traffic.Prompt:
    """About 200 tokens: thirteen steps of a scheduler with a budget of 16, one of any other."""
    return traffic.Prompt("chat", traffic.chat(f"{number} {TEXT * 7}", tokens=2))


def long_stream(number: int = 0) -> traffic.Prompt:
    """A stream of a few seconds."""
    return traffic.Prompt("chat", traffic.chat(f"{number} {TEXT}", tokens=60))


def mixed(number: int) -> traffic.Prompt:
    """Mostly short ones, every fifth a stream of seconds, every third not streamed."""
    if number % 5 == 0:
        return long_stream(number)
    return traffic.Prompt("chat", traffic.chat(f"{number} {TEXT}", tokens=2, stream=number % 3 != 0))


def text(tokens: int) -> str:
    """Text of so many tokens as the router counts them, four bytes each; a fifth fewer for a model's own tokenizer."""
    return TEXT * (tokens * 4 // len(TEXT))


def document(tokens: int) -> traffic.Prompt:
    """About so many tokens of text."""
    return traffic.Prompt("documents", traffic.chat(text(tokens), tokens=2))
