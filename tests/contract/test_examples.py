"""Every example is taken by a real API server without a word, by the models, and by the engine room."""

import pathlib
from typing import Any

import pytest
import yaml

from fairlane.api import generated, spec
from fairlane.core.engine import render

EXAMPLES = sorted((generated.repository() / "examples").glob("*.yaml"))
each = pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in EXAMPLES])


def services(path: pathlib.Path) -> list[dict[str, Any]]:
    """Return the LLMServices of a file."""
    return [document for document in yaml.safe_load_all(path.read_text()) if document["kind"] == "LLMService"]


def test_the_examples_that_the_docs_name_exist() -> None:
    named = {"minimal", "chat-and-documents", "three-lanes", "hub-token", "pvc", "tls"}
    assert named - {path.stem for path in EXAMPLES} == set()


@each
def test_the_api_server_takes_it(apiserver: Any, path: pathlib.Path) -> None:
    applied = apiserver.kubectl("apply", "--dry-run=server", "--namespace=default", "-f", str(path))
    assert (applied.returncode, applied.stderr) == (0, "")


@each
def test_every_lane_of_it_renders(path: pathlib.Path) -> None:
    for service in services(path):
        parsed = spec.LLMServiceSpec.model_validate(service["spec"])
        rendered = [render.render(service["metadata"]["name"], parsed, lane).lane for lane in parsed.lanes]
        assert rendered == [lane.name for lane in parsed.lanes]
