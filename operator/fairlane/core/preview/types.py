"""What a preview says, as values: the commands print them, machines read them."""

import dataclasses
import enum
from typing import Any

from ..engine.memory.answer import Preflight


class Change(enum.StrEnum):
    """What becomes of a lane."""

    CREATE = "Create"          # its first revision, without a canary: there is nothing to compare it with
    CANARY = "Canary"          # another revision, which is tried first
    CONTINUE = "Continue"      # the revision that is on trial already
    REVERT = "Revert"          # back to the stable: the running trial ends
    UNFIT = "Unfit"            # a revision that does not fit the GPU: it is not started (rollout.preflight: Enforce)
    BLOCKED = "Blocked"        # a revision that was rolled back before: only `fairlane retry` tries it again
    NONE = "None"              # the same engine pods
    REMOVE = "Remove"          # the lane leaves: its route first, its pods when every router has let go of them


@dataclasses.dataclass(frozen=True)
class Flag:
    """One effective flag. `origin` is who set it, `field` where."""

    name: str
    value: Any
    origin: str
    field: str


@dataclasses.dataclass(frozen=True)
class Difference:
    """One field of the spec that changes; None is unset."""

    field: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.field}: {_text(self.before)} -> {_text(self.after)}"


@dataclasses.dataclass(frozen=True)
class GpuNeed:
    """GPUs that a lane's pods ask for while something lasts: `gpus` in all, `more` beyond what it has when nothing is on trial."""

    during: str
    gpus: int
    more: int


@dataclasses.dataclass(frozen=True)
class ObjectChange:
    """One Kubernetes object: what is done to it. Verbs: create, update, delete."""

    verb: str
    kind: str
    name: str


@dataclasses.dataclass(frozen=True)
class Lane:
    """One lane. `refused` is why it cannot be; everything but the name is empty then."""

    name: str
    refused: str = ""
    change: Change = Change.NONE
    about: str = ""                                # what happens, in a sentence
    revision: str = ""                             # hash of what the spec asks for
    command: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    canaried: tuple[Difference, ...] = ()          # fields that make another revision
    at_once: tuple[Difference, ...] = ()           # fields that apply without a canary
    gpus: tuple[GpuNeed, ...] = ()
    memory: Preflight | None = None                # None: rollout.preflight is Off
    warnings: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Preview:
    """One service. `compared` says whether it was compared with one that runs."""

    name: str
    namespace: str
    compared: bool
    refused: tuple[str, ...] = ()                  # why the whole cannot be
    lanes: tuple[Lane, ...] = ()
    at_once: tuple[Difference, ...] = ()           # fields outside the lanes
    objects: tuple[ObjectChange, ...] = ()

    @property
    def would_be_refused(self) -> bool:
        """Whether the API server refuses it, or the operator says Stalled."""
        return bool(self.refused) or any(lane.refused or lane.change is Change.UNFIT for lane in self.lanes)

    @property
    def pending(self) -> bool:
        """Whether anything would change."""
        return bool(self.at_once or self.objects) or any(lane.change is not Change.NONE or lane.at_once for lane in self.lanes)


def _text(value: Any) -> str:
    return "unset" if value is None else str(value)
