"""What the API server would refuse of an object: the CRD's own schema and CEL rules, evaluated here, without a cluster."""

import functools
import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pydantic

from . import base, crd, sentences, spec

_Path = tuple[str | int, ...]
_MOST = 10   # problems that are told


def problems(document: Mapping[str, Any]) -> list[str]:
    """Return one sentence per problem of an LLMService as users write it: field, value, remedy. None where the API server would take it."""
    shape = list(_shape(document))
    if shape:
        return [*shape[:_MOST], *([f"and {len(shape) - _MOST} more"] if len(shape) > _MOST else [])]
    schema = _schema()
    value = {"metadata": document["metadata"], "spec": defaulted(document["spec"], schema["properties"]["spec"])}
    return list(_broken(value, schema, ()))[:_MOST]


def defaulted(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return the value with the schema's defaults put in, as the API server does before it looks at the rules; nulls count as left out."""
    if isinstance(value, dict):
        parts: Mapping[str, Any] = schema.get("properties", {})
        given = {name: part for name, part in value.items() if part is not None}
        filled = {name: part["default"] for name, part in parts.items() if "default" in part and name not in given} | given
        return {name: defaulted(part, parts.get(name, {})) for name, part in filled.items()}
    if isinstance(value, list):
        return [defaulted(item, schema.get("items", {})) for item in value]
    return value


@functools.cache
def _schema() -> Mapping[str, Any]:
    return crd.schema()


def _shape(document: Mapping[str, Any]) -> Iterator[str]:
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        yield "metadata.name: is required"
    if document.get("apiVersion") != f"{base.GROUP}/{base.VERSION}":
        yield f"apiVersion: {document.get('apiVersion')!r} is not served; write {base.GROUP}/{base.VERSION}"
    if "spec" not in document:
        yield "spec: is required"
        return
    try:
        # strict, and from JSON: the API server takes no "2" for 2
        spec.LLMServiceSpec.model_validate_json(json.dumps(document["spec"], default=str), strict=True)
    except pydantic.ValidationError as error:
        yield from (sentences.problem("spec", problem) for problem in error.errors(include_url=False))


def _broken(value: Any, schema: Mapping[str, Any], path: _Path) -> Iterator[str]:
    """The rules that do not hold, of the whole before those of its parts."""
    for rule in schema.get("x-kubernetes-validations", []):
        if evaluate(rule["rule"], value) is not True:
            yield f"{sentences.field(path)}{rule.get('fieldPath', '')}: {_words(rule, value)}".removeprefix(": ")
    yield from _doubled(value, schema, path)
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _broken(part, schema.get("properties", {}).get(name) or schema.get("additionalProperties") or {}, (*path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _broken(item, schema.get("items", {}), (*path, index))


def _doubled(value: Any, schema: Mapping[str, Any], path: _Path) -> Iterator[str]:
    """Items of a map or set that are there twice."""
    kind = schema.get("x-kubernetes-list-type")
    if kind not in ("map", "set") or not isinstance(value, list):
        return
    keys = schema.get("x-kubernetes-list-map-keys", [])
    seen: list[Any] = []
    for index, item in enumerate(value):
        key = {name: item.get(name) for name in keys} if kind == "map" else item
        if key in seen:
            yield f"{sentences.field((*path, index))}: Duplicate value: {json.dumps(key)}; keep one of them"
        seen.append(key)


def _words(rule: Mapping[str, str], value: Any) -> str:
    return str(evaluate(rule["messageExpression"], value)) if "messageExpression" in rule else rule["message"]


def evaluate(expression: str, value: Any) -> Any:
    """Return what a CEL expression makes of `self`, with those of Kubernetes' functions that the rules use."""
    import cel  # here, because it loads a command line of its own, and only `plan` needs it

    context = cel.Context()
    context.add_variable("self", value)
    context.add_variable("sets", {})     # `sets.intersects(a, b)` reads as a method of this
    context.add_function("isSorted", lambda items: all(a <= b for a, b in itertools.pairwise(items)))
    context.add_function("intersects", lambda _, first, second: any(item in second for item in first))
    context.add_function("lowerAscii", lambda text: text.lower())
    context.add_function("format", _formatted)
    return cel.evaluate(expression, context)


def _formatted(text: str, values: list[Any]) -> str:
    """CEL's format: text in a list is quoted, text by itself is not."""
    return text % tuple(json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value for value in values)
