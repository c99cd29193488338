"""Which vLLM a service runs."""

import pytest

from fairlane.api import spec as specs
from fairlane.core import errors
from fairlane.core.engine import versions


@pytest.mark.parametrize(("image", "stated", "expected"), [
    pytest.param("vllm/vllm-openai:v0.32.0", None, "0.32.0", id="the official tag"),
    pytest.param("vllm/vllm-openai:0.32.0-cu129", None, "0.32.0", id="a tag with a suffix"),
    pytest.param("vllm/vllm-openai:v0.11.0rc2", None, "0.11.0", id="a release candidate counts as its release"),
    pytest.param("vllm/vllm-openai:v0.8.5.post1", None, "0.8.5", id="a post release counts as its release"),
    pytest.param("registry.example:5000/vllm:v0.9.2", None, "0.9.2", id="a registry with a port"),
    pytest.param("vllm/vllm-openai:v0.30.0@sha256:abcd", None, "0.30.0", id="a tag beside a digest"),
    pytest.param("mine/engine:2026-11", "0.18", "0.18.0", id="the stated version, where the tag is no version of vLLM"),
    pytest.param("vllm/vllm-openai:v0.32.0", "0.8.0", "0.8.0", id="the stated version wins over the tag"),
    pytest.param("vllm/vllm-openai:v0.33.4", None, "0.33.4", id="the last supported minor with any patch"),
])
def test_version_is_found(image: str, stated: str | None, expected: str) -> None:
    assert expected == str(versions.resolve(specs.Engine(image=image, version=stated)))


@pytest.mark.parametrize(("image", "stated", "named"), [
    pytest.param("vllm/vllm-openai", None, "names no version", id="no tag"),
    pytest.param("vllm/vllm-openai:latest", None, "names no version", id="a tag that moves"),
    pytest.param("registry.example:5000/vllm", None, "names no version", id="the port of a registry is no tag"),
    pytest.param("vllm@sha256:0123", None, "names no version", id="a digest alone"),
    pytest.param("vllm:v0.7.3", None, "0.7.3", id="too old"),
    pytest.param("vllm:v0.34.0", None, "0.34.0", id="too new"),
    pytest.param("vllm:v1.0.0", None, "1.0.0", id="another major"),
    pytest.param("vllm:v0.32.0", "0.8.1.2", "'0.8.1.2'", id="a stated version that is none"),
    pytest.param("vllm:20260101", None, "names no version", id="a date"),
])
def test_version_is_refused_naming_the_field(image: str, stated: str | None, named: str) -> None:
    with pytest.raises(errors.Refused) as refused:
        versions.resolve(specs.Engine(image=image, version=stated))
    assert refused.value.field == "spec.engine.version"
    assert named in refused.value.message
