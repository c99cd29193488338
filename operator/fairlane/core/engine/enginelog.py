"""The end of an engine's log, as Kubernetes keeps it: without the prefixes of vLLM's processes, and its most telling line."""

import dataclasses
import re

KEPT = 65_536   # characters: of a longer text the end is read
# (EngineCore_DP0 pid=68), (VllmWorker rank=1 pid=12), [rank0]: and, before a record of vLLM's log, its level, time and place.
_PROCESS = re.compile(r"\([A-Za-z][\w. -]{0,60} pid=\d{1,10}[^()\n]{0,40}\) ?|\[rank\d{1,5}\]: ?", re.ASCII)
_RECORD = re.compile(r"(DEBUG|INFO|WARNING|ERROR|CRITICAL)(?: \d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})? \[[^\]\n]{1,120}\] ?|: {1,8})", re.ASCII)
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,16}m")
_HARMLESS = ("DEBUG", "INFO", "WARNING")
_LINK = "For further information visit"   # pydantic ends with it
_CODE = re.compile(r" {4,}(?![ |])")      # a frame's code, in a traceback: it may hold the words of an error that did not happen
_PROCESSES_DEEP = 4                       # prefixes before prefixes: the API server repeats what its children print


@dataclasses.dataclass(frozen=True)
class Log:
    """The lines, and those of them that may tell of an error, joined by newlines: neither code nor records of lower levels."""

    lines: tuple[str, ...]
    errors: str


def read(text: str) -> Log:
    """Return the end of a log. A carriage return ends a line too: progress bars write many over each other."""
    told = [_told(line) for line in text[-KEPT:].splitlines()]
    errors = (line for level, line in told if level not in _HARMLESS and not _CODE.match(line))
    return Log(tuple(line for _, line in told), "\n".join(errors))


def _told(line: str) -> tuple[str, str]:
    """Return a line's level, where it says one, and the line without its prefixes."""
    rest = _COLOUR.sub("", line)
    for _ in range(_PROCESSES_DEEP):
        prefix = _PROCESS.match(rest)
        if prefix is None:
            break
        rest = rest[prefix.end():]
    record = _RECORD.match(rest)
    return (record[1], rest[record.end():].rstrip()) if record else ("", rest.rstrip())


def telling(log: Log) -> str:
    """Return the last line that names an error, else the last one that says anything; no line of code of a traceback where another one will do."""
    said = [line for line in log.lines if line.strip() and _LINK not in line]
    plain = [line for line in said if not _CODE.match(line) and not line.startswith("  File ")] or said
    named = [line for line in plain if "error" in line.lower()]
    return (named or plain or [""])[-1]


def words(text: str, limit: int) -> str:
    """Return a text on one line, without anything unprintable, cut to `limit` characters."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
