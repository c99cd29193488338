"""The named sets of default flags: data/profiles.yaml."""

import dataclasses
import functools
from collections.abc import Mapping
from importlib import resources
from typing import Any

import yaml

from ...api import spec as specs


@dataclasses.dataclass(frozen=True)
class Profile:
    """One profile. `drain_seconds` is how long vLLM may finish what runs when its pod ends."""

    name: str
    drain_seconds: int
    flags: Mapping[str, Any]


@functools.cache
def _all() -> Mapping[str, Profile]:
    data = yaml.safe_load(resources.files(__package__).joinpath("data/profiles.yaml").read_text())
    return {name: Profile(name, entry["drainSeconds"], entry["flags"]) for name, entry in data.items()}


def get(profile: specs.Profile) -> Profile:
    """Return the profile's values."""
    return _all()[profile.value]
