"""A revision: one rendered engine configuration of a lane, immutable, stored as a ControllerRevision."""

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Revision:
    """One stored revision.

    `id` is "<hash>-<ordinal>", `hash` that of `inputs` (what makes a pod different: spec fields and rendered flags, without engine defaults and replicas).
    `template` is the pod template as rendered on the day it was made; it is never rendered again.
    `gpus` is how many accelerators one pod asks for.
    """

    lane: str
    hash: str
    ordinal: int
    inputs: dict[str, Any]
    template: dict[str, Any]
    gpus: int = 1

    @property
    def id(self) -> str:
        """The name people and labels use."""
        return f"{self.hash}-{self.ordinal}"


@dataclasses.dataclass(frozen=True)
class Rendered:
    """What the engine room makes of one lane's spec: inputs to hash, template to store; or the reason why it cannot."""

    lane: str
    inputs: dict[str, Any]
    template: dict[str, Any]
    gpus: int
    hash: str
