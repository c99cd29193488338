"""One lane at one moment: everything its rollout is decided on."""

import dataclasses
import datetime
from collections.abc import Callable

from ...api import spec as specs
from ...api import status as statuses
from .. import observed, planned
from .. import revisions as storing
from ..engine.memory.answer import Preflight
from ..judge import types as judging
from . import agents

Judge = Callable[[judging.Evidence | judging.Unavailable, judging.Trial], judging.Verdict]


@dataclasses.dataclass(frozen=True)
class View:
    """A lane of a spec that can be followed, with what runs of it."""

    spec: specs.Lane
    rollout: specs.Rollout
    now: datetime.datetime
    status: statuses.LaneStatus
    rendered: storing.Rendered
    revisions: tuple[storing.Revision, ...]
    deployments: tuple[observed.EngineDeployment, ...]
    pods: tuple[observed.Pod, ...]
    agents: agents.Agents
    evidence: judging.Evidence | judging.Unavailable | None
    judge: Judge
    history: tuple[statuses.RolloutRecord, ...] = ()
    waits_for: str = ""                      # an earlier lane that waits for a GPU
    fit: Preflight | None = None             # of the desired revision's memory; None: the preflight is off, or the model's files are being read
    reading: str = ""                        # what reads the model's files, while a start waits for it
    rate: float | None = None                # requests/s of the lane in the last hour; None: not known

    def of(self, revision: str) -> tuple[observed.Pod, ...]:
        """The revision's pods that are neither going nor gone: an evicted pod is replaced and tells nothing of its engine."""
        return tuple(pod for pod in self.pods if pod.revision == revision and not pod.terminating and pod.phase not in ("Failed", "Succeeded"))

    def going(self, revision: str) -> int:
        """How many of the revision's pods are terminating."""
        return sum(pod.revision == revision and pod.terminating for pod in self.pods)

    def ready(self, revision: str) -> int:
        """How many of the revision's pods are ready."""
        return sum(pod.ready for pod in self.of(revision)) if revision else 0

    def replicas(self, revision: str) -> int | None:
        """The replicas of the revision's Deployment; None where there is none."""
        return next((item.replicas for item in self.deployments if item.revision == revision), None)

    def stored(self, revision: str) -> storing.Revision | None:
        """The revision as it was stored."""
        return next((item for item in self.revisions if item.id == revision), None)

    def usable(self, revision: str) -> int:
        """How many of the revision's ready pods every router may use; without a router pod, all that are ready."""
        ready = self.ready(revision)
        return min(ready, self.agents.endpoints(self.spec.name, revision)) if self.agents.counted else ready

    @property
    def used(self) -> frozenset[str]:
        """The revisions that took part in an ended rollout of the lane."""
        return frozenset(name for record in self.history if record.lane == self.spec.name for name in (record.stable, record.canary))

    @property
    def stable_hash(self) -> str:
        """The hash of the stable revision's inputs."""
        return hash_of(self.status.stable)

    @property
    def differs(self) -> bool:
        """Whether the spec asks for another revision than the stable."""
        return self.rendered.hash != self.stable_hash

    @property
    def rejected(self) -> bool:
        """Whether the spec asks for a revision that failed before."""
        return self.rendered.hash in self.status.rejected


@dataclasses.dataclass(frozen=True)
class Move:
    """What one pass makes of a lane."""

    status: statuses.LaneStatus
    events: tuple[planned.Event, ...] = ()
    record: statuses.RolloutRecord | None = None
    created: storing.Revision | None = None


def reference(status: statuses.LaneStatus) -> str:
    """Return the revision that the canary is compared with."""
    return status.baseline or status.stable


def hash_of(revision: str) -> str:
    """Return the hash in a revision's id; a hash without ordinal is its own."""
    return revision.partition("-")[0]


def changed(status: statuses.LaneStatus, **fields: object) -> statuses.LaneStatus:
    """Return the lane's status with some fields replaced."""
    return status.model_copy(update=fields)


def normal(reason: str, message: str) -> planned.Event:
    """An event about something that went as it should."""
    return planned.Event("Normal", reason, clipped(message))


def warning(reason: str, message: str) -> planned.Event:
    """An event that someone should read."""
    return planned.Event("Warning", reason, clipped(message))


def clipped(message: str, limit: int = 1000) -> str:
    """Return the message, cut where it is longer than an Event or a status field takes."""
    return message if len(message) <= limit else f"{message[: limit - 1]}…"


def with_status(lane: View, status: statuses.LaneStatus) -> View:
    """Return the lane as it is after its status has changed within the pass."""
    return dataclasses.replace(lane, status=status)
