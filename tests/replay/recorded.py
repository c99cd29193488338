"""A recorded trial, played again: Prometheus has the recorded series, the cluster is simulated, and the operator decides anew."""

import dataclasses
import datetime
from collections.abc import Iterator, Mapping
from typing import Any

from tests.replay import series, world
from tests.replay import store as stores
from tests.unit.plan import cluster as clusters

from fairlane.api import base

Document = Mapping[str, Any]     # as bench.peers.recording reads it

_LEAD = 60      # seconds before the change, in which the simulated stable comes to serve


@dataclasses.dataclass
class Recorded(world.World):
    """A service whose users and engines are those of a recording."""

    def pass_time(self, seconds: int = world.INTERVAL) -> None:
        """Let time pass: what was scraped is known."""
        self.cluster.tick(seconds)


def interval(document: Document) -> int:
    """Seconds between two passes."""
    return round(base.seconds(document["rollout"]["analysis"]["interval"]))


async def begun(metrics: stores.Store, document: Document) -> Recorded:
    """The service just after the change, its canary loading until the instant at which the recorded one was ready."""
    lane = {"replicas": document["replicas"], "objectives": document["objectives"]}
    before, after = (world.spec(metrics.url, seqs, document["rollout"], **lane) for seqs in (16, 24))
    every = interval(document)
    # a pass ends when the recorded decision did, so that the evidence falls into much the same ticks
    start = datetime.datetime.fromtimestamp(round(document["started"]) - _LEAD, datetime.UTC)
    start -= datetime.timedelta(seconds=(start.timestamp() - round(document["ended"])) % every)
    made = Recorded(metrics, before, cluster=world.Cluster(rate=0.0, now=start, routers=[clusters.Router(f"{world.NAME}-router-6b-a")]))
    await made.run(_LEAD)
    stable, canary = made.lane.stable, made.change(after)
    made.cluster.qualities[canary] = clusters.Quality(load_seconds=document["ready"] - document["started"] - 2 * every)
    fill(made.database, document, stable, f"{canary}-1")
    return made


def fill(database: series.Database, document: Document, stable: str, canary: str) -> None:
    """Write the recorded series under the names of the simulated service."""
    end = max(times[-1] for times in document["scrapes"].values())
    for one in document["series"]:
        labels = dict(_renamed(one["metric"], document, {document["stable"]: stable, document["canary"]: canary}))
        times = document["scrapes"][one["metric"]["pod"]]
        target = tuple((name, labels.pop(name)) for name in ("namespace", "pod"))
        key = tuple(labels.items())
        for time, value in _values(one["changes"], times):
            database.write(time, target, [(key, value)])
        if times[-1] < end - 2 * world.SCRAPED_EVERY:
            database.series[target, key].gone = times[-1] + 2 * world.SCRAPED_EVERY


def _renamed(metric: Mapping[str, str], document: Document, revisions: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in metric.items():
        match name:
            case "namespace":
                yield name, world.NAMESPACE
            case "pod":
                yield name, _pod(value, document, revisions)
            case "fairlane_lane":
                yield name, world.LANE
            case "fairlane_revision":
                yield name, revisions.get(value, value)
            case _:
                yield name, value


def _pod(name: str, document: Document, revisions: Mapping[str, str]) -> str:
    """The pod's name with the simulated service, lane and revision in it."""
    for old, new in revisions.items():
        name = name.replace(f"{document['service']}-{document['lane']}-{old}-", f"{world.NAME}-{world.LANE}-{new}-")
    return name.replace(f"{document['service']}-router-", f"{world.NAME}-router-")


def _values(changes: list[list[float]], times: list[float]) -> Iterator[tuple[float, float]]:
    """A sample at each of the pod's scrapes since the series was born."""
    known = {round(scrape): value for scrape, value in changes}
    value = 0.0
    for scrape in range(round(changes[0][0]), len(times)):
        value = known.get(scrape, value)
        yield times[scrape], value
