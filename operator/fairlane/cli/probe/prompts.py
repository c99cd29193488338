"""Where prompts come from."""

import csv
import dataclasses
import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path

from ...core import words
from . import config as configs


@dataclasses.dataclass(frozen=True)
class Prompt:
    """One request to send. `messages` wins over `text` where a JSONL row brought them."""

    text: str
    output_tokens: int
    messages: tuple[dict[str, object], ...] = ()


def stream(config: configs.Config) -> Iterator[Prompt]:
    """Return an endless stream of prompts, the same for the same seed; BadConfig names a file that holds none."""
    limit = config.max_output_tokens
    source = _source(config)
    return source if limit is None else (dataclasses.replace(prompt, output_tokens=min(prompt.output_tokens, limit)) for prompt in source)


def _source(config: configs.Config) -> Iterator[Prompt]:
    chance = random.Random(config.seed)
    if config.prompts is not None:
        return itertools.cycle(_from_file(config.prompts, config.output_tokens))
    if config.trace is not None:
        return (Prompt(sized(tokens, chance), output) for tokens, output in itertools.cycle(_from_trace(config.trace, config.max_prompt_tokens)))
    return (Prompt(sized(config.prompt_tokens, chance), config.output_tokens) for _ in itertools.count())


def sized(tokens: int, chance: random.Random) -> str:
    """A text of about that many tokens, new in its first words, so that no prefix cache knows it."""
    found = chance.choices(words.WORDS, k=max(tokens, 1))
    return " ".join(found)[: tokens * words.BYTES_PER_TOKEN] or "hi"


def _from_file(path: Path, output_tokens: int) -> list[Prompt]:
    lines = [line for line in _read(path).splitlines() if line.strip()]
    if not lines:
        raise configs.BadConfig(f"--prompts {path}: the file holds no prompt")
    return [_row(path, number, line, output_tokens) for number, line in enumerate(lines, 1)]


def _row(path: Path, number: int, line: str, output_tokens: int) -> Prompt:
    """One line: text, a JSON string, or an object with `prompt` or `messages` and perhaps `max_tokens`."""
    if line.lstrip()[:1] not in ('{', '"'):
        return Prompt(line, output_tokens)
    try:
        value = json.loads(line)
    except ValueError as error:
        if not line.lstrip().startswith("{"):
            return Prompt(line, output_tokens)
        raise configs.BadConfig(f"--prompts {path}, line {number}: no JSON: {error}") from error
    if isinstance(value, str):
        return Prompt(value, output_tokens)
    tokens = value.get("max_tokens", output_tokens)
    if isinstance(value.get("messages"), list):
        return Prompt("", tokens, tuple(value["messages"]))
    if isinstance(value.get("prompt"), str):
        return Prompt(value["prompt"], tokens)
    raise configs.BadConfig(f"--prompts {path}, line {number}: neither `prompt` nor `messages`")


def _from_trace(path: Path, limit: int | None) -> list[tuple[int, int]]:
    rows = csv.DictReader(_read(path).splitlines())
    try:
        sizes = [(int(row["ContextTokens"]), max(int(row["GeneratedTokens"]), 1)) for row in rows]
    except (KeyError, ValueError, TypeError) as error:
        wanted = "columns ContextTokens and GeneratedTokens with whole numbers"
        raise configs.BadConfig(f"--trace {path}, line {rows.line_num}: {wanted} are needed: {error!r}") from error
    sizes = [(prompt, output) for prompt, output in sizes if limit is None or prompt <= limit]
    if not sizes:
        raise configs.BadConfig(f"--trace {path}: no row is left" + (f" below {limit} prompt tokens" if limit else ""))
    return sizes


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise configs.BadConfig(f"{path}: {error}") from error
