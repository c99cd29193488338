"""Where to start for a profile on a GPU with a model: data/presets.yaml. Suggestions for people; nothing is applied."""

import dataclasses
import functools
from collections.abc import Mapping
from importlib import resources
from typing import Any

import yaml

from ...api import spec as specs


@dataclasses.dataclass(frozen=True)
class Preset:
    """Flags for one profile, class of GPU and size of model, each with its reason."""

    profile: specs.Profile
    gpu: str
    model: str
    flags: Mapping[str, Any]
    why: Mapping[str, str]


@functools.cache
def _data() -> Mapping[str, Any]:
    data: dict[str, Any] = yaml.safe_load(resources.files(__package__).joinpath("data/presets.yaml").read_text())
    return data


@functools.cache
def presets() -> tuple[Preset, ...]:
    """Return all of them."""
    return tuple(
        Preset(specs.Profile(group["profile"]), row["gpu"], row["model"], row["flags"], {name: group["why"][name] for name in row["flags"]})
        for group in _data()["presets"] for row in group["values"]
    )


def gpu_class(gib: float) -> str:
    """Return the class of a GPU with this usable memory."""
    return _class("gpus", gib)


def model_class(billions: float) -> str:
    """Return the class of a model with so many billions of parameters on one GPU."""
    return _class("models", billions)


def gpu_classes() -> Mapping[str, str]:
    """Return the classes of GPUs, with examples of each."""
    return {row["name"]: row["examples"] for row in _data()["gpus"]}


def _class(kind: str, size: float) -> str:
    """The last class that begins at or below the size."""
    found: str = next(row["name"] for row in reversed(_data()[kind]) if size >= row["atLeast"])
    return found
