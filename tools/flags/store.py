"""What was read, kept in the repository so that flags.json can be made again without a download: data/readings.json, data/parser.json, data/kept.yaml."""

import dataclasses
import json
import pathlib
from collections.abc import Mapping
from typing import Any

import yaml

from .reading import Option

FOLDER = pathlib.Path(__file__).with_name("data")
READINGS, PARSER, KEPT = "readings.json", "parser.json", "kept.yaml"
Reading = Mapping[str, str]        # option: what it is, as `text` writes it


@dataclasses.dataclass(frozen=True)
class Store:
    """Wheels by version, options by version, and the two files beside."""

    wheels: dict[str, str]
    readings: dict[str, dict[str, str]]
    parser: dict[str, Any]
    kept: dict[str, dict[str, Any]]


def text(option: Option) -> dict[str, str]:
    """Return each name of the option with its kind, and what else there is to say, in words: `switch deprecated`, `int least:1`, `float same:memory`."""
    words = [option.kind, *(["deprecated"] if option.deprecated else []), *(f"{name}:{limit:g}" for name, limit in option.limits)]
    return {option.name: " ".join(words)} | dict.fromkeys(option.also, f"{option.kind} same:{option.name}")


def order(version: str) -> tuple[int, ...]:
    """Sort key of a release."""
    return tuple(int(part) for part in version.split("."))


def load(folder: pathlib.Path = FOLDER) -> Store:
    """Return what the folder has; what is not there is empty."""
    read = json.loads((folder / READINGS).read_text()) if (folder / READINGS).exists() else {"wheels": {}, "options": {}}
    parser = json.loads((folder / PARSER).read_text()) if (folder / PARSER).exists() else {"version": "", "options": {}}
    wheels = dict(sorted(read["wheels"].items(), key=lambda item: order(item[0])))
    return Store(wheels, _expanded(list(wheels), read["options"]), parser, yaml.safe_load((folder / KEPT).read_text()))


def with_reading(store: Store, version: str, wheel: str, reading: Reading) -> Store:
    """Return the store with one more version, or with one read anew."""
    wheels = dict(sorted((store.wheels | {version: wheel}).items(), key=lambda item: order(item[0])))
    return dataclasses.replace(store, wheels=wheels, readings=store.readings | {version: dict(reading)})


def save(store: Store, folder: pathlib.Path = FOLDER) -> None:
    """Write the readings, as changes from version to version, and the parser's answer, one option a line."""
    (folder / READINGS).write_text(lines({"wheels": store.wheels, "options": _changes(store)}))
    (folder / PARSER).write_text(lines(store.parser))


def _changes(store: Store) -> dict[str, dict[str, str | None]]:
    """By option: the versions at which it differs from the version before, None where it is gone."""
    changes: dict[str, dict[str, str | None]] = {}
    before: Mapping[str, str] = {}
    for version in store.wheels:
        now = store.readings[version]
        for name in sorted(before.keys() | now.keys()):
            if before.get(name) != now.get(name):
                changes.setdefault(name, {})[version] = now.get(name)
        before = now
    return dict(sorted(changes.items()))


def _expanded(versions: list[str], changes: Mapping[str, Mapping[str, str | None]]) -> dict[str, dict[str, str]]:
    readings: dict[str, dict[str, str]] = {}
    now: dict[str, str] = {}
    for version in versions:
        for name, at in changes.items():
            if version in at:
                said = at[version]
                now = {key: value for key, value in now.items() if key != name} | ({name: said} if said is not None else {})
        readings[version] = now
    return readings


def lines(document: Mapping[str, Any]) -> str:
    """JSON with one entry of each inner object a line, so that a diff shows what changed."""
    parts = []
    for key, value in document.items():
        rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in value.items()) if isinstance(value, dict) else None
        parts.append(f" {json.dumps(key)}: " + (f"{{\n{rows}\n }}" if rows is not None else json.dumps(value)))
    return "{\n" + ",\n".join(parts) + "\n}\n"
