"""What a judge did in a trial."""
from __future__ import annotations

import dataclasses
import datetime


@dataclasses.dataclass(frozen=True)
class Outcome:
    """When it took the canary back, if it did, and its own words."""

    at: float | None          # seconds since the epoch; None: it did not
    looks: int                # at the metrics; of these
    failed: int               # found the canary worse
    said: str


def instant(text: str) -> float:
    """Seconds since the epoch of a Kubernetes time."""
    return datetime.datetime.fromisoformat(text).timestamp()
