"""What the acts of the demo have in hand."""
from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from e2e.cluster import Cluster
from e2e.scenarios import traffic
from e2e.scenarios.space import Space, Status

from .record import Claim, Moment, Run, Trial
from .view import View
from .watch import Watch


class DemoError(Exception):
    """The demo cannot go on; the message says what did not happen."""


class Stage:
    """The service, its users, and what is shown and kept of them."""

    def __init__(self, cluster: Cluster, space: Space, run: Run, view: View) -> None:
        self.cluster, self.space, self.run, self.view = cluster, space, run, view
        self.loads: Sequence[traffic.Load] = ()
        self.watch: Watch | None = None

    @property
    def answers(self) -> list[traffic.Answer]:
        return [answer for load in self.loads for answer in load.answers]

    def act(self, text: str) -> None:
        self.run.moments.append(Moment(time.time() - self.run.began, "act", text))
        self.view.act(text)

    def claim(self, name: str, holds: object, seen: str) -> None:
        """Keep whether a promise was kept, and say it."""
        self.run.claims.append(Claim(name, bool(holds), seen))
        self.view.say(f"{'✓' if holds else '✗ NOT SO:'} {name}: {seen}")

    def wait(self, what: str, seen: Callable[[Status], Any], seconds: float) -> Status:
        """Poll until `seen` is true, showing the lanes; DemoError where it does not come."""
        deadline = time.monotonic() + seconds
        while True:
            status = self.space.status()
            if seen(status):
                return status
            if time.monotonic() > deadline:
                raise DemoError(f"not within {seconds:.0f} s: {what}")
            self.view.show(self.watch.latest if self.watch else [], f"waiting: {what}; {self.users()}")
            time.sleep(1.0)

    def users(self) -> str:
        answers = self.answers
        return f"{len(answers)} answers, {sum(bool(answer.failure) for answer in answers)} failed" if self.loads else self.pods()

    def pods(self) -> str:
        """The pods on one line: how many of each lane's and the router's are ready."""
        pods = self.space.get("pods", "-l", f"fairlane.dev/service={self.space.name}")
        names = sorted(pod["metadata"]["labels"].get("fairlane.dev/lane", "router") for pod in pods)
        ready = [pod["metadata"]["labels"].get("fairlane.dev/lane", "router") for pod in pods if _ready(pod)]
        return ", ".join(f"{name} {ready.count(name)}/{names.count(name)}" for name in dict.fromkeys(names))

    def trial(self, title: str, lane: str, change: Callable[[], None], seconds: float) -> Trial:
        """Make a change, wait for its rollout's end, and keep both sides of it."""
        before, began = len(self.space.history(lane)), time.time()
        change()
        self.wait(f"the end of the rollout of {title}", lambda status: len([r for r in status.get("history", []) if r["lane"] == lane]) > before, seconds)
        record = self.space.history(lane)[0]
        ended = time.time()
        answers = [answer for answer in self.answers if began <= answer.at <= ended]
        canary = sum(answer.revision == record["canary"] and answer.track == "canary" for answer in answers)
        trial = Trial(title, record, began - self.run.began, ended - self.run.began, canary, sum(bool(answer.failure) for answer in answers))
        self.run.trials.append(trial)
        self.view.say(f"{record['result']} after {ended - began:.0f} s, {canary} canary requests. {record['reason']}: {record['message']}")
        return trial


def _ready(pod: dict[str, Any]) -> bool:
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in pod["status"].get("conditions", []))
