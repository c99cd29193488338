"""One trial from the load before the change to the row of the table."""
from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from e2e.cluster import Cluster
from e2e.scenarios import traffic, vllm
from e2e.scenarios.space import Space, Status

from . import measure, outcomes, recording, results, rules, trials
from .dummies import Dummies

RECORDINGS = Path(__file__).with_name("recordings")
_LOADING = 900      # seconds a canary may take to load beside the others
_BEFORE, _AFTER = 3600, 20   # seconds of the recording around the rollout: the hour in which the judge sees the stable's tails, so all that there is
_TOGETHER = 32      # chats in flight, of an open loop
_AT_ONCE = 20.0     # chats a second that a closed loop would ask, were all its users free


@contextlib.contextmanager
def space(cluster: Cluster, trial: trials.Trial, kind: str) -> Iterator[Space]:
    """A namespace for this trial alone: what the stable did in another one is no past of this one. It is gone after the block."""
    own = Space(cluster, f"{trials.NAMESPACE}-{_name(trial, kind)}", trials.SERVICE)
    _delete(own)   # an interrupted run's, on a cluster that stayed
    cluster.kubectl("create", "namespace", own.namespace)
    try:
        own.kubectl("apply", "-f", "-", text=trials.faulty_text())
        yield own
    finally:
        own.paths.close()
        _delete(own)   # its engines would take the next trial's cores


def paced(cluster: Cluster, space: Space, trial: trials.Trial, kind: str) -> trials.Trial:
    """The trial at the rates that this machine carries, for both of its kinds."""
    _settle(cluster, space, trial, kind)
    return trial.paced_to(vllm.pace(space.url))


def play(cluster: Cluster, space: Space, trial: trials.Trial, kind: str) -> dict[str, Any]:
    """Run the trial (kind "change" or "a/a"); its row. The recording is written beside."""
    base = _settle(cluster, space, trial, kind)
    step = trial.minutes * 60
    dummies = Dummies(cluster, f"{trials.NAMESPACE}-dummies-{_name(trial, kind)}", rules.interval(step))
    try:
        dummies.prepare()
        with _load(space.url, trial) as load:
            time.sleep(trials.LOAD_SECONDS)
            run = _Run(cluster, space, trial, kind)
            run.change(base)
            run.wait_weight()
            dummies.start(run.target)
            run.wait_end(step)
            peers = dummies.outcomes()
            if run.held:
                space.apply(base)
            time.sleep(_AFTER)
        run.keep(load)
        (run.folder / f"{run.name}.peers.yaml").write_text(dummies.words())
        return run.row(peers, rules.interval(step))
    finally:
        dummies.leave()


def _settle(cluster: Cluster, space: Space, trial: trials.Trial, kind: str) -> trials.Manifest:
    """The service as it is between two trials, serving; what was applied."""
    base = trials.base(cluster.images["engine"], cluster.model_uri, vllm.flags(cluster), cluster.python_env_mounts(), trial, kind)
    space.apply(base)
    space.wait_ready(seconds=600)
    space.wait("the lane idle", lambda status: _idle(space.lane(trials.LANE, status)), 300)
    return base


class _Run:
    """What is known of the running trial. Times in seconds since the epoch."""

    def __init__(self, cluster: Cluster, space: Space, trial: trials.Trial, kind: str) -> None:
        self._space, self._trial, self._kind = space, trial, kind
        self._prometheus = measure.Prometheus(cluster.prometheus_url)
        self.name = _name(trial, kind)
        self.folder = Path("build/peers")
        self.folder.mkdir(parents=True, exist_ok=True)
        self._before = {record["startedAt"] for record in space.history(trials.LANE)}
        self._lane: Status = space.lane(trials.LANE)
        self.started = self.weighed = self.ended = 0.0
        self.record: Mapping[str, Any] = {}
        self.held = False
        self._spec: Mapping[str, Any] = {}

    def change(self, base: trials.Manifest) -> None:
        """Make the change, or none under a new name."""
        self.started = time.time()
        target = rules.Target(self._space.namespace, trials.LANE, str(self._lane["stable"]), "")
        self._edge = self._prometheus.slow_edge(target, self.started, trials.LOAD_SECONDS)
        if self._kind == "a/a":
            self._space.fairlane("trial", trials.LANE)
        else:
            self._space.apply(trials.changed(base, self._trial))

    def wait_weight(self) -> None:
        """Until the canary has its share of the traffic."""
        status = self._space.wait("the canary's first weight", self._has_weight, _LOADING)
        self.weighed = time.time()
        self._lane = self._space.lane(trials.LANE, status)
        self.target = rules.Target(self._space.namespace, trials.LANE, str(self._lane["stable"]), str(self._lane["canary"]))
        self._spec = self._space.service()["spec"]

    def wait_end(self, step: float) -> None:
        """Until the rollout is decided, or the step is over without a decision."""
        deadline = time.monotonic() + self._trial.warmup + step + 90
        while not (record := self._decided()) and not self._over() and time.monotonic() < deadline:
            time.sleep(1)
        self.held = not record
        self.record = record or {}
        self.ended = outcomes.instant(record["decisions"][-1]["time"]) if record and record.get("decisions") else time.time()

    def keep(self, load: traffic.Load) -> None:
        """Write the recording."""
        last = self.record or self._space.lane(trials.LANE)
        evidence = (last.get("decisions") or [{}])[-1].get("evidence") or {}
        raw = self._prometheus.record(self._space.namespace, trials.SERVICE, self.started - _BEFORE, self.ended + _AFTER)
        failed = sum(bool(answer.failure) for answer in load.since(self.started))
        recording.write(RECORDINGS / f"{self.name}.json", {
            "what": f"real vLLM, SmolLM2-135M on two cores; {self._trial.what if self._kind == 'change' else 'no change (A/A)'}; {self._trial.exposure}",
            "namespace": self._space.namespace, "service": trials.SERVICE, "lane": trials.LANE, "stable": self.target.stable, "canary": self.target.canary,
            "replicas": 1, "rollout": self._spec["rollout"], "objectives": self._spec["lanes"][0].get("objectives", {}),
            "started": self.started, "ready": self.weighed, "ended": self.ended,
            "result": self.record.get("result", ""), "reason": self.record.get("reason", ""), "metric": evidence.get("metric", ""),
            "requests": self.record.get("canaryRequests", 0), "failedAnswers": failed, **raw,
        })

    def row(self, peers: Mapping[str, outcomes.Outcome], interval: int) -> dict[str, Any]:
        """The trial in the results."""
        back = self.record.get("result") == "RolledBack" or self.record.get("reason") == "FalseAlarm"
        evidence = ((self.record.get("decisions") or [{}])[-1]).get("evidence") or {}
        own = outcomes.Outcome(self.ended if back else None, 0, 0, str(self.record.get("message", "")))
        judges = {"fairlane": self._judge(own) | {"metric": evidence.get("metric", ""), "eValue": evidence.get("eValue", "")}}
        judges |= {name: self._judge(outcome) for name, outcome in peers.items()}
        counts = self._prometheus.counts(self.target, self._edge, self.ended)
        return {
            "trial": self._trial.name, "kind": self._kind, "what": self._trial.what, "exposure": self._trial.exposure,
            "result": self.record.get("result", "Held"), "loading": round(self.weighed - self.started),
            "seconds": round(self.ended - self.weighed), "requests": counts.requests, "bad": counts.bad,
            "edge": self._edge, "interval": interval, "judges": judges,
        }

    def _judge(self, outcome: outcomes.Outcome) -> dict[str, Any]:
        """A rollback after the end of the trial is none: by then there was no canary to judge."""
        seen = {"looks": outcome.looks, "failed": outcome.failed, "said": outcome.said}
        if outcome.at is None or outcome.at > self.ended:
            return {"seconds": None, "requests": None, "bad": None, **seen}
        counts = self._prometheus.counts(self.target, self._edge, outcome.at)
        return {"seconds": round(outcome.at - self.weighed), "requests": counts.requests, "bad": counts.bad, **seen}

    def _has_weight(self, status: Status) -> bool:
        lane = self._space.lane(trials.LANE, status)
        return lane.get("phase") in ("Warming", "Analyzing") and bool(lane.get("weight")) and bool(lane.get("canary"))

    def _decided(self) -> Status | None:
        return next((record for record in self._space.history(trials.LANE) if record["startedAt"] not in self._before), None)

    def _over(self) -> bool:
        lane = self._space.lane(trials.LANE)
        return lane.get("phase") == "Analyzing" and lane.get("reason") == "Holding" and "step is over" in lane.get("message", "")


@contextlib.contextmanager
def _load(url: str, trial: trials.Trial) -> Iterator[traffic.Load]:
    """The chats, and beside them the stray long prompts."""
    rate, together = (_AT_ONCE, trial.users) if trial.users else (trial.rate, _TOGETHER)
    with traffic.Load(url, rate, trial.chat, paced=trial.paced, together=together, seed=1) as chats:
        with contextlib.ExitStack() as stack:
            if trial.strays:
                stack.enter_context(traffic.Load(url, trial.strays, trials.stray, paced=True, together=4, seed=2))
            yield chats


def _name(trial: trials.Trial, kind: str) -> str:
    return f"{trial.name}-{'aa' if kind == 'a/a' else 'change'}"


def _delete(own: Space) -> None:
    own.cluster.kubectl("delete", "namespace", own.namespace, "--ignore-not-found", timeout=180)


def _idle(lane: Status) -> bool:
    return lane.get("phase") == "Idle" and not lane.get("canary")


def keep_row(row: Mapping[str, Any]) -> None:
    """Add it to the results."""
    order = [trial.name for trial in trials.TRIALS]
    results.save(results.with_row(results.load(), row, order))
