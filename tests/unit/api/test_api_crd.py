"""From pydantic's JSON schema to a structural schema, and from constants to tables."""

from typing import Any

import pydantic
import pytest

from fairlane.api import base, crd, docs, rules


class Part(base.Model):
    """A part."""

    length: base.Duration = pydantic.Field("30s", description="How long.")
    note: str | None = pydantic.Field(None, max_length=8, description="A note.")


class Whole(base.Model):
    """A whole."""

    part: Part = pydantic.Field(Part(), description="The part.")
    count: int = pydantic.Field(ge=1, le=5, description="How many.")
    big: int = pydantic.Field(1, ge=1, le=2**40, description="Very many.")
    free: dict[str, Any] = pydantic.Field({}, max_length=4, description="Anything.")
    texts: dict[str, str] = {}


def schema() -> dict[str, Any]:
    """Return the structural schema's properties."""
    made = Whole.model_json_schema(by_alias=True)
    properties: dict[str, Any] = crd.structural(made, made["$defs"])["properties"]
    return properties


@pytest.mark.parametrize(("field", "expected"), [
    pytest.param("count", {"type": "integer", "format": "int32", "minimum": 1, "maximum": 5, "description": "How many."}, id="a small number is int32"),
    pytest.param(
        "free", {"type": "object", "maxProperties": 4, "x-kubernetes-preserve-unknown-fields": True, "description": "Anything."}, id="a free map keeps all"
    ),
    pytest.param("texts", {"type": "object", "additionalProperties": {"type": "string"}}, id="a map of texts"),
])
def test_a_field(field: str, expected: dict[str, Any]) -> None:
    assert schema()[field] == expected


def test_a_large_number_is_int64_with_its_default() -> None:
    assert {key: schema()["big"][key] for key in ("format", "default")} == {"format": "int64", "default": 1}


def test_a_parts_default_is_put_together_from_its_fields() -> None:
    assert schema()["part"]["default"] == {"length": "30s"}


def test_a_parts_description_is_the_fields() -> None:
    assert schema()["part"]["description"] == "The part."


def test_an_optional_text_is_a_text_that_may_be_missing() -> None:
    assert schema()["part"]["properties"]["note"] == {"type": "string", "maxLength": 8, "description": "A note."}


def test_a_rule_has_no_line_breaks() -> None:
    rule = rules.Rule("a ||\n        b", "says", "'%s'\n        .format([self])", ".a").schema()
    assert rule == {"rule": "a || b", "message": "says", "messageExpression": "'%s'.format([self])", "fieldPath": ".a"}


def test_constants_become_rows_under_their_heading() -> None:
    source = '# Events.\nA_B: Final = "Started"   # it | began\nOTHER = 3\n'
    assert docs.tables(source) == {"Events": ["| `Started` | it \\| began |"]}
