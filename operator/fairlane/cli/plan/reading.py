"""What a file holds: services, and ConfigMaps with a model's config.json. Every failure is a sentence."""

import dataclasses
import json
import pathlib
import sys
from collections.abc import Mapping
from typing import Any

import yaml

from ...api import base
from .. import failures


@dataclasses.dataclass(frozen=True)
class File:
    """The LLMServices of a file, and its ConfigMaps' data by name."""

    services: list[dict[str, Any]]
    config_maps: Mapping[str, Mapping[str, str]]


def read(path: str) -> File:
    """Return what a YAML or JSON file holds, `-` for standard input; CommandError where it cannot be read or holds no service."""
    try:
        text = sys.stdin.read() if path == "-" else pathlib.Path(path).read_text(encoding="utf-8")
        found = _parsed(text)
    except OSError as error:
        raise failures.CommandError(f"{path} cannot be read: {error.strerror}", failures.NO) from error
    except UnicodeDecodeError as error:
        raise failures.CommandError(f"{path} is no text in UTF-8: {error.reason} at byte {error.start}", failures.NO) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise failures.CommandError(f"{path} is no YAML: {' '.join(str(error).split())}", failures.NO) from error
    try:
        json.dumps(found, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError as error:
        raise failures.CommandError(f"{path} has half a character in it ({error.object[error.start]!r}); write it whole", failures.NO) from error
    items = [item for document in found for item in _items(document)]
    services = [item for item in items if item.get("kind") == base.KIND]
    if not services:
        raise failures.CommandError(f"{path} holds no {base.KIND}; name a file with one, as in examples/", failures.NO)
    return File(services, {name: data for item in items if item.get("kind") == "ConfigMap" for name, data in _data(item)})


def _parsed(text: str) -> list[Any]:
    """The documents. JSON goes first: YAML reads its escapes of rarer characters as two halves."""
    try:
        return [json.loads(text)]
    except ValueError:
        return list(yaml.safe_load_all(text))


def _items(document: Any) -> list[dict[str, Any]]:
    """A document, or the items of a List as `kubectl get -o yaml` writes them."""
    if not isinstance(document, dict):
        return []
    items = document.get("items") if str(document.get("kind", "")).endswith("List") else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else [document]


def _data(item: Mapping[str, Any]) -> list[tuple[str, dict[str, str]]]:
    """A ConfigMap's name and texts; nothing where it is none."""
    metadata, data = item.get("metadata"), item.get("data")
    if not isinstance(metadata, dict) or not isinstance(data, dict):
        return []
    return [(str(metadata.get("name")), {str(key): value for key, value in data.items() if isinstance(value, str)})]
