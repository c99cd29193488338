"""kopf, for watching and resuming and nothing else: each event wakes the queue, and what it says is ignored.

No finalizers, no annotations, no change handlers, timers or daemons: kopf writes nothing here.
"""

from collections.abc import Callable, Mapping
from typing import Any

import kopf

from ..core import names
from . import queue, resources

Wake = Callable[[queue.Key], None]

_PATIENCE = [1, 1, 2, 3] + [5] * 120   # seconds between tries while the API server is away: ten minutes, then Kubernetes restarts the operator


class Wakes:
    """Turns events into wake-ups of the service that they belong to."""

    def __init__(self, wake: Wake) -> None:
        self._wake = wake
        self._states: dict[str, str] = {}

    def service(self, event: Mapping[str, Any]) -> None:
        """Wake a service for an event of its own."""
        metadata = event["object"]["metadata"]
        self._wake((metadata["namespace"], metadata["name"]))

    def child(self, event: Mapping[str, Any]) -> None:
        """Wake the service that an object belongs to."""
        metadata = event["object"]["metadata"]
        service = metadata.get("labels", {}).get(names.SERVICE_LABEL)
        if service:
            self._wake((metadata["namespace"], service))

    def lease(self, event: Mapping[str, Any]) -> None:
        """Wake the service for what an agent says anew; renewals say nothing."""
        metadata = event["object"]["metadata"]
        state = metadata.get("annotations", {}).get(names.ROUTER_STATE_ANNOTATION, "")
        if event["type"] == "DELETED":
            known = self._states.pop(metadata["uid"], None)
        else:
            known = self._states.get(metadata["uid"])
            self._states[metadata["uid"]] = state
        if known != state or event["type"] == "DELETED":
            self.child(event)


def registry(wakes: Wakes, on_stop: Callable[[], Any]) -> kopf.OperatorRegistry:
    """Return what kopf has to watch, and what to do when it ends."""
    handlers = kopf.OperatorRegistry()
    kopf.on.login(registry=handlers, id="service-account")(kopf.login_with_service_account)
    kopf.on.login(registry=handlers, id="kubeconfig")(kopf.login_with_kubeconfig)

    @kopf.on.cleanup(registry=handlers)
    async def stop(**_: Any) -> None:
        await on_stop()

    own = resources.SERVICE_OBJECT

    @kopf.on.event(own.group, own.version, own.plural, registry=handlers)
    async def changed(event: kopf.RawEvent, **_: Any) -> None:
        wakes.service(event)

    for resource in resources.WATCHED:
        _watch(handlers, resource, wakes.lease if resource is resources.LEASE else wakes.child)
    return handlers


def _watch(handlers: kopf.OperatorRegistry, resource: resources.Resource, wake: Callable[[Mapping[str, Any]], None]) -> None:
    """Watch one kind of children."""

    @kopf.on.event(resource.group, resource.version, resource.plural, registry=handlers, id=resource.plural)
    async def child_changed(event: kopf.RawEvent, **_: Any) -> None:
        wake(event)


def settings() -> kopf.OperatorSettings:
    """Return kopf's settings: children filtered by the API server, no scanning (so no cluster rights), no events, no peering."""
    result = kopf.OperatorSettings()
    result.posting.enabled = False
    result.scanning.disabled = True
    result.networking.request_timeout = 60
    result.networking.error_backoffs = _PATIENCE
    result.process.ultimate_exiting_timeout = 20
    result.queueing.exit_timeout = 1
    for resource in resources.WATCHED:
        result.watching.label_selectors[resource.group, resource.version, resource.plural] = names.SERVICE_LABEL
    return result
