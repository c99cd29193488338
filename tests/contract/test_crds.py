"""The CRD is in step with the models, says everything that `kubectl explain` should, and a real API server takes it."""

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from fairlane.api import crd, generated, spec

Schema = dict[str, Any]


def fields(schema: Schema, path: str) -> Iterator[tuple[str, Schema]]:
    """Yield every field below the schema, with its path."""
    for name, part in schema.get("properties", {}).items():
        yield f"{path}.{name}", part
        yield from fields(part, f"{path}.{name}")
        yield from fields(part.get("items", {}), f"{path}.{name}")


PARTS = {name: crd.schema()["properties"][name] for name in ("spec", "status")}
FIELDS = dict(field for name, part in PARTS.items() for field in fields(part, name))
MINIMAL = {"model": {"uri": "hf://a/b"}, "engine": {"image": "vllm:v0.32.0"}, "router": {"defaultLane": "chat"}}


def test_files_are_in_step_with_the_models() -> None:
    assert generated.stale(crd.files(), generated.repository()) == []


def test_a_file_out_of_step_is_named(tmp_path: pathlib.Path) -> None:
    generated.write(crd.files(), tmp_path)
    (tmp_path / crd.FILES[1]).write_text("old")
    assert generated.stale(crd.files(), tmp_path) == [crd.FILES[1]]


def test_every_field_is_described() -> None:
    assert [path for path, field in FIELDS.items() if not field.get("description", "").endswith((".", ".)"))] == []


def test_every_optional_field_of_the_spec_says_its_default_and_every_other_that_it_is_required() -> None:
    leaves = {path: field["description"] for path, field in FIELDS.items() if path.startswith("spec") and "properties" not in field}
    assert [path for path, text in leaves.items() if "efault" not in text and "Required." not in text] == []


def test_every_list_map_and_string_has_a_bound() -> None:
    def unbounded(field: Schema) -> bool:
        if field["type"] == "string":
            return "maxLength" not in field and "enum" not in field
        return (field["type"] == "array" and "maxItems" not in field) or ("additionalProperties" in field and "maxProperties" not in field)

    assert [path for path, field in FIELDS.items() if unbounded(field)] == []


def test_no_field_that_a_profile_can_set_has_a_default() -> None:
    assert [path for path, field in FIELDS.items() if path.startswith("spec.lanes.scheduler") and "default" in field] == []


def test_the_status_has_no_defaults() -> None:
    assert [path for path, field in FIELDS.items() if path.startswith("status") and "default" in field] == []


def test_the_api_servers_defaults_are_the_models_own(apiserver: Any) -> None:
    written = MINIMAL | {"lanes": [{"name": "chat", "profile": "Interactive", "replicas": 1}]}
    manifest = {"apiVersion": "fairlane.dev/v1alpha1", "kind": "LLMService", "metadata": {"name": "assistant", "namespace": "default"}, "spec": written}
    stored = yaml.safe_load(apiserver.dry_run(yaml.safe_dump(manifest)).stdout)["spec"]
    assert stored["rollout"]["steps"] == [{"weight": 10, "duration": "30m"}, {"weight": 50, "duration": "10m"}]
    assert spec.LLMServiceSpec.model_validate(written) == spec.LLMServiceSpec.model_validate(stored)


def test_the_api_server_finds_no_fault_in_the_schema(apiserver: Any) -> None:
    conditions = apiserver.kubectl("get", "crd", "llmservices.fairlane.dev", "-o", "jsonpath={range .status.conditions[*]}{.type}={.status} {end}").stdout
    assert sorted(conditions.split()) == ["Established=True", "NamesAccepted=True"]


@pytest.mark.parametrize(("field", "words"), [
    pytest.param("spec.lanes.scheduler.maxNumSeqs", ["Most sequences that are computed together", "Unit: sequences", "Default:"], id="a scheduler flag"),
    pytest.param("spec.rollout.steps.weight", ["in percent", "Required."], id="a step's weight"),
    pytest.param("status.lanes.canary", ["Revision under trial"], id="a field of the status"),
])
def test_kubectl_explain_answers(apiserver: Any, field: str, words: list[str]) -> None:
    text = " ".join(apiserver.kubectl("explain", f"llmservice.{field}").stdout.split())
    assert [word for word in words if word not in text] == []


def test_kubectl_get_shows_the_columns_by_the_short_name(apiserver: Any) -> None:
    manifest = {"apiVersion": "fairlane.dev/v1alpha1", "kind": "LLMService", "metadata": {"name": "columns", "namespace": "default"}}
    lane = {"name": "chat", "profile": "Interactive", "replicas": 1}
    created = apiserver.kubectl("create", "-f", "-", stdin=yaml.safe_dump(manifest | {"spec": MINIMAL | {"lanes": [lane]}}))
    assert created.returncode == 0, created.stderr
    ready = {"type": "Ready", "status": "True", "reason": "Serving", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    status = json.dumps({"status": {"lanesReady": "1/1", "rollout": "chat 10% canary (4m)", "conditions": [ready]}})
    patched = apiserver.kubectl("patch", "llmsvc", "columns", "--subresource=status", "--type=merge", "-p", status)
    assert patched.returncode == 0, patched.stderr
    header, row = apiserver.kubectl("get", "llmsvc", "columns").stdout.splitlines()
    assert header.split() == ["NAME", "MODEL", "READY", "LANES", "ROLLOUT", "AGE"]
    assert row.split()[:8] == ["columns", "default", "True", "1/1", "chat", "10%", "canary", "(4m)"]
