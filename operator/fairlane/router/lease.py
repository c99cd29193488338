"""The agent's word to the operator: a Lease of its own, owned by the pod, with what it serves in an annotation."""

import asyncio
import datetime
import logging

import httpx

from ..core import names
from ..core.routing import document
from . import kube
from . import settings as configuration

_LOG = logging.getLogger(__name__)


class Acknowledger:
    """Writes the Lease when its state changes, and slowly otherwise."""

    def __init__(self, api: kube.Api, settings: configuration.Settings) -> None:
        self._api, self._settings = api, settings
        self._wanted: document.RouterState | None = None
        self._said: document.RouterState | None = None
        self._at = 0.0
        self._telling: asyncio.Task[None] | None = None

    @property
    def behind(self) -> bool:
        """Whether the operator has yet to be told the last state."""
        return self._said != self._wanted

    def say(self, state: document.RouterState, now: float) -> None:
        """Tell the operator, if there is something to tell; a failed try is repeated at the next call. Nothing waits for an API server that hangs."""
        self._wanted = state
        due = self.behind or now - self._at >= self._settings.renew_seconds
        if due and (self._telling is None or self._telling.done()):
            self._telling = asyncio.create_task(self._tell(now))

    async def _tell(self, now: float) -> None:
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self._settings.namespace}/leases/{self._settings.pod_name}"
        while (state := self._wanted) is not None:
            try:
                await self._api.apply(path, lease(self._settings, state, datetime.datetime.now(datetime.UTC)), names.FIELD_MANAGER)
            except (httpx.HTTPError, OSError) as error:
                _LOG.warning("cannot write Lease %s: %r", self._settings.pod_name, error)
                return
            self._said, self._at = state, now
            if not self.behind:
                return


def lease(settings: configuration.Settings, state: document.RouterState, now: datetime.datetime) -> kube.Object:
    """Return the Lease."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": settings.pod_name, "uid": settings.pod_uid}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": settings.pod_name,
            "namespace": settings.namespace,
            "labels": names.labels(settings.service, "router"),
            "annotations": {names.ROUTER_STATE_ANNOTATION: state.model_dump_json()},
            "ownerReferences": [owner],
        },
        "spec": {"holderIdentity": settings.pod_name, "renewTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")},
    }
