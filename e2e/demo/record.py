"""What a run of the demo leaves behind, as plain values: the report is made of these and of nothing else. Times in seconds since the run began."""
from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Sample:
    """One look at one lane. The p99s are of the users' own clocks, over the last 90 s."""

    at: float
    lane: str
    phase: str
    weight: int
    verdict: str
    stable: str
    canary: str
    stable_p99: float | None      # seconds to the first token
    canary_p99: float | None
    message: str = ""


@dataclasses.dataclass(frozen=True)
class Moment:
    """Something that happened: `kind` is act (of the demo), event (of the operator) or failure (of a user's request)."""

    at: float
    kind: str
    text: str


@dataclasses.dataclass(frozen=True)
class Claim:
    """One thing that the demo promises to show, and what was seen."""

    name: str
    holds: bool
    seen: str


@dataclasses.dataclass(frozen=True)
class Trial:
    """One ended rollout: the record in the service's history, and what the users' side counted."""

    title: str
    record: Mapping[str, Any]
    began: float
    ended: float
    canary_answers: int
    failures: int


@dataclasses.dataclass
class Run:
    """Everything seen so far."""

    began: float                  # since the epoch
    samples: list[Sample] = dataclasses.field(default_factory=list)
    moments: list[Moment] = dataclasses.field(default_factory=list)
    claims: list[Claim] = dataclasses.field(default_factory=list)
    trials: list[Trial] = dataclasses.field(default_factory=list)
    answers: dict[str, int] = dataclasses.field(default_factory=dict)   # users' requests by what they were
    failures: list[str] = dataclasses.field(default_factory=list)
    seconds: float = 0.0

    @property
    def started(self) -> str:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.began))

    @property
    def succeeded(self) -> bool:
        return bool(self.claims) and all(claim.holds for claim in self.claims)

    def values(self) -> dict[str, Any]:
        """As JSON."""
        return dataclasses.asdict(self)
