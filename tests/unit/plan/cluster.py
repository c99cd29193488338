"""A simulated cluster under a fake clock: what is applied is stored; kubelet, scheduler, router agents and traffic are simple and deterministic."""

import dataclasses
import datetime
import json
from typing import Any

from fairlane.core import names, observed
from fairlane.core.objects import engine, load
from fairlane.core.routing import document

START = datetime.datetime(2026, 11, 29, 12, 0, tzinfo=datetime.UTC)
Thing = dict[str, Any]
Key = tuple[str, str]


@dataclasses.dataclass
class Quality:
    """How a revision behaves."""

    load_seconds: float = 20.0
    crash_after: float | None = None     # seconds after it was scheduled; before or after it is ready
    last_words: str = "RuntimeError: engine died"
    slow: bool = False                   # the judge finds it out
    waiting: str = ""                    # ErrImagePull, CreateContainerConfigError
    errors: bool = False                 # every request fails, from the first


@dataclasses.dataclass
class SimPod:
    """An engine pod."""

    name: str
    lane: str
    revision: str
    created: datetime.datetime
    scheduled: datetime.datetime | None = None
    going: datetime.datetime | None = None
    restarts: int = 0
    requests: float = 0.0


@dataclasses.dataclass
class Reader:
    """How the pods behave that read a claim's model: what they say `seconds` after they were made."""

    says: str = ""
    seconds: float = 3.0
    exit_code: int = 0
    unschedulable: str = ""              # the scheduler's words: they say nothing then
    refused: bool = False                # the API server takes none


@dataclasses.dataclass
class Router:
    """A router pod: the document it serves and what it has said of it. `lag` seconds pass before it takes a new one."""

    name: str
    lag: float = 1.0
    serving: document.RouteDocument | None = None
    seen_at: datetime.datetime | None = None
    seen: str = ""
    state: document.RouterState | None = None
    going: bool = False


@dataclasses.dataclass
class Cluster:
    """Everything outside the operator."""

    gpus: int = 10
    now: datetime.datetime = START
    things: dict[Key, Thing] = dataclasses.field(default_factory=dict)
    pods: list[SimPod] = dataclasses.field(default_factory=list)
    routers: list[Router] = dataclasses.field(default_factory=lambda: [Router("router-0"), Router("router-1", lag=2.0)])
    qualities: dict[str, Quality] = dataclasses.field(default_factory=dict)
    reader: Reader = dataclasses.field(default_factory=Reader)
    made: dict[str, tuple[datetime.datetime, Reader]] = dataclasses.field(default_factory=dict)     # when each pod that reads a model was, and how it behaves
    reads: int = 0                       # how many were made
    rate: float = 20.0                   # requests per second and lane
    serial: int = 0
    leaves_at: datetime.datetime | None = None       # when the router that is going has drained
    served: dict[tuple[str, str], list[tuple[datetime.datetime, float]]] = dataclasses.field(default_factory=dict)

    def apply(self, thing: Thing) -> None:
        """Store an object, as server-side apply of the whole does."""
        if thing["kind"] == "Pod":
            assert ("Pod", thing["metadata"]["name"]) not in self.things, "a pod cannot be changed"
            if self.reader.refused:
                return
            self.made[thing["metadata"]["name"]] = self.now, self.reader
            self.reads += 1
        self.things[thing["kind"], thing["metadata"]["name"]] = json.loads(json.dumps(thing))

    def delete(self, kind: str, name: str) -> None:
        """Delete an object; its pods get their time to drain."""
        self.things.pop((kind, name))
        self._deployments()

    def quality(self, revision: str) -> Quality:
        """How a revision behaves: by its id, else by its hash."""
        return self.qualities.get(revision) or self.qualities.get(revision.partition("-")[0], Quality())

    def tick(self, seconds: float = 1.0) -> None:
        """Let time pass, a second at a time."""
        for _ in range(round(seconds)):
            self.now += datetime.timedelta(seconds=1)
            self._deployments()
            self._schedule()
            if self.leaves_at is not None and self.now >= self.leaves_at:
                self.routers, self.leaves_at = [router for router in self.routers if not router.going], None
            for router in self.routers:
                self._route(router)
            self._serve()

    def ready(self, revision: str) -> int:
        """Ready pods of a revision."""
        return sum(self.is_ready(pod) for pod in self.pods if pod.revision == revision and pod.going is None)

    def is_ready(self, pod: SimPod) -> bool:
        """Whether a pod has loaded and not crashed."""
        quality, age = self.quality(pod.revision), self._age(pod)
        crashed = quality.crash_after is not None and age >= quality.crash_after
        return pod.scheduled is not None and not quality.waiting and not crashed and age >= quality.load_seconds

    def evict(self, revision: str) -> None:
        """Take a revision's oldest pod away; its Deployment makes another."""
        pod = next((pod for pod in self.pods if pod.revision == revision and pod.going is None), None)
        if pod is not None:
            pod.going = self.now

    def replace_router(self) -> None:
        """Replace a router pod: the old one drains for ten seconds and takes new routes as before."""
        if self.leaves_at is not None:
            return
        self.serial += 1
        self.routers[0].going, self.leaves_at = True, self.now + datetime.timedelta(seconds=10)
        self.routers.append(Router(f"router-{self.serial}", lag=self.routers[0].lag))

    def routes(self) -> document.RouteDocument | None:
        """The stored route document."""
        for thing in self.things.values():
            if document.KEY in thing.get("data", {}):
                return document.RouteDocument.model_validate_json(thing["data"][document.KEY])
        return None

    def loads(self) -> dict[str, Any]:
        """What the senders of synthetic load were told, by lane."""
        stored = [thing for (kind, _), thing in self.things.items() if kind == "ConfigMap"]
        senders = [thing for thing in stored if thing["metadata"]["labels"][names.COMPONENT_LABEL] == load.COMPONENT]
        return {thing["metadata"]["labels"][names.LANE_LABEL]: load.parse(thing) for thing in senders}

    def deployments(self) -> list[Thing]:
        """The engine Deployments."""
        return [thing for (kind, _), thing in self.things.items() if kind == "Deployment" and thing["metadata"]["labels"][names.COMPONENT_LABEL] == "engine"]

    def requests(self, lane: str, revision: str, since: datetime.datetime) -> float:
        """Requests that a revision has had since."""
        return sum(count for moment, count in self.served.get((lane, revision), []) if moment > since)

    def observed_pods(self) -> tuple[observed.Pod, ...]:
        """The engine pods as a pass sees them."""
        return tuple(self._pod(pod) for pod in self.pods)

    def observed_readers(self) -> tuple[observed.ModelReader, ...]:
        """The pods that read a model as a pass sees them."""
        return tuple(self._reader(name) for kind, name in self.things if kind == "Pod")

    def _reader(self, name: str) -> observed.ModelReader:
        created, told = self.made[name]
        plain = observed.ModelReader(name, created)
        if told.unschedulable or (self.now - plain.created).total_seconds() < told.seconds:
            return dataclasses.replace(plain, unschedulable=told.unschedulable)
        ended = observed.Container(terminated_reason="Error" if told.exit_code else "Completed", terminated_message=told.says, exit_code=told.exit_code)
        return dataclasses.replace(plain, phase="Failed" if told.exit_code else "Succeeded", container=ended)

    def observed_deployments(self) -> tuple[observed.EngineDeployment, ...]:
        """The engine Deployments as a pass sees them."""
        found = ((_label(thing, names.LANE_LABEL), _label(thing, names.REVISION_LABEL), thing["spec"]["replicas"]) for thing in self.deployments())
        return tuple(observed.EngineDeployment(*item) for item in found)

    def observed_routers(self) -> tuple[observed.RouterPod, ...]:
        """The router pods as a pass sees them."""
        return tuple(observed.RouterPod(router.name, router.state is not None and not router.going, router.going, router.state) for router in self.routers)

    def observed_children(self) -> tuple[observed.Child, ...]:
        """Every object as a pass sees it."""
        return tuple(observed.Child(thing["apiVersion"], kind, name) for (kind, name), thing in self.things.items())

    def revisions(self) -> tuple[Any, ...]:
        """The stored revisions."""
        return tuple(engine.parse_controller_revision(thing) for (kind, _), thing in self.things.items() if kind == "ControllerRevision")

    def _pod(self, pod: SimPod) -> observed.Pod:
        quality, age = self.quality(pod.revision), self._age(pod)
        container = observed.Container(ready=self.is_ready(pod))
        if pod.scheduled is not None and quality.crash_after is not None and age >= quality.crash_after:
            container = observed.Container(
                restarts=int((age - quality.crash_after) // 10), terminated_reason="Error", terminated_message=f"noise\n{quality.last_words}\n", exit_code=1
            )
        if pod.scheduled is not None and quality.waiting:
            container = observed.Container(waiting_reason=quality.waiting, waiting_message="back-off")
        words = "" if pod.scheduled else "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
        return observed.Pod(
            name=pod.name, lane=pod.lane, revision=pod.revision, created=pod.created, phase="Running" if pod.scheduled else "Pending",
            ready=self.is_ready(pod), terminating=pod.going is not None, scheduled_at=pod.scheduled, unschedulable=words, container=container,
        )

    def _age(self, pod: SimPod) -> float:
        return (self.now - pod.scheduled).total_seconds() if pod.scheduled else 0.0

    def _deployments(self) -> None:
        wanted = {thing["metadata"]["labels"][names.REVISION_LABEL]: thing for thing in self.deployments()}
        for pod in self.pods:
            if pod.going is None and pod.revision not in wanted:
                pod.going = self.now
        for revision, thing in wanted.items():
            own = [pod for pod in self.pods if pod.revision == revision and pod.going is None]
            own.sort(key=self.is_ready)
            for _ in range(thing["spec"]["replicas"] - len(own)):
                self.serial += 1
                self.pods.append(SimPod(f"{thing['metadata']['name']}-{self.serial}", _label(thing, names.LANE_LABEL), revision, self.now))
            for pod in own[: max(0, len(own) - thing["spec"]["replicas"])]:
                pod.going = self.now
        self.pods = [pod for pod in self.pods if pod.going is None or (self.now - pod.going).total_seconds() < 5]

    def _schedule(self) -> None:
        for pod in self.pods:
            used = sum(other.scheduled is not None for other in self.pods)
            if pod.scheduled is None and pod.going is None and used < self.gpus:
                pod.scheduled = self.now

    def _route(self, router: Router) -> None:
        stored = self.routes()
        if stored is not None and stored.version != router.seen:
            router.seen, router.seen_at = stored.version, self.now
        if stored is not None and router.seen_at is not None and (self.now - router.seen_at).total_seconds() >= router.lag:
            router.serving = stored
        if router.serving is not None:
            endpoints = {f"{lane.name}/{track.revision}": self.ready(track.revision) for lane in router.serving.lanes for track in lane.tracks}
            router.state = document.RouterState(version=router.serving.version, endpoints=endpoints)

    def _serve(self) -> None:
        """Send a second's requests: a share whose track has no endpoint goes to the other."""
        for router in self.routers:
            for lane in router.serving.lanes if router.serving else ():
                alive = [track for track in lane.tracks if self.ready(track.revision)]
                whole = sum(track.weight for track in alive)
                for track in alive:
                    share = track.weight / whole if whole else 0.0
                    self.served.setdefault((lane.name, track.revision), []).append((self.now, share * self.rate / len(self.routers)))


def _label(thing: Thing, label: str) -> str:
    return str(thing["metadata"]["labels"][label])
