"""The whole decision path: simulated requests, scraped into a Prometheus, asked by the shell's client, judged, planned, and written as the JSON of a status."""

import copy
import dataclasses
import datetime
import json
import random
from collections.abc import Mapping
from typing import Any

from tests.replay import meter as meters
from tests.replay import series
from tests.replay import store as stores
from tests.unit.plan import cluster as clusters

from fairlane.api import spec as specs
from fairlane.api import status as statuses
from fairlane.core import observed, plan, planned
from fairlane.core.engine import render
from fairlane.shell import prometheus

PHASE = statuses.Phase
NAME, NAMESPACE, LANE = "assistant", "ai", "chat"
SCRAPED_EVERY = 2       # seconds
INTERVAL = 5            # seconds between two passes


ROLLOUT: Mapping[str, Any] = {
    "steps": [{"weight": 50, "duration": "60s"}], "analysis": {"interval": f"{INTERVAL}s", "minRequests": 20},
    "warmup": {"requests": 20, "duration": "10s"}, "failSafeAfter": "60s",
}


def spec(url: str, max_num_seqs: int, rollout: Mapping[str, Any] = ROLLOUT, **lane: Any) -> specs.LLMServiceSpec:
    """A service of one lane of two replicas, whose rollouts take a minute or two."""
    return specs.LLMServiceSpec.model_validate({
        "model": {"uri": "hf://Qwen/Qwen2.5-7B-Instruct"},
        "engine": {"image": "vllm/vllm-openai:v0.32.0"},
        "lanes": [{"name": LANE, "profile": "Interactive", "replicas": 2, "scheduler": {"maxNumSeqs": max_num_seqs}, **lane}],
        "router": {"defaultLane": LANE},
        "rollout": rollout,
        "metrics": {"prometheus": {"url": url}},
    })


@dataclasses.dataclass
class Cluster(clusters.Cluster):
    """The simulated cluster with names of pods as ReplicaSets make them, and when its router pods were made."""

    made: dict[str, datetime.datetime] = dataclasses.field(default_factory=dict)

    def observed_pods(self) -> tuple[observed.Pod, ...]:
        return tuple(dataclasses.replace(pod, name=pod_name(pod.name)) for pod in super().observed_pods())

    def observed_routers(self) -> tuple[observed.RouterPod, ...]:
        return tuple(dataclasses.replace(pod, created=self.made.setdefault(pod.name, self.now)) for pod in super().observed_routers())

    def add_router(self) -> None:
        """One router pod more."""
        self.routers.append(clusters.Router(f"{NAME}-router-6b-{len(self.made)}"))


def pod_name(simulated: str) -> str:
    """An engine pod's name."""
    return f"{simulated}-x"


@dataclasses.dataclass
class World:
    """A service in a cluster, its users, its metrics store, and an operator that keeps nothing between two passes."""

    store: stores.Store
    spec: specs.LLMServiceSpec
    database: series.Database = dataclasses.field(default_factory=series.Database)
    targets: set[series.Key] = dataclasses.field(default_factory=set)     # of the last scrape
    meter: meters.Meter = dataclasses.field(default_factory=lambda: meters.Meter({}))
    cluster: Cluster = dataclasses.field(default_factory=lambda: Cluster(rate=0.0, routers=[clusters.Router(f"{NAME}-router-6b-a")]))
    rate: float = 20.0                 # requests per second
    status: str = "{}"                 # JSON, as the API server keeps it
    generation: int = 1
    command: observed.Command | None = None
    events: list[planned.Event] = dataclasses.field(default_factory=list)
    sent: int = 0                      # requests
    deadline: float = 10.0             # seconds for the metrics store
    unscraped: str = ""                # pods with this in their names are not scraped

    @property
    def lane(self) -> statuses.LaneStatus:
        """The lane's status."""
        return self.read().lanes[0]

    def read(self) -> statuses.LLMServiceStatus:
        """The whole status."""
        return statuses.LLMServiceStatus.model_validate(json.loads(self.status))

    def condition(self, kind: str) -> statuses.Condition:
        """One of the conditions."""
        return next(item for item in self.read().conditions if item.type == kind)

    def change(self, new: specs.LLMServiceSpec) -> str:
        """Ask for another revision; return its hash."""
        self.spec, self.generation = new, self.generation + 1
        return self.hash

    def harm(self, behaviour: meters.Behaviour, **rollout: Any) -> None:
        """Ask for another revision, which behaves so."""
        wanted = self.change(spec(self.store.url, 24, {**ROLLOUT, **rollout}))
        self.meter.behaviours = {**self.meter.behaviours, wanted: behaviour}

    @property
    def hash(self) -> str:
        """The hash of the revision that the spec asks for."""
        return render.render(NAME, self.spec, self.spec.lanes[0]).hash

    def observe(self) -> observed.Observed:
        """What a pass sees, but for the evidence."""
        seen = self.cluster
        routers = seen.observed_routers()
        return observed.Observed(
            name=NAME, namespace=NAMESPACE, uid="u-1", generation=self.generation, now=seen.now, spec=self.spec, status=self.read(), command=self.command,
            revisions=seen.revisions(), deployments=seen.observed_deployments(), pods=seen.observed_pods(), router_pods=routers,
            router_ready=sum(pod.ready for pod in routers), routes=seen.routes(), children=seen.observed_children(),
        )

    async def reconcile(self, *, killed: bool = False) -> planned.Plan:
        """One pass by an operator that has just started; `killed` before it could write the status."""
        seen = self.observe()
        self.store.database, self.store.now = self.database, self.cluster.now.timestamp()
        gathered = await prometheus.gather(seen, self.store.client, self.deadline)
        made = plan.plan(dataclasses.replace(seen, evidence=gathered.evidence, rates=gathered.rates))
        for thing in made.apply:
            self.cluster.apply(thing)
        for item in made.delete:
            self.cluster.delete(item.kind, item.name)
        if not killed:
            self.status = json.dumps(made.status.dump())
            self.events += made.events
        return made

    def twin(self) -> "World":
        """The same world once more; both can go on, one after the other."""
        return dataclasses.replace(
            self, database=self.database.copy(), targets=set(self.targets), meter=copy.deepcopy(self.meter), cluster=copy.deepcopy(self.cluster),
            events=list(self.events),
        )

    def pass_time(self, seconds: int = INTERVAL) -> None:
        """Let users ask and Prometheus scrape."""
        for _ in range(seconds):
            self.cluster.tick()
            self.store.now = self.cluster.now.timestamp()
            self._ask()
            if round(self.store.now) % SCRAPED_EVERY == 0:
                self._scrape()

    async def run(self, seconds: int, every: int = INTERVAL) -> None:
        """Let time pass, with a pass every so often."""
        for _ in range(seconds // every):
            self.pass_time(every)
            await self.reconcile()

    async def until(self, *phases: statuses.Phase, seconds: int = 600) -> None:
        """Run until the lane is in one of the phases; fails when it takes too long."""
        for _ in range(seconds // INTERVAL):
            await self.run(INTERVAL)
            if self.lane.phase in phases:
                return
        raise AssertionError(f"{self.lane.phase} after {seconds} s: {self.lane.message}")

    async def ended(self, seconds: int = 900) -> statuses.RolloutRecord:
        """Run until the rollout is over; return its record."""
        before = len(self.read().history)
        for _ in range(seconds // INTERVAL):
            await self.run(INTERVAL)
            if len(self.read().history) > before:
                return self.read().history[0]
        raise AssertionError(f"{self.lane.phase} after {seconds} s: {self.lane.message}")

    def _ask(self) -> None:
        """A second's requests, each to a ready pod of a track by its weight."""
        for _ in range(_count(random.Random(round(self.store.now)), self.rate)):
            self.sent += 1
            chance = random.Random(self.sent)
            router = chance.choice(self.cluster.routers)
            for route in router.serving.lanes if router.serving else ():
                ready = {track.revision: self._pods(track.revision)[:track.in_use] for track in route.tracks}
                alive = [track for track in route.tracks if ready[track.revision] and track.weight]
                if alive:
                    track = chance.choices(alive, [track.weight for track in alive])[0]
                    self.meter.request(self.store.now, chance, router.name, (route.name, track.revision), chance.choice(ready[track.revision]))

    def _pods(self, revision: str) -> list[str]:
        return [pod_name(pod.name) for pod in self.cluster.pods if pod.revision == revision and pod.going is None and self.cluster.is_ready(pod)]

    def _scrape(self) -> None:
        """Every target that answers, by the store's own clock; those that went are stale."""
        if self.store.fault is stores.Fault.STOPPED:
            return
        engines = [pod for revision in {pod.revision for pod in self.cluster.pods} for pod in self._pods(revision)]
        pods = (*engines, *(router.name for router in self.cluster.routers if router.name in self.meter.routers))
        targets = {target(pod) for pod in pods if not self.unscraped or self.unscraped not in pod}
        for one in targets:
            self.database.write(self.store.clock, one, self.meter.scraped(dict(one)["pod"]))
        for gone in self.targets - targets:
            self.database.stale(self.store.clock, gone)
        self.targets = targets


def target(pod: str) -> series.Key:
    """The labels that a scrape job adds."""
    return ("namespace", NAMESPACE), ("pod", pod), ("job", "pods"), ("instance", f"{pod}:1")


def _count(source: random.Random, rate: float) -> int:
    """Arrivals in a second: Poisson, as the number of unit-rate gaps that fit."""
    passed, count = source.expovariate(1.0), 0
    while passed < rate:
        passed, count = passed + source.expovariate(1.0), count + 1
    return count


async def serving(metrics: stores.Store) -> World:
    """A service whose lane has served for two minutes."""
    now = clusters.START
    made = World(metrics, spec(metrics.url, 16))
    metrics.now = now.timestamp()
    await made.run(40)
    made.pass_time(80)
    assert made.lane.ready_replicas == 2
    return made
