"""What the API server would refuse is refused without one: the tables that tests/contract puts before a real API server."""

from typing import Any

import pytest
from tests.contract import specs_table

from fairlane.api import admission

# Where pydantic finds it, the words after the field and the value are its own
OWN_WORDS = {
    "no lanes": ["spec.lanes", "at least 1 item"],
    "an unknown profile": ["spec.lanes[0].profile", '"Fast"', "'Interactive'"],
    "no replicas": ["spec.lanes[0].replicas", "greater than or equal to 1"],
    "replicas as text": ["spec.lanes[0].replicas", "valid integer"],
}


@pytest.mark.parametrize(("change", "words"), [pytest.param(change, OWN_WORDS.get(name, words), id=name) for name, change, words in specs_table.BAD])
def test_is_refused_with_the_field_and_the_remedy(change: dict[str, Any], words: list[str]) -> None:
    said = "; ".join(admission.problems(specs_table.changed(**change)))
    assert [word for word in words if word.lower() not in said.lower()] == [], said


@pytest.mark.parametrize("change", [pytest.param(change, id=name) for name, change in specs_table.GOOD_CHANGES])
def test_is_accepted(change: dict[str, Any]) -> None:
    assert admission.problems(specs_table.changed(**change)) == []


@pytest.mark.parametrize(("document", "expected"), [
    pytest.param({}, ["metadata.name: is required", "apiVersion: None is not served; write fairlane.dev/v1alpha1", "spec: is required"], id="nothing"),
    pytest.param(specs_table.GOOD | {"metadata": "assistant"}, ["metadata.name: is required"], id="a name without a field"),
    pytest.param(specs_table.GOOD | {"spec": None}, ["spec: null: Input should be an object"], id="an empty spec"),
    pytest.param(specs_table.GOOD | {"apiVersion": "fairlane.dev/v1"}, ["apiVersion: 'fairlane.dev/v1' is not served; write fairlane.dev/v1alpha1"],
                 id="a version that is not served"),
    pytest.param(specs_table.changed(spec__lanes__0__replicas="2"), ['spec.lanes[0].replicas: "2": Input should be a valid integer'],
                 id="a number written as text"),
])
def test_what_is_no_service_is_named(document: dict[str, Any], expected: list[str]) -> None:
    assert expected == admission.problems(document)


def test_nulls_count_as_left_out() -> None:
    """As in the API server, which prunes them."""
    assert admission.problems(specs_table.changed(spec__lanes__0__admission={"maxInFlight": None})) == []


def test_no_more_than_ten_problems_are_told() -> None:
    lanes = [{"name": f"lane-{number}"} for number in range(8)]
    told = admission.problems(specs_table.changed(spec__lanes=lanes))
    assert (len(told), told[-1]) == (11, "and 6 more")
