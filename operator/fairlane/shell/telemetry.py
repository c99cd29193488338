"""The operator's own metrics and its health."""

import collections
from collections.abc import Callable

import prometheus_client
from aiohttp import web

from ..api import status as statuses
from ..core import observed

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Telemetry:
    """Counters of what the operator does, and the few numbers per service that alerts need."""

    def __init__(self) -> None:
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = registry = prometheus_client.CollectorRegistry()
        self._passes = prometheus_client.Counter("fairlane_reconciles", "Passes over a service, by how they ended.", ["result"], registry=registry)
        self._errors = prometheus_client.Counter("fairlane_reconcile_errors", "Failures, by what failed.", ["reason"], registry=registry)
        self._duration = prometheus_client.Histogram("fairlane_reconcile_seconds", "Duration of a pass.", buckets=_SECONDS, registry=registry)
        self._writes = prometheus_client.Counter("fairlane_writes", "Writes to the API server.", ["verb", "kind"], registry=registry)
        self._rollouts = prometheus_client.Counter("fairlane_rollouts", "Ended rollouts, by result.", ["result"], registry=registry)
        self._depth = prometheus_client.Gauge("fairlane_queue_depth", "Services whose pass is due or running.", registry=registry)
        self._overdue = prometheus_client.Gauge("fairlane_reconcile_overdue_seconds", "By how much the most belated pass is late.", registry=registry)
        self._since = prometheus_client.Gauge("fairlane_seconds_since_last_success", "Seconds since a pass succeeded; 0 without services.", registry=registry)
        self._leader = prometheus_client.Gauge("fairlane_leader", "1 while this operator holds the Lease.", registry=registry)
        labels = ["fairlane_namespace", "fairlane_service"]   # plain `namespace` is the scraped pod's own
        self._fail_safe = prometheus_client.Gauge("fairlane_router_fail_safe", "Router pods that went to the fail-safe.", labels, registry=registry)
        self._ready = prometheus_client.Gauge("fairlane_service_ready", "1 while the service's condition Ready is True.", labels, registry=registry)
        of_lane = [*labels, "fairlane_lane"]
        self._weight = prometheus_client.Gauge("fairlane_canary_weight", "Percent of a lane's requests on the canary.", of_lane, registry=registry)
        self._lanes: dict[tuple[str, str], set[str]] = collections.defaultdict(set)
        for result in statuses.Result:
            self._rollouts.labels(result.value)

    def passed(self, result: str, seconds: float) -> None:
        """Count one pass: success, deferred or error."""
        self._passes.labels(result).inc()
        self._duration.observe(seconds)

    def failed(self, reason: str) -> None:
        """Count one failure."""
        self._errors.labels(reason).inc()

    def wrote(self, verb: str, kind: str) -> None:
        """Count one write."""
        self._writes.labels(verb, kind).inc()

    def led(self, leading: bool) -> None:
        """Say whether this operator leads."""
        self._leader.set(leading)

    def watch_queue(self, depth: Callable[[], float], overdue: Callable[[], float], since: Callable[[], float]) -> None:
        """Read the queue's numbers whenever they are scraped; `overdue` and `since` in seconds."""
        self._depth.set_function(depth)
        self._overdue.set_function(overdue)
        self._since.set_function(since)

    def settled(self, before: observed.Observed, status: statuses.LLMServiceStatus) -> None:
        """Take the service's numbers after a pass that wrote its status."""
        labels = (before.namespace, before.name)
        for record in status.history:
            if record not in before.status.history:
                self._rollouts.labels(record.result.value).inc()
        ready = any(condition.type == "Ready" and condition.status == "True" for condition in status.conditions)
        self._ready.labels(*labels).set(ready)
        self._fail_safe.labels(*labels).set(sum(bool(pod.state and pod.state.fail_safe) for pod in before.router_pods))
        for lane in self._lanes[labels] - {lane.name for lane in status.lanes}:
            self._weight.remove(*labels, lane)
        self._lanes[labels] = {lane.name for lane in status.lanes}
        for one in status.lanes:
            self._weight.labels(*labels, one.name).set(one.weight)

    def gone(self, namespace: str, name: str) -> None:
        """Drop the numbers of a service that is gone."""
        lanes = self._lanes.pop((namespace, name), None)
        if lanes is None:
            return
        for gauge in (self._ready, self._fail_safe):
            gauge.remove(namespace, name)
        for lane in lanes:
            self._weight.remove(namespace, name, lane)


def application(counters: Telemetry, ailment: Callable[[], str]) -> web.Application:
    """Return the HTTP application: /metrics, and /healthz, which answers 503 with the ailment where there is one."""

    async def metrics(_request: web.Request) -> web.Response:
        body = prometheus_client.generate_latest(counters.registry)
        return _closing(web.Response(body=body, headers={"Content-Type": prometheus_client.CONTENT_TYPE_LATEST}))

    async def healthz(_request: web.Request) -> web.Response:
        text = ailment()
        return _closing(web.Response(text=f"{text or 'ok'}\n", status=503 if text else 200))

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    app.router.add_get("/healthz", healthz)
    return app


def _closing(response: web.Response) -> web.Response:
    """Return the answer with its connection closed after it: one that is kept alive holds up kopf's end by seconds."""
    response.force_close()
    return response
