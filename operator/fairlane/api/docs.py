"""The generated parts of docs/reference: `python -m fairlane.api.docs` writes them, `--check` only compares."""

import pathlib
import re
from collections.abc import Iterator
from typing import Any

import yaml

from . import crd, generated

Schema = dict[str, Any]

FIELDS = "docs/reference/fields.md"
CONDITIONS = "docs/reference/conditions.md"
FAILED_LOADS = "docs/how-to/read-a-failed-load.md"
# Read as text: the types are below the core and import nothing of it.
_REASONS = "operator/fairlane/core/rollout/reasons.py"
_VERDICTS = "operator/fairlane/core/judge/rule.py"
_FAILURES = "operator/fairlane/core/engine/data/failures.yaml"
_CONSTANT = re.compile(r'^[A-Z_]+(?:: Final)? = "(\w+)"\s+# (.+)$')
_PLACEHOLDER = re.compile(r"\{(\w+)[^}]*\}")
_PLACES = {"lane": "spec.lanes[…]", "history": "*what became of it*"}
_NOTE = "<!-- Generated from operator/fairlane/api by `make generate`; do not edit. -->"


def fields(schema: Schema, path: str) -> Iterator[tuple[str, Schema]]:
    """Yield every field below the schema with its path; those of a list's items as `lanes[].name`."""
    for name, part in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        yield here, part
        yield from fields(part, here)
        yield from fields(part.get("items", {}), f"{here}[]")


def fields_page() -> str:
    """Return the page with every field, its default and its meaning, and every rule."""
    properties = crd.schema()["properties"]
    spec = [_spec_row(path, part) for path, part in fields(properties["spec"], "")]
    status = [f"| `{path}` | {_escaped(part['description'])} |" for path, part in fields(properties["status"], "") if not _told_before(path)]
    refused: dict[str, list[str]] = {}
    for path, rule in _rules(crd.schema(), ""):
        refused.setdefault(rule["message"], []).append(f"`{path}`")
    rules = [f"| {', '.join(paths)} | {_escaped(message)} |" for message, paths in refused.items()]
    return "\n".join([
        _NOTE, "# Fields of an LLMService", "",
        "Group `fairlane.dev`, version `v1alpha1`, kind `LLMService`, short name `llmsvc`.",
        "The same texts as `kubectl explain llmservice.spec`.", "",
        "Durations are written as `30s`, `10m`, `1h30m`; amounts of memory as `24Gi`; fractions as strings from `\"0\"` to `\"1\"`.", "",
        "## spec", "", "| field | type | default | meaning |", "|---|---|---|---|", *spec, "",
        "## status", "", "Evidence is shown once, under `lanes[].evidence.stable`; decisions are the same in `lanes[]` and `history[]`.", "",
        "| field | meaning |", "|---|---|", *status, "",
        "## What `kubectl apply` refuses", "",
        "Besides wrong types, unknown and missing fields and values out of bounds. What only the effective flags show (a profile or vLLM set the other half)",
        "is refused by the operator: condition `Stalled`, with the same kind of message, and nothing that runs is touched.", "",
        "| at | rule |", "|---|---|", *rules, "",
    ])


def _spec_row(path: str, part: Schema) -> str:
    meaning, default = _split(part["description"])
    return f"| `{path}` | {_type(part)} | {_escaped(default)} | {_escaped(meaning)} |"


def _told_before(path: str) -> bool:
    return any(repeated in path for repeated in (".evidence.canary.", "decisions[].evidence.", "history[].decisions[]."))


def _split(description: str) -> tuple[str, str]:
    """Return the meaning and the default that a description states."""
    meaning, _, default = description.partition(" Default: ")
    if default:
        return meaning, default.rstrip(".")
    return (description.removesuffix(" Required."), "required") if description.endswith("Required.") else (description, "")


def _type(part: Schema) -> str:
    if "enum" in part:
        return " \\| ".join(part["enum"])
    if part["type"] == "integer":
        return f"integer, {part['minimum']} to {part['maximum']}"
    if part["type"] == "array":
        return f"list, at most {part['maxItems']}"
    return f"string, at most {part['maxLength']}" if part["type"] == "string" else str(part["type"])


def _rules(schema: Schema, path: str) -> Iterator[tuple[str, Schema]]:
    for rule in schema.get("x-kubernetes-validations", []):
        yield f"{path}{rule.get('fieldPath', '')}".lstrip(".") or "metadata.name", rule
    for name, part in schema.get("properties", {}).items():
        yield from _rules(part, f"{path}.{name}".lstrip("."))
        yield from _rules(part.get("items", {}), f"{path}.{name}[]".lstrip("."))


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def tables(source: str) -> dict[str, list[str]]:
    """Return the constants of a module's text as rows, by the comment line that heads them."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in source.splitlines():
        if line.startswith("# "):
            heading = line.removeprefix("# ").partition("(")[0].strip(" ,.")
        elif match := _CONSTANT.match(line):
            found.setdefault(heading, []).append(f"| `{match[1]}` | {_escaped(match[2])} |")
    return found


def conditions_page(root: pathlib.Path) -> str:
    """Return the page with its generated tables put in between the markers; what stands around them is written by hand."""
    text = (root / CONDITIONS).read_text(encoding="utf-8")
    reasons = tables((root / _REASONS).read_text(encoding="utf-8"))
    verdicts = tables((root / _VERDICTS).read_text(encoding="utf-8"))
    (lanes,) = (rows for heading, rows in reasons.items() if heading.startswith("Why a lane"))
    for name, rows in {"lanes": lanes, "conditions": reasons["Conditions"], "events": reasons["Events"], "verdicts": verdicts[""]}.items():
        text = _filled(text, name, ["| reason | meaning |", "|---|---|", *rows])
    return text


def failed_loads_page(root: pathlib.Path) -> str:
    """Return the page with the table of kinds put in; what stands around it is written by hand."""
    kinds = yaml.safe_load((root / _FAILURES).read_text(encoding="utf-8"))
    rows = [f"| `{kind['kind']}` | `{kind.get('reason', kind['kind'])}` | {_escaped(kind['means'])} | {_escaped(_places(kind['remedy']))} |" for kind in kinds]
    text = (root / FAILED_LOADS).read_text(encoding="utf-8")
    return _filled(text, "kinds", ["| kind | reason | what failed | what to do |", "|---|---|---|---|", *rows])


def _places(template: str) -> str:
    """Return a template with what the log fills in as a word in italics."""
    return _PLACEHOLDER.sub(lambda found: _PLACES.get(found[1], f"*{found[1]}*"), template)


def _filled(text: str, name: str, table: list[str]) -> str:
    """Return the page with the table between the markers of that name."""
    head, begin, rest = text.partition(f"<!-- begin {name} -->\n")
    _, end, tail = rest.partition(f"<!-- end {name} -->")
    return "\n".join([f"{head}{begin}{table[0]}", *table[1:], f"{end}{tail}"])


def files(root: pathlib.Path) -> dict[str, str]:
    """Return what belongs into the repository, by path."""
    return {FIELDS: fields_page(), CONDITIONS: conditions_page(root), FAILED_LOADS: failed_loads_page(root)}


if __name__ == "__main__":
    generated.main(files(generated.repository()))
