"""To the terminal or to machines."""

import enum
import json
import pathlib
import sys
from typing import Any

import rich.console
import rich.table
import yaml

from . import failures

_PIPE_WIDTH = 220     # columns where no terminal says how many: tables must not be folded there


class Format(enum.StrEnum):
    """How an answer is written."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def console(stderr: bool = False) -> rich.console.Console:
    """A console that folds only for a terminal."""
    terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return rich.console.Console(stderr=stderr, highlight=False, soft_wrap=not terminal, width=None if terminal else _PIPE_WIDTH)


def machine(value: Any, form: Format) -> None:
    """Write JSON or YAML to standard output."""
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n" if form is Format.JSON else yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
    sys.stdout.write(text)


def write(text: str, path: str) -> None:
    """Write a text to a file, or to standard output where the path is `-`."""
    if path == "-":
        sys.stdout.write(text)
        return
    try:
        pathlib.Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise failures.CommandError(f"{path} cannot be written ({error.strerror}): name a file in a directory that you may write to", failures.USAGE) from error


def table(*columns: str, gap: int = 3) -> rich.table.Table:
    """A table as kubectl prints them: headers, no lines, `gap` spaces between columns."""
    made = rich.table.Table(box=None, pad_edge=False, header_style="bold", padding=(0, gap, 0, 0))
    for column in columns:
        made.add_column(column, overflow="fold")
    return made
