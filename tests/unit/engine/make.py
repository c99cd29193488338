"""Specs for tests: one lane, and only what a test says differs from the plain case."""

from typing import Any

from fairlane.api import spec as specs
from fairlane.core import revisions
from fairlane.core.engine import effective, versions
from fairlane.core.engine import render as rendering


def service(lane: dict[str, Any] | None = None, engine: dict[str, Any] | None = None, model: dict[str, Any] | None = None) -> specs.LLMServiceSpec:
    """A service with one Interactive lane named chat on vLLM 0.32.0."""
    return specs.LLMServiceSpec.model_validate({
        "model": {"uri": "hf://Qwen/Qwen2.5-7B-Instruct"} | (model or {}),
        "engine": {"image": "vllm/vllm-openai:v0.32.0"} | (engine or {}),
        "lanes": [{"name": "chat", "profile": "Interactive", "replicas": 2} | (lane or {})],
        "router": {"defaultLane": "chat"},
    })


def rendered(spec: specs.LLMServiceSpec, name: str = "assistant") -> revisions.Rendered:
    """The first lane's revision."""
    return rendering.render(name, spec, spec.lanes[0])


def settings(spec: specs.LLMServiceSpec) -> effective.Settings:
    """The first lane's effective flags."""
    return effective.settings(spec, spec.lanes[0], versions.resolve(spec.engine))


def container(revision: revisions.Rendered) -> dict[str, Any]:
    """The engine's container."""
    found: dict[str, Any] = next(container for container in revision.template["spec"]["containers"] if container["name"] == "engine")
    return found


def words_after(command: list[str], flag: str) -> list[str]:
    """The flag's values in a command line; a missing flag is an error."""
    tail = command[command.index(f"--{flag}") + 1 :]
    end = next((index for index, word in enumerate(tail) if word.startswith("--")), len(tail))
    return tail[:end]
