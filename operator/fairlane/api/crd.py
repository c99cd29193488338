"""The CustomResourceDefinition, made from the models: `python -m fairlane.api.crd` writes it, `--check` only compares.

kube-custom-resource (PyPI) does the same in general but drops every `default`, and defaults that the API server applies are what `kubectl get -o yaml`
shows and what an operator upgrade must not change; hence these few lines of our own.
"""

import copy
from collections.abc import Mapping
from typing import Any

import yaml

from . import base, generated, rules, spec, status

Schema = dict[str, Any]

FILES = ("crds/llmservices.yaml", "charts/fairlane/files/llmservices.yaml")
_HEADER = "# Generated from operator/fairlane/api by `make generate`; do not edit.\n"
_INT32 = 2**31 - 1
# What pydantic says and Kubernetes does not: titles, closed objects (kubectl refuses unknown fields by itself).
_DROPPED = ("title", "$defs", "additionalProperties", "default", "properties", "items", "anyOf", "allOf", "$ref")

COLUMNS = (
    {"name": "Model", "type": "string", "jsonPath": ".spec.model.name", "description": "What clients send as \"model\"."},
    {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status', "description": "Whether every lane and the router serve."},
    {"name": "Lanes", "type": "string", "jsonPath": ".status.lanesReady", "description": "Lanes that are ready, of all."},
    {"name": "Rollout", "type": "string", "jsonPath": ".status.rollout", "description": "The running rollout in short."},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
)


def structural(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Return pydantic's JSON schema as a structural schema: references resolved, null alternatives dropped (the API server prunes nulls), defaults kept."""
    schema = _resolved(schema, definitions)
    result = {key: copy.deepcopy(value) for key, value in schema.items() if key not in _DROPPED}
    if "properties" in schema:
        result["properties"] = {name: structural(part, definitions) for name, part in schema["properties"].items()}
    if "items" in schema:
        result["items"] = structural(schema["items"], definitions)
    if schema.get("type") == "integer":
        result["format"] = "int32" if schema.get("maximum", _INT32) <= _INT32 else "int64"
    return result | _open(schema, definitions) | _default(schema, result)


def _resolved(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Return the schema with its reference, or its one alternative to null, put in; what stands beside them wins."""
    if "$ref" in schema:
        found = definitions[schema["$ref"].rpartition("/")[2]]
    elif "anyOf" in schema:
        (found,) = (part for part in schema["anyOf"] if part.get("type") != "null")
    else:
        return schema
    beside = {key: value for key, value in schema.items() if key not in ("$ref", "anyOf")}
    return _resolved(found, definitions) | beside


def _open(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Return how the schema speaks of keys that it does not name: closed objects say nothing, fragments keep all, maps have a type of value."""
    values = schema.get("additionalProperties", False)
    if values is True:
        return {"x-kubernetes-preserve-unknown-fields": True}
    return {"additionalProperties": structural(values, definitions)} if values else {}


def _default(schema: Schema, result: Schema) -> Schema:
    """Return the default, if the API server should apply it. That of a part is put together from those of its fields."""
    default = schema.get("default")
    if default is not None and "properties" in result:
        default = {name: copy.deepcopy(part["default"]) for name, part in result["properties"].items() if "default" in part}
    return {} if default in (None, {}, [], "") else {"default": copy.deepcopy(default)}


def _part(model: type[base.Model] | type[base.StatusModel], description: str) -> Schema:
    schema = model.model_json_schema(by_alias=True)
    return structural(schema, schema.get("$defs", {})) | {"description": description}


def _without_defaults(value: Any) -> Any:
    """Return the status' schema without defaults: the API server must not write into what the operator alone writes."""
    return {key: _without_defaults(part) for key, part in value.items() if key != "default"} if isinstance(value, dict) else value


def schema() -> Schema:
    """Return the OpenAPI schema of the whole object."""
    name = {"type": "string", "maxLength": rules.NAME_LIMIT}
    return {
        "type": "object",
        "description": "A model, its lanes and its router: one OpenAI-compatible address, an engine pool per class of requests, every change behind a canary.",
        "required": ["spec"],
        "x-kubernetes-validations": [rules.OBJECT.schema()],
        "properties": {
            "apiVersion": {"type": "string", "description": f"{base.GROUP}/{base.VERSION}"},
            "kind": {"type": "string", "description": base.KIND},
            "metadata": {"type": "object", "properties": {"name": name}},
            "spec": _part(spec.LLMServiceSpec, "What is wanted. Written by you, never by Fairlane."),
            "status": _without_defaults(_part(status.LLMServiceStatus, "What is. Written by the operator alone.")),
        },
    }


def manifest() -> dict[str, Any]:
    """Return the CustomResourceDefinition."""
    version = {
        "name": base.VERSION, "served": True, "storage": True, "subresources": {"status": {}},
        "additionalPrinterColumns": [dict(column) for column in COLUMNS], "schema": {"openAPIV3Schema": schema()},
    }
    names = {
        "kind": base.KIND, "listKind": f"{base.KIND}List", "plural": base.PLURAL, "singular": base.KIND.lower(),
        "shortNames": ["llmsvc"], "categories": ["fairlane"],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{base.PLURAL}.{base.GROUP}"},
        "spec": {"group": base.GROUP, "names": names, "scope": "Namespaced", "versions": [version]},
    }


def files() -> dict[str, str]:
    """Return what belongs into the repository, by path."""
    text = _HEADER + yaml.safe_dump(manifest(), sort_keys=False, width=160, allow_unicode=True)
    return dict.fromkeys(FILES, text)


if __name__ == "__main__":
    generated.main(files())
