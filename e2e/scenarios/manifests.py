"""The services that scenarios apply: short steps, small bounds, the stand-in engine unless told otherwise."""
from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

STANDIN_ENV = {"STANDIN_LOAD_SECONDS": "1"}


def lane(name: str, **fields: Any) -> dict[str, Any]:
    """A lane of one replica; fields as the object has them (camelCase)."""
    return {"name": name, "profile": "Interactive", "replicas": 1, **fields}


def rollout(*steps: tuple[int, str], **fields: Any) -> dict[str, Any]:
    """Steps of seconds instead of the half hours of the defaults."""
    return {
        "steps": [{"weight": weight, "duration": duration} for weight, duration in steps or ((20, "15s"), (50, "10s"))],
        "analysis": {"interval": "2s", "minRequests": 5},
        "warmup": {"requests": 5, "duration": "5s"},
        "failSafeAfter": "15s",
        **fields,
    }


def service(image: str, *lanes: Mapping[str, Any], name: str = "assistant", env: Mapping[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """An LLMService on the stand-in engine."""
    lanes = lanes or (lane("chat"),)
    return {
        "apiVersion": "fairlane.dev/v1alpha1",
        "kind": "LLMService",
        "metadata": {"name": name},
        "spec": {
            "model": {"uri": "file:///models/standin", "name": "default"},
            "engine": {"image": image, "version": "0.32.0", "pod": pod(env or {})},
            "lanes": [copy.deepcopy(dict(each)) for each in lanes],
            "router": {"replicas": 1, "defaultLane": lanes[-1]["name"]},
            "rollout": rollout(),
            **spec,
        },
    }


def pod(env: Mapping[str, str], **container: Any) -> dict[str, Any]:
    """The pod fragment of a stand-in engine: small requests, its environment."""
    variables = [{"name": key, "value": value} for key, value in (STANDIN_ENV | dict(env)).items()]
    return {"spec": {"containers": [{"name": "engine", "env": variables, "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}}, **container}]}}
