"""flags.json from what was read and what is kept by hand."""

import pathlib
from collections.abc import Iterator
from typing import Any

from . import store as stores

FLAGS = pathlib.Path(__file__).parents[2] / "operator/fairlane/core/engine/data/flags.json"
_LIMITS = ("least", "above", "most", "below")
_VALUES = {"int", "float", "human", "any"}      # written alike: one word after the option


def document(store: stores.Store) -> dict[str, Any]:
    """Return flags.json; ValueError where a kept entry names an option that no version has, or an option was away between two versions that have it."""
    names = sorted({name for reading in store.readings.values() for name in reading})
    if unknown := sorted(store.kept.keys() - set(names)):
        raise ValueError(f"{stores.KEPT}: no version that was read has {', '.join(unknown)}")
    versions = list(store.wheels)
    return {
        "source": (
            "Made by `make flags`, do not edit. Options of `vllm serve` read from the published wheels of the versions below; "
            f"kinds and choices of those that {store.parser['version']} has from its parser; what cannot be read from tools/flags/data/{stores.KEPT}. "
            "A version between two that were read counts as the lower one."
        ),
        "read": versions,
        "first": _minor(versions[0]),
        "last": _minor(versions[-1]),
        "choices_read_at": _minor(store.parser["version"]),
        "flags": {name: _entry(store, name) for name in names},
    }


def text(store: stores.Store) -> str:
    """Return flags.json as text, one option a line."""
    return stores.lines(document(store))


def _entry(store: stores.Store, name: str) -> dict[str, Any]:
    versions = list(store.wheels)
    there = [index for index, version in enumerate(versions) if name in store.readings[version]]
    if there != list(range(there[0], there[-1] + 1)):
        raise ValueError(f"{name} is in {versions[there[0]]} and in {versions[there[-1]]}, but not in all versions between them")
    read = {versions[index]: store.readings[versions[index]][name].split() for index in there}
    entry: dict[str, Any] = {"since": versions[there[0]]}
    if there[-1] + 1 < len(versions):
        entry["gone"] = versions[there[-1] + 1]
    parsed = store.parser["options"].get(name, {})
    entry["kind"] = parsed.get("kind", read[versions[there[-1]]][0])
    kept = dict(store.kept.get(name, {}))
    entry |= {"before": before} if (before := dict(_before(read, entry["kind"]))) else {}
    entry |= {"same": same} if (same := next((word[5:] for words in read.values() for word in words if word.startswith("same:")), "")) else {}
    entry |= {"choices": parsed["choices"]} if "choices" in parsed else {}
    entry |= dict(_limits(read[versions[there[-1]]]))
    declared = next((version for version, words in read.items() if "deprecated" in words), None)
    entry |= {"deprecated": since} if (since := kept.pop("deprecated", declared)) is not None else {}
    return entry | kept


def _limits(words: list[str]) -> Iterator[tuple[str, float]]:
    """The range in the last version that has the option, whose values a version without limits has no use for either."""
    for name, _, number in (word.partition(":") for word in words):
        if name in _LIMITS:
            yield name, int(float(number)) if float(number).is_integer() else float(number)


def _before(read: dict[str, list[str]], kind: str) -> Iterator[tuple[str, str]]:
    """The kinds that were written otherwise on the command line, each with the first version that has it no more."""
    runs = [(version, words[0]) for version, words in read.items()]
    for (_, old), (version, new) in zip(runs, [*runs[1:], ("", kind)], strict=True):
        if version and _written(old) != _written(new):
            yield version, old


def _written(kind: str) -> str:
    return "value" if kind in _VALUES else kind


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])
