"""Carrying out a plan: objects, deletes, status, events, heartbeat."""

import datetime
import logging
from collections.abc import Iterable
from typing import Any

from ..api import base
from ..api import spec as specs
from ..api import status as statuses
from ..core import clock, names, observed, planned
from . import gate, kube, observe, resources, telemetry

Object = dict[str, Any]

_MESSAGE_LIMIT = 1024   # of an Event, by the API server's validation
_log = logging.getLogger(__name__)


def micro_time(now: datetime.datetime) -> str:
    """Return an instant as the API's MicroTime."""
    return now.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def beat_interval(spec: specs.LLMServiceSpec | None) -> float:
    """Seconds between two renewals of the heartbeat: a quarter of `failSafeAfter`, so that three may fail."""
    rollout = spec.rollout if spec else specs.Rollout()
    return base.seconds(rollout.fail_safe_after) / 4


class Writer:
    """The only hand that writes. Everything it does is counted."""

    def __init__(self, api: kube.Kube, counters: telemetry.Telemetry) -> None:
        self._api = api
        self._counters = counters
        self._gate = gate.Gate()

    async def apply(self, desired: Iterable[Object], seen: observe.Seen) -> None:
        """Apply the objects in their order, those that are as applied left out; stop at the first that fails."""
        for thing in desired:
            stamped = gate.stamped(thing)
            if self._gate.closed(stamped, seen.live.get(gate.key(stamped))):
                continue
            stored = await self._api.apply(stamped)
            self._gate.applied(stamped, stored)
            self._counters.wrote("apply", stamped["kind"])
            _log.info("applied %s %s", stamped["kind"], stamped["metadata"]["name"], extra=_extra(seen.observed))

    async def delete(self, doomed: Iterable[planned.Delete], seen: observe.Seen) -> None:
        """Delete the objects that exist and are not going already."""
        for one in doomed:
            key = (one.api_version, one.kind, seen.observed.namespace, one.name)
            live = seen.live.get(key)
            if live is None or "deletionTimestamp" in live["metadata"]:
                continue
            await self._api.delete(resources.of(one.api_version, one.kind), seen.observed.namespace, one.name, live["metadata"]["uid"])
            self._gate.forget(key)
            self._counters.wrote("delete", one.kind)
            _log.info("deleted %s %s", one.kind, one.name, extra=_extra(seen.observed))

    async def attempt(self, things: Iterable[Object], seen: observe.Seen) -> None:
        """Create objects that do not exist and that a pass can do without: what fails is logged and counted."""
        for thing in things:
            try:
                await self._api.create(resources.of(thing["apiVersion"], thing["kind"]), gate.stamped(thing))
                self._counters.wrote("create", thing["kind"])
                _log.info("created %s %s", thing["kind"], thing["metadata"]["name"], extra=_extra(seen.observed))
            except kube.Conflict:
                continue
            except kube.KubeError as error:
                self._counters.failed("attempt")
                _log.warning("%s %s was not created: %s", thing["kind"], thing["metadata"]["name"], error, extra=_extra(seen.observed))

    async def status(self, status: statuses.LLMServiceStatus, seen: observe.Seen) -> bool:
        """Write the status if it differs; Conflict where the service changed since it was read. Return whether it was written."""
        if status == seen.observed.status:
            return False
        await self._api.replace(resources.SERVICE_OBJECT, seen.thing | {"status": status.dump()}, "status")
        self._counters.wrote("status", base.KIND)
        return True

    async def events(self, events: Iterable[planned.Event], seen: observe.Seen) -> None:
        """Post the events; one that fails is logged and counted, for it changes nothing and the status tells the same."""
        for event in events:
            try:
                await self._api.create(resources.EVENT, _event(event, seen.observed))
                self._counters.wrote("create", "Event")
            except kube.KubeError as error:
                self._counters.failed("event")
                _log.warning("event %s was lost: %s", event.reason, error, extra=_extra(seen.observed))
            _log.info("%s: %s", event.reason, event.message, extra=_extra(seen.observed))

    async def beat(self, seen: observe.Seen, older_than: float) -> None:
        """Renew the service's heartbeat Lease unless it was renewed within the last `older_than` seconds."""
        value = seen.observed
        if value.heartbeat_renewed and (value.now - value.heartbeat_renewed).total_seconds() < older_than:
            return
        lease = {
            "apiVersion": resources.LEASE.api_version,
            "kind": resources.LEASE.kind,
            "metadata": value.ref.metadata(names.heartbeat(value.name), names.labels(value.name, "heartbeat")),
            "spec": {"holderIdentity": names.FIELD_MANAGER, "renewTime": micro_time(value.now)},
        }
        await self._api.apply(lease)
        self._counters.wrote("apply", "Lease")

    def forget(self, namespace: str, name: str) -> None:
        """Drop what is known of a service that is gone."""
        self._gate.forget_service(namespace, name)


def _event(event: planned.Event, about: observed.Observed) -> Object:
    """Return the Event object."""
    now = clock.text(about.now)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{about.name[:50]}.", "namespace": about.namespace},
        "involvedObject": {
            "apiVersion": resources.SERVICE_OBJECT.api_version,
            "kind": base.KIND,
            "name": about.name,
            "namespace": about.namespace,
            "uid": about.uid,
        },
        "type": event.type,
        "reason": event.reason,
        "message": event.message[:_MESSAGE_LIMIT],
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
        "source": {"component": names.FIELD_MANAGER},
        "reportingComponent": f"{base.GROUP}/operator",
        "reportingInstance": names.FIELD_MANAGER,
    }


def _extra(about: observed.Observed) -> dict[str, str]:
    """Fields of a log line about a service."""
    return {"namespace": about.namespace, "service": about.name}
