"""The pass: observe, decide, apply. Restartable between any two writes."""

import asyncio
import dataclasses
import datetime
import logging
import time
from collections.abc import Awaitable, Callable

from ..api import status as statuses
from ..core import clock, errors, observed, planned
from ..core.engine import fitness
from ..core.judge import types as judging
from ..core.rollout import fitting
from . import kube, observe, prometheus, queue, telemetry, write

Gather = Callable[[observed.Observed], Awaitable[prometheus.Gathered]]
Model = Callable[[observed.Observed], Awaitable[fitness.Model | None]]
Gpus = Callable[[observed.Observed], Awaitable[frozenset[str]]]
Decide = Callable[[observed.Observed], planned.Plan]

_SOON = 0.5               # seconds until the next try after somebody else wrote first
_LATER = 5.0              # and while the namespace is going, which takes the service along
_EVIDENCE_LIMIT = 8.0     # seconds for Secrets and Prometheus within a pass: a slow one delays no abort
_log = logging.getLogger(__name__)


class NotLeading(errors.FairlaneError):
    """Another operator may hold the Lease; nothing is written until it is known."""


@dataclasses.dataclass(frozen=True)
class Parts:
    """What a pass is made of. `leads` says whether this operator may write now, `now` is the wall clock."""

    observer: observe.Observer
    writer: write.Writer
    gather: Gather
    model: Model
    gpus: Gpus
    decide: Decide
    counters: telemetry.Telemetry
    leads: Callable[[], bool]
    now: Callable[[], datetime.datetime]
    resync_seconds: float = 300.0


class Reconciler:
    """Makes the passes; remembers nothing that a decision depends on."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._complained: dict[queue.Key, str] = {}
        self._last_success = time.monotonic()

    def since_success(self) -> float:
        """Seconds since a pass succeeded, or since the start."""
        return time.monotonic() - self._last_success

    async def reconcile(self, key: queue.Key) -> float | None:
        """Make one pass; return the seconds until the next look, None where the service is gone."""
        started = time.monotonic()
        try:
            wake_after = await self._pass(key)
        except (kube.Conflict, kube.Terminating, NotLeading) as error:
            _log.info("pass put off: %s", error, extra={"namespace": key[0], "service": key[1]})
            self._parts.counters.passed("deferred", time.monotonic() - started)
            return _LATER if isinstance(error, kube.Terminating) else _SOON
        except Exception as error:
            self._parts.counters.failed(type(error).__name__)
            self._parts.counters.passed("error", time.monotonic() - started)
            raise
        self._last_success = time.monotonic()
        self._parts.counters.passed("success", self._last_success - started)
        return wake_after

    async def _pass(self, key: queue.Key) -> float | None:
        """Observe, decide, apply."""
        if not self._parts.leads():
            raise NotLeading("this operator does not hold the leader Lease for certain")
        seen = await self._parts.observer.observe(*key, self._parts.now())
        if seen is None:
            self._forget(key)
            return None
        gathered, model, gpus = await asyncio.gather(self._gathered(seen.observed), self._parts.model(seen.observed), self._parts.gpus(seen.observed))
        numbers = {field.name: getattr(gathered, field.name) for field in dataclasses.fields(gathered)}
        known = dataclasses.replace(seen.observed, model=model, gpu_products=gpus, **numbers)
        seen = dataclasses.replace(seen, observed=known)
        plan = self._parts.decide(seen.observed)
        await self._carry_out(plan, seen)
        beat = write.beat_interval(seen.observed.spec) if plan.renew_heartbeat else self._parts.resync_seconds
        return min(plan.wake_after, beat, self._parts.resync_seconds)

    async def _gathered(self, value: observed.Observed) -> prometheus.Gathered:
        """Return what Prometheus says of the lanes on trial, within a bounded time."""
        lanes = [lane.name for lane in value.status.lanes if lane.canary]
        if value.spec is None or not (lanes or any(map(fitting.unmeasured, value.status.lanes))):
            return prometheus.Gathered()
        try:
            async with asyncio.timeout(_EVIDENCE_LIMIT):
                return await self._parts.gather(value)
        except TimeoutError:
            late = judging.Unavailable("PrometheusUnreachable", f"no answer within {_EVIDENCE_LIMIT:g} s")
            return prometheus.Gathered(dict.fromkeys(lanes, late))

    async def _carry_out(self, plan: planned.Plan, seen: observe.Seen) -> None:
        """Write what the plan says, in the order of its fields; the heartbeat, once a canary has weight, only when all else succeeded."""
        writer, value = self._parts.writer, seen.observed
        interval = write.beat_interval(value.spec)
        weighs = value.routes is not None and value.routes.has_canary_weight
        try:
            if plan.renew_heartbeat and not weighs:
                await writer.beat(seen, older_than=interval)   # the last canary's must not trip the agents that see this one's first weight
            await writer.apply(plan.apply, seen)
            await writer.delete(plan.delete, seen)
        except kube.Rejected as error:
            await self._say_stalled(seen, error)
            raise
        await writer.status(plan.status, seen)
        self._parts.counters.settled(value, plan.status)
        await writer.events(plan.events, seen)
        await self._complain(seen)
        if plan.renew_heartbeat and weighs:
            await writer.beat(seen, older_than=interval / 2)
        await writer.attempt(plan.attempt, seen)

    async def _say_stalled(self, seen: observe.Seen, error: kube.Rejected) -> None:
        """Tell the user what the API server refuses; the rest of the status stays as it was."""
        status = stalled(seen.observed, str(error))
        if await self._parts.writer.status(status, seen):
            await self._parts.writer.events([planned.Event("Warning", "ApplyRejected", str(error))], seen)

    async def _complain(self, seen: observe.Seen) -> None:
        """Tell once of a command annotation that is none."""
        key = (seen.observed.namespace, seen.observed.name)
        if seen.command_error and self._complained.get(key) != seen.command_error:
            await self._parts.writer.events([planned.Event("Warning", "CommandIgnored", seen.command_error)], seen)
        self._complained[key] = seen.command_error

    def _forget(self, key: queue.Key) -> None:
        """Drop what is kept of a service that is gone."""
        self._complained.pop(key, None)
        self._parts.writer.forget(*key)
        self._parts.counters.gone(*key)


def stalled(value: observed.Observed, message: str) -> statuses.LLMServiceStatus:
    """Return the status as it is, but for the condition Stalled: the API server refuses an object that follows from the spec."""
    old = next((condition for condition in value.status.conditions if condition.type == "Stalled"), None)
    since = old.last_transition_time if old and old.status == "True" else clock.text(value.now)
    new = statuses.Condition(
        type="Stalled", status="True", reason="ApplyRejected", message=message[:1024], observed_generation=value.generation, last_transition_time=since
    )
    conditions = [new if condition.type == "Stalled" else condition for condition in value.status.conditions]
    return value.status.model_copy(update={"conditions": conditions if old else [*conditions, new]})
