"""The operator's pass against the simulated cluster, cut off after any write, with what must never happen checked after each."""

import dataclasses
import datetime
from collections.abc import Callable
from typing import Any

from tests.unit.plan import cluster as clusters

from fairlane.api import base
from fairlane.api import spec as specs
from fairlane.api import status as statuses
from fairlane.core import clock, names, observed, plan, planned
from fairlane.core import traffic as measured
from fairlane.core.engine import fitness, render
from fairlane.core.judge import types as judging
from fairlane.core.rollout import fitting, view
from fairlane.core.routing import document

PHASE = statuses.Phase


def spec(*lanes: dict[str, Any], **rollout: Any) -> specs.LLMServiceSpec:
    """A service whose rollouts take seconds; each lane is named, and only what it says differs from the plain case."""
    plain = {"profile": "Interactive", "replicas": 2}
    steps = [{"weight": 10, "duration": "60s"}, {"weight": 50, "duration": "30s"}]
    return specs.LLMServiceSpec.model_validate({
        "model": {"uri": "hf://Qwen/Qwen2.5-7B-Instruct"},
        "engine": {"image": "vllm/vllm-openai:v0.32.0"},
        "lanes": [plain | lane for lane in lanes],
        "router": {"defaultLane": lanes[0]["name"]},
        "rollout": {"steps": steps, "loadDeadline": "5m", "warmup": {"requests": 20, "duration": "20s"}} | rollout,
        "metrics": {"prometheus": {"url": "http://prometheus"}},
    })


def judge(evidence: judging.Evidence | judging.Unavailable, trial: judging.Trial) -> judging.Verdict:
    """A judge that adds up the canary's errors: all of them mean Fail, one means slow. What it says it also has in its memory."""
    if isinstance(evidence, judging.Unavailable):
        return judging.Verdict(statuses.Outcome.UNAVAILABLE, evidence.reason, evidence.message, state=trial.state)
    before = statuses.EvidenceRecord.model_validate_json(trial.state) if trial.state else None
    sides = [_added(evidence.stable, before.stable if before else None), _added(evidence.canary, before.canary if before else None)]
    since = before.since if before else clock.text(evidence.since)
    record = statuses.EvidenceRecord(since=since, until=clock.text(evidence.until), stable=sides[0], canary=sides[1])
    outcome, reason, said, canary = statuses.Outcome.INSUFFICIENT, "NoHarmSeen", "no harm in {} canary requests", record.canary
    if canary.requests >= 20 and (canary.errors >= canary.requests or (trial.latencies and canary.errors > 0)):
        outcome, reason, said = statuses.Outcome.FAIL, "TailWorse", "{} canary requests are worse"
    return judging.Verdict(outcome, reason, said.format(canary.requests), record, record.model_dump_json(exclude_none=True))


def _added(side: judging.TrackSamples, before: statuses.TrackEvidence | None) -> statuses.TrackEvidence:
    kept = before or statuses.TrackEvidence(revision=side.revision)
    assert kept.revision == side.revision, "the memory is of another revision"
    requests, errors = kept.requests + round(side.requests), kept.errors + round(side.errors)
    return statuses.TrackEvidence(revision=side.revision, requests=requests, errors=errors, replicas=side.replicas)


def until(state: str) -> datetime.datetime | None:
    """Where this judge's next tick begins."""
    return clock.moment(statuses.EvidenceRecord.model_validate_json(state).until) if state else None


@dataclasses.dataclass
class World:
    """A service in a cluster."""

    spec: specs.LLMServiceSpec | None
    cluster: clusters.Cluster = dataclasses.field(default_factory=clusters.Cluster)
    status: statuses.LLMServiceStatus = dataclasses.field(default_factory=statuses.LLMServiceStatus)
    command: observed.Command | None = None
    generation: int = 1
    metrics: bool = True
    events: list[planned.Event] = dataclasses.field(default_factory=list)
    judge: view.Judge = judge
    until_of: Callable[[str], datetime.datetime | None] = until
    traffic: dict[str, measured.Traffic] = dataclasses.field(default_factory=dict)
    model: fitness.Model | None = None               # what the model's files say
    caches: dict[str, dict[str, str]] = dataclasses.field(default_factory=dict)      # what loaded engines say of their KV cache, by hash
    excused: bool = False        # the user asked for what is otherwise never done: replacing in place

    def hash(self, lane: str) -> str:
        """The hash that the spec asks for in a lane."""
        assert self.spec is not None
        return render.render("assistant", self.spec, next(item for item in self.spec.lanes if item.name == lane)).hash

    def change(self, new: specs.LLMServiceSpec | None) -> None:
        """Apply another spec."""
        self.spec, self.generation = new, self.generation + 1

    def say(self, command: str, lane: str, revision: str = "") -> None:
        """Set the command annotation, as the CLI does."""
        self.command = observed.Command(command, lane, revision, f"{command}-{self.cluster.now:%H%M%S}")

    def lane(self, name: str) -> statuses.LaneStatus:
        """A lane's status."""
        return next(lane for lane in self.status.lanes if lane.name == name)

    def observe(self) -> observed.Observed:
        """What a pass sees."""
        seen = self.cluster
        return observed.Observed(
            name="assistant", namespace="ai", uid="u-1", generation=self.generation, now=seen.now,
            spec=self.spec, spec_error="" if self.spec else "spec.lanes: is required",
            status=self.status, command=self.command, revisions=seen.revisions(), deployments=seen.observed_deployments(), pods=seen.observed_pods(),
            router_pods=seen.observed_routers(), router_ready=sum(pod.ready for pod in seen.observed_routers()), routes=seen.routes(),
            children=seen.observed_children(), model_readers=seen.observed_readers(), evidence=self.evidence(),
            loads=seen.loads(), traffic=self.traffic if self.metrics else {}, model=self.model, caches=self._caches(),
        )

    def run_cut(self, rounds: int, cut: int) -> None:
        """Make so many pairs of passes, a second apart: one that is cut off after so many writes, and a whole one."""
        for _ in range(rounds):
            self.cluster.tick(1)
            self.reconcile(cut)
            self.cluster.tick(1)
            self.reconcile()

    def _caches(self) -> dict[str, dict[str, str]]:
        """What the shell brings: the labels of revisions that are wanted and have loaded."""
        wanted = [fitting.unmeasured(lane) for lane in self.status.lanes]
        return {revision: self.caches[view.hash_of(revision)] for revision in wanted if view.hash_of(revision) in self.caches}

    def evidence(self) -> dict[str, judging.Evidence | judging.Unavailable]:
        """What Prometheus says of every canary that has or had weight."""
        return {
            lane.name: self._tick(lane) if self.metrics else judging.Unavailable("PrometheusUnreachable", "connection refused")
            for lane in self.status.lanes if lane.canary and lane.weight
        }

    def _tick(self, lane: statuses.LaneStatus) -> judging.Evidence:
        now = self.cluster.now
        since = self.until_of(lane.judge_state) or now
        sides = self._side(lane.name, lane.baseline or lane.stable, since), self._side(lane.name, lane.canary, since)
        return judging.Evidence(since, now, *sides, judging.Cursor(now))

    def _side(self, lane: str, revision: str, since: datetime.datetime) -> judging.TrackSamples:
        quality, requests = self.cluster.quality(revision), self.cluster.requests(lane, revision, since)
        return judging.TrackSamples(revision, requests, requests if quality.errors else float(quality.slow), replicas=self.cluster.ready(revision))

    def reconcile(self, cut: int | None = None, keep_status: bool = True) -> planned.Plan:
        """One pass, killed after `cut` writes; the status is the last of them."""
        made = plan.plan(self.observe(), self.judge)
        writes = [("apply", thing) for thing in made.apply if self._differs(thing)] + [("delete", item) for item in made.delete]
        for kind, write in writes[:cut]:
            self._write(kind, write)
        if keep_status and (cut is None or cut > len(writes)):
            self.status = made.status
            self.events += made.events
        for thing in made.attempt[: None if cut is None else max(0, cut - len(writes) - 1)]:
            self._write("apply", thing)
        return made

    def run(self, seconds: float, every: float = 2.0) -> None:
        """Let time pass with a pass every so often."""
        for _ in range(round(seconds / every)):
            self.cluster.tick(every)
            self.reconcile()

    def until(self, lane: str, *phases: statuses.Phase, seconds: float = 900.0, every: float = 2.0) -> None:
        """Run until the lane is in one of the phases; fails when it takes too long."""
        for _ in range(round(seconds / every)):
            self.run(every, every)
            if self.lane(lane).phase in phases:
                return
        raise AssertionError(f"{lane} is {self.lane(lane).phase} after {seconds} s: {self.lane(lane).message}")

    def settle(self, seconds: float = 900.0, every: float = 2.0) -> None:
        """Run until nothing moves any more; fails when it takes too long."""
        for _ in range(round(seconds / every)):
            self.run(every, every)
            if self.condition("Reconciling").status == "False":
                self.run(10, 5.0)
                return
        raise AssertionError(f"still moving after {seconds} s: {self.condition('Reconciling').message}")

    def bound(self, lane: str) -> int | None:
        """The longest prompt that the routers let into a lane."""
        stored = self.cluster.routes()
        return next(route.max_prompt_tokens for route in stored.lanes if route.name == lane) if stored else None

    def condition(self, kind: str) -> statuses.Condition:
        """One of the conditions."""
        return next(item for item in self.status.conditions if item.type == kind)

    def _differs(self, thing: dict[str, Any]) -> bool:
        return self.cluster.things.get((thing["kind"], thing["metadata"]["name"])) != thing

    def _write(self, kind: str, write: Any) -> None:
        if kind == "delete":
            self._check_deletion(write)
            self.cluster.delete(write.kind, write.name)
            return
        if document.KEY in write.get("data", {}):
            self._check_routes(document.RouteDocument.model_validate_json(write["data"][document.KEY]))
        if write["kind"] == "Deployment":
            self._check_scale(write)
        self.cluster.apply(write)

    def _check_routes(self, new: document.RouteDocument) -> None:
        rejected = {lane.name: lane.rejected for lane in self.status.lanes}
        for lane in new.lanes:
            weights = [track.weight for track in lane.tracks]
            assert len(weights) <= 3
            assert all(weight >= 0 for weight in weights)
            assert sum(weights) == (100 if weights else 0)
            self._check_baseline(lane)
            self._check_reserve(lane)
            for track in lane.tracks:
                old = self._weight(lane.name, track.revision)
                hash_ = track.revision.partition("-")[0]
                if track.role == "canary" and track.weight > old:
                    assert hash_ not in rejected.get(lane.name, []), f"{track.revision} was rejected and gets {track.weight} %"
                    carried = 100 * self.cluster.ready(track.revision) // max(1, self._replicas(lane.name) - self.excused)
                    assert carried >= track.weight, f"{track.revision} cannot carry {track.weight} %"

    def _check_baseline(self, lane: document.LaneRoute) -> None:
        """A baseline has the canary's share or none, and never gets one that it cannot carry."""
        weights = {track.role: track.weight for track in lane.tracks}
        assert weights.get("baseline", 0) in (0, weights.get("canary", 0))
        for track in lane.tracks:
            if track.role == "baseline" and track.weight > self._weight(lane.name, track.revision):
                assert 100 * self.cluster.ready(track.revision) // self._replicas(lane.name) >= track.weight, f"{track.revision} cannot carry {track.weight} %"

    def _check_reserve(self, lane: document.LaneRoute) -> None:
        """Only the stable's engines stand by, and those in use carry its share."""
        for track in lane.tracks:
            if track.in_use is not None:
                assert track.role == "stable"
                assert track.weight * self._replicas(lane.name) <= 110 * track.in_use, f"{track.weight} % of {lane.name} on {track.in_use} engines"

    def _weight(self, lane: str, revision: str) -> int:
        stored = self.cluster.routes()
        return sum(track.weight for route in stored.lanes if route.name == lane for track in route.tracks if track.revision == revision) if stored else 0

    def _replicas(self, lane: str) -> int:
        return next((item.replicas for item in self.spec.lanes if item.name == lane), 1) if self.spec else self.lane(lane).replicas

    def _check_scale(self, thing: dict[str, Any]) -> None:
        """A stable shrinks only to what carries the weight that every router leaves it."""
        labels = thing["metadata"]["labels"]
        old = self.cluster.things.get(("Deployment", thing["metadata"]["name"]))
        if old is None or labels.get(names.COMPONENT_LABEL) != "engine" or thing["spec"]["replicas"] >= old["spec"]["replicas"] or self.excused:
            return
        lane, revision, left = labels[names.LANE_LABEL], labels[names.REVISION_LABEL], thing["spec"]["replicas"]
        if not self.cluster.ready(revision):
            return
        for router in self.cluster.routers:
            for route in router.serving.lanes if router.serving else ():
                held = sum(track.weight for track in route.tracks if track.revision == revision)
                assert route.name != lane or left * 100 >= held * self._replicas(lane), f"{revision} shrinks to {left} while {router.name} gives it {held} %"

    def _check_deletion(self, item: planned.Delete) -> None:
        """An engine goes only when no router knows it."""
        thing = self.cluster.things[item.kind, item.name]
        labels = thing["metadata"]["labels"]
        if item.kind != "Deployment" or labels[names.COMPONENT_LABEL] != "engine":
            return
        for router in self.cluster.routers:
            routes = [route for route in router.serving.lanes if route.name == labels[names.LANE_LABEL]] if router.serving else []
            known = [track.revision for route in routes for track in route.tracks]
            assert labels[names.REVISION_LABEL] not in known, f"{item.name} is deleted while {router.name} knows it"


def seconds(text: str) -> float:
    """A duration of the spec."""
    return base.seconds(text)


def serving(**rollout: Any) -> World:
    """A service whose one lane serves."""
    made = World(spec({"name": "chat"}, **rollout))
    made.run(60)
    assert made.lane("chat").ready_replicas == 2
    return made


def changed(made: World, quality: clusters.Quality | None = None, **rollout: Any) -> str:
    """Change what makes a pod different; return the hash that is wanted now."""
    made.change(spec({"name": "chat", "scheduler": {"maxNumSeqs": 24}}, **rollout))
    wanted = made.hash("chat")
    made.cluster.qualities[wanted] = quality or clusters.Quality()
    return wanted
