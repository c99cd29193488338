"""Everything one pass wants done, as one frozen value. The shell carries it out in the order of the fields."""

import dataclasses
from typing import Any

from ..api import status as statuses


@dataclasses.dataclass(frozen=True)
class Delete:
    """One object to delete, its dependents in the background. A pod that still loads ends at once by its preStop (objects/engine.py)."""

    api_version: str
    kind: str
    name: str


@dataclasses.dataclass(frozen=True)
class Event:
    """One Kubernetes Event, on a transition only."""

    type: str          # Normal | Warning
    reason: str
    message: str


@dataclasses.dataclass(frozen=True)
class Plan:
    """What follows from what was seen. `apply` holds whole objects for server-side apply, in order; the shell skips those whose hash is unchanged."""

    apply: tuple[dict[str, Any], ...]
    delete: tuple[Delete, ...]
    status: statuses.LLMServiceStatus
    events: tuple[Event, ...]
    renew_heartbeat: bool
    wake_after: float          # seconds until the next look without an event
    attempt: tuple[dict[str, Any], ...] = ()   # objects to create that may be refused: they come last, and nothing else hangs on them
