"""One lane, seen: a stable that serves and a canary, and only what a test says differs from the plain case."""

import dataclasses
import datetime
from typing import Any

from fairlane.api import spec as specs
from fairlane.api import status as statuses
from fairlane.core import clock, observed, revisions
from fairlane.core.judge import types as judging
from fairlane.core.rollout import agents, view
from fairlane.core.routing import document

NOW = datetime.datetime(2026, 11, 29, 12, 0, tzinfo=datetime.UTC)
STABLE, CANARY = "aaaaaaaa-1", "bbbbbbbb-1"


def ago(seconds: float) -> str:
    """An instant before now, as status holds it."""
    return clock.text(NOW - datetime.timedelta(seconds=seconds))


def pod(revision: str = CANARY, **fields: Any) -> observed.Pod:
    """A pod that was scheduled two minutes ago and is ready."""
    made = NOW - datetime.timedelta(seconds=120)
    plain = observed.Pod(name=f"{revision}-x", lane="chat", revision=revision, created=made, phase="Running", ready=True, scheduled_at=made)
    return dataclasses.replace(plain, **fields)


def tick(stable: str = STABLE, canary: str = CANARY) -> judging.Evidence:
    """Numbers that have just come."""
    return judging.Evidence(NOW, NOW, judging.TrackSamples(stable), judging.TrackSamples(canary), judging.Cursor(NOW))


def record(stable: int, canary: int, until: float = 0, since: float = 60, **numbers: Any) -> statuses.EvidenceRecord:
    """What the judge says it has seen until some seconds ago: requests of two stable replicas and of one canary."""
    sides = statuses.TrackEvidence(revision=STABLE, requests=stable, replicas=2), statuses.TrackEvidence(revision=CANARY, requests=canary, replicas=1)
    return statuses.EvidenceRecord(since=ago(since), until=ago(until), stable=sides[0], canary=sides[1], **numbers)


def lane(status: dict[str, Any] | None = None, *, replicas: int = 2, weight: int = 10, rollout: dict[str, Any] | None = None, **fields: Any) -> view.View:
    """A lane whose canary has weight and is analyzed, with every router up to date."""
    known = {"phase": statuses.Phase.ANALYZING, "stable": STABLE, "canary": CANARY, "weight": weight, "phase_since": ago(10), "step_since": ago(10)}
    split = (document.Track(role="stable", revision=STABLE, weight=100 - weight), document.Track(role="canary", revision=CANARY, weight=weight))
    route = document.LaneRoute(name="chat", tracks=split)
    routes = document.RouteDocument(namespace="ai", service="assistant", model="m", default_lane="chat", lanes=(route,))
    state = document.RouterState(version=routes.version, endpoints={f"chat/{STABLE}": replicas, f"chat/{CANARY}": replicas})
    plain = view.View(
        spec=specs.Lane(name="chat", profile=specs.Profile.INTERACTIVE, replicas=replicas),
        rollout=specs.Rollout.model_validate(rollout or {}),
        now=NOW,
        status=statuses.LaneStatus(name="chat", **(known | (status or {}))),
        rendered=revisions.Rendered(lane="chat", inputs={}, template={}, gpus=1, hash="bbbbbbbb"),
        revisions=(),
        deployments=(observed.EngineDeployment("chat", STABLE, replicas), observed.EngineDeployment("chat", CANARY, 1)),
        pods=(*(pod(STABLE, name=f"s-{number}") for number in range(replicas)), pod()),
        agents=agents.Agents(routes, (observed.RouterPod("router-0", ready=True, state=state),)),
        evidence=None,
        judge=lambda _evidence, _trial: judging.Verdict(statuses.Outcome.INSUFFICIENT, "NoHarmSeen", "no harm"),
    )
    return dataclasses.replace(plain, **fields)
