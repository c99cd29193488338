"""The eye of the demo: a thread that looks at the service and at the users' answers every second, and keeps what it sees."""
from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from e2e.cluster import ClusterError
from e2e.scenarios import traffic
from e2e.scenarios.space import Space, Status

from .record import Moment, Run, Sample

EVERY = 1.5     # seconds between two looks
WINDOW = 90.0   # seconds of answers in a p99
_FEWEST = 5     # answers below which a p99 says nothing


class Watch:
    """Fills `run.samples` and `run.moments` while the block runs."""

    def __init__(self, space: Space, run: Run, loads: Sequence[traffic.Load]) -> None:
        self._space, self._run, self._loads = space, run, loads
        self._events: set[str] = set()
        self._failed: set[float] = set()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="watch", daemon=True)
        self.latest: list[Sample] = []

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join(30)

    def _loop(self) -> None:
        while not self._stopping.wait(EVERY):
            try:
                self._look()
            except ClusterError as error:  # one missed look is no end; what it missed is said
                self._run.moments.append(Moment(time.time() - self._run.began, "event", f"the cluster did not answer: {error}"))

    def _look(self) -> None:
        now = time.time() - self._run.began
        status = self._space.status()
        answers = [answer for load in self._loads for answer in load.answers]
        self.latest = [sample(lane, answers, now, time.time()) for lane in status.get("lanes", [])]
        self._run.samples.extend(self.latest)
        for answer in answers:
            if answer.failure and answer.at not in self._failed:
                self._failed.add(answer.at)
                self._run.moments.append(Moment(answer.at - self._run.began, "failure", answer.line()))
        for event in self._space.events():
            if event["metadata"]["uid"] not in self._events:
                self._events.add(event["metadata"]["uid"])
                self._run.moments.append(Moment(now, "event", f"{event['reason']}: {event['message']}"))


def sample(lane: Status, answers: Sequence[traffic.Answer], now: float, clock: float) -> Sample:
    """One lane as it is, with the p99s of the answers of the window."""
    recent = [answer for answer in answers if answer.lane == lane["name"] and answer.at > clock - WINDOW and answer.ttft is not None]

    def p99(revision: str) -> float | None:
        values = [answer.ttft for answer in recent if answer.revision == revision and answer.ttft is not None]
        return traffic.quantile(values, 0.99) if revision and len(values) >= _FEWEST else None

    return Sample(
        at=now, lane=lane["name"], phase=lane.get("phase", ""), weight=lane.get("weight", 0), verdict=lane.get("verdict", ""),
        stable=lane.get("stable", ""), canary=lane.get("canary", ""), stable_p99=p99(lane.get("stable", "")), canary_p99=p99(lane.get("canary", "")),
        message=lane.get("message", ""),
    )
