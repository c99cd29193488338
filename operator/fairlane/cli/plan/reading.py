"""The services of a file. Every failure is a sentence."""

import json
import pathlib
import sys
from typing import Any

import yaml

from ...api import base
from .. import failures


def documents(path: str) -> list[dict[str, Any]]:
    """Return the LLMServices of a YAML or JSON file, `-` for standard input; CommandError where it cannot be read or holds none."""
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
    services = [item for document in found for item in _items(document) if item.get("kind") == base.KIND]
    if not services:
        raise failures.CommandError(f"{path} holds no {base.KIND}; name a file with one, as in examples/", failures.NO)
    return services


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
