"""What each version's `vllm serve` understands: data/flags.json as typed values."""

import dataclasses
import difflib
import functools
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

from . import versions


@dataclasses.dataclass(frozen=True)
class Flag:
    """One option of `vllm serve`, by its name without the dashes, with the kind that it has in the version it was looked up for.

    Kinds: int, float, human (an int that may end in k or K), bool (has a `--no-` form), truth (a bool that is written as a word), switch (false is
    its absence), list (several values), repeat (once per value), any (text, number or JSON).
    """

    name: str
    kind: str
    since: versions.Version
    gone: versions.Version | None = None
    before: tuple[tuple[versions.Version, str], ...] = ()    # kinds that it had, each until that version
    deprecated: versions.Version | None = None
    renamed: str = ""                          # what it is called now, where it is gone
    instead: str = ""                          # what does its work, where it is gone or deprecated
    why: str = ""                              # why it can be left out, where nothing does
    owned: str = ""                            # why Fairlane sets it and nobody else
    same: str = ""                             # the option that it is another name of
    choices: tuple[str, ...] = ()              # as of the version whose parser was read
    choices_in_all_versions: bool = False
    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None
    auto_since: versions.Version | None = None  # also takes `auto`
    folded: bool = False                       # a choice may be written in capitals and with dashes

    def known(self, version: versions.Version) -> bool:
        """Whether this version has the option."""
        return self.since <= version and (self.gone is None or version < self.gone)

    def of(self, version: versions.Version) -> "Flag":
        """Return the flag with the kind that it has in this version."""
        kind = next((kind for until, kind in self.before if version < until), self.kind)
        return self if kind == self.kind else dataclasses.replace(self, kind=kind)

    def choices_in(self, version: versions.Version) -> tuple[str, ...]:
        """The values this version allows; empty where all are allowed or the list is not known."""
        return self.choices if self.choices_in_all_versions or version[:2] == _choices_read_at() else ()


@functools.cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(resources.files(__package__).joinpath("data/flags.json").read_text())
    return data


@functools.cache
def _choices_read_at() -> tuple[int, int]:
    return _release(_data()["choices_read_at"])[:2]


@functools.cache
def flags() -> Mapping[str, Flag]:
    """All options that any supported version has or had, by name."""
    return {name: _flag(name, entry) for name, entry in _data()["flags"].items()}


def _flag(name: str, entry: dict[str, Any]) -> Flag:
    typed: dict[str, Any] = {key: _release(entry[key]) for key in ("since", "gone", "deprecated", "auto_since") if key in entry}
    if "before" in entry:
        typed["before"] = tuple((_release(until), kind) for until, kind in entry["before"].items())
    if "choices" in entry:
        typed["choices"] = tuple(entry["choices"])
    return Flag(**{"name": name} | entry | typed)


def _release(text: str) -> versions.Version:
    version = versions.parse(text)
    if version is None:
        raise ValueError(f"data/flags.json: {text!r} is no version")
    return version


def find(name: str, version: versions.Version) -> Flag | None:
    """The option of this name in this version."""
    flag = flags().get(name)
    return flag.of(version) if flag is not None and flag.known(version) else None


def nearest(name: str, version: versions.Version) -> str:
    """The known option that is spelled most like `name`; empty where none is."""
    known = [flag.name for flag in flags().values() if flag.known(version) and not flag.owned]
    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=0.7)), "")
