"""Why did an engine end? data/failures.yaml, matched against what the container left behind. The first pattern that fits counts."""

import dataclasses
import functools
import math
import re
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

import yaml

from . import catalog, enginelog

_QUOTED = 100        # characters of anything that is quoted from a log
_LINE = 160
_GROUP = re.compile(r"\d{1,12}", re.ASCII)


@dataclasses.dataclass(frozen=True)
class Failure:
    """What failed, in people's words. `kind` is the finest name, `reason` the one of the API; `line` is the engine's own, where it left one."""

    kind: str
    reason: str
    sentence: str
    remedy: str
    line: str = ""


@dataclasses.dataclass(frozen=True)
class Pattern:
    """How one kind shows itself: all of the conditions that it has must hold. The sentence and the remedy are templates over named groups."""

    kind: str
    reason: str
    sentence: str
    remedy: str
    source: str
    example: str = ""                              # as the engine prints it
    match: re.Pattern[str] | None = None           # found in the log
    within: re.Pattern[str] | None = None          # also found in it: the frame of the traceback that tells where it happened
    exits: frozenset[int] = frozenset()            # exit codes of the container
    ended: frozenset[str] = frozenset()            # Kubernetes' reasons of its end

    def find(self, text: str, ended: str, exit_code: int | None) -> tuple[bool, re.Match[str] | None]:
        """Whether the pattern fits, and where in the text."""
        if (self.ended and ended not in self.ended) or (self.exits and exit_code not in self.exits):
            return False, None
        if self.within is not None and not self.within.search(text):
            return False, None
        found = self.match.search(text) if self.match is not None else None
        return found is not None or self.match is None, found


@functools.cache
def patterns() -> tuple[Pattern, ...]:
    """All patterns, the most specific first and a cause before its consequence."""
    data = yaml.safe_load(resources.files(__package__).joinpath("data/failures.yaml").read_text())
    return tuple(_pattern(kind, entry) for kind in data for entry in kind["patterns"])


def _pattern(kind: Mapping[str, Any], entry: Mapping[str, Any]) -> Pattern:
    return Pattern(
        kind=kind["kind"],
        reason=kind.get("reason", kind["kind"]),
        sentence=entry["sentence"],
        remedy=entry.get("remedy", kind["remedy"]),
        source=entry["source"],
        example=entry.get("example", ""),
        match=_expression(entry.get("match")),
        within=_expression(entry.get("within")),
        exits=frozenset(entry.get("exits", ())),
        ended=frozenset(entry.get("ended", ())),
    )


def _expression(text: str | None) -> re.Pattern[str] | None:
    return re.compile(text, re.ASCII | re.MULTILINE) if text is not None else None


def classify(text: str, *, reason: str = "", exit_code: int | None = None, lane: str) -> Failure:
    """Return what a container's end means: `text` is the end of its log, `reason` Kubernetes' word for how it ended. Any text has an answer."""
    log = enginelog.read(text)
    pattern, found = _first(log.errors, reason, exit_code)
    line = enginelog.words(_line(log.errors, found) if found else enginelog.telling(log), _LINE)
    values = {"lane": f"spec.lanes[{lane}]", "line": line or "none", "exit_code": exit_code, "ended": enginelog.words(reason, _QUOTED)}
    values |= dict(_values(found))
    return Failure(pattern.kind, pattern.reason, pattern.sentence.format_map(values), pattern.remedy.format_map(values), line)


def _first(text: str, ended: str, exit_code: int | None) -> tuple[Pattern, re.Match[str] | None]:
    """The first pattern that fits; the last one of the data has no condition."""
    for pattern in patterns():
        fits, found = pattern.find(text, ended, exit_code)
        if fits:
            return pattern, found
    raise ValueError("data/failures.yaml: the last pattern must fit any end")


def _line(text: str, found: re.Match[str]) -> str:
    """The line of the text in which the match begins."""
    return text[text.rfind("\n", 0, found.start()) + 1:].partition("\n")[0]


def _values(found: re.Match[str] | None) -> Iterator[tuple[str, Any]]:
    """What the templates may use: the named groups, whole numbers as such, and what follows from them."""
    groups = {name: enginelog.words(text or "", _QUOTED) for name, text in found.groupdict().items()} if found else {}
    yield from ((name, int(text) if _GROUP.fullmatch(text) else text) for name, text in groups.items())
    if "flag" in groups:
        yield "history", _history(groups["flag"])
    if "free" in groups and "total" in groups:
        yield "share", _share(float(groups["free"]), float(groups["total"]))


def _share(free: float, total: float) -> str:
    """What is free of the GPU's memory, rounded down to hundredths: vLLM asks for ceil(total * share) and must find it (vllm/v1/worker/utils.py)."""
    return f"{math.floor(100 * free / total) / 100 if total else 0:.2f}"


def _history(name: str) -> str:
    """What the versions of vLLM have of a flag."""
    flag = catalog.flags().get(name.replace("_", "-"))
    if flag is None:
        return "no vLLM that Fairlane knows has it"
    if flag.gone is not None:
        return f"gone since vLLM {flag.gone}, " + (f"replaced by {flag.instead}" if flag.instead else "with no replacement")
    return f"it came with vLLM {flag.since}"
