"""What the agent sees of its service: the route document, the EndpointSlices, the heartbeat."""

import asyncio
import logging
from collections.abc import Mapping

from ..core import errors, names
from ..core.objects import routes as objects
from ..core.routing import document, endpoints
from . import kube, watching
from . import settings as configuration

_LOG = logging.getLogger(__name__)


class View:
    """The three collections, kept up to date; `changed` is set with every news."""

    def __init__(self, api: kube.Api, settings: configuration.Settings) -> None:
        self.changed = asyncio.Event()
        self._settings = settings
        service, space = settings.service, settings.namespace
        core, wake = f"/api/v1/namespaces/{space}", self.changed.set
        self._routes = watching.Cache(api, f"{core}/configmaps", {"fieldSelector": f"metadata.name={names.routes(service)}"}, wake)
        slices = f"/apis/discovery.k8s.io/v1/namespaces/{space}/endpointslices"
        self._slices = watching.Cache(api, slices, {"labelSelector": f"{names.SERVICE_LABEL}={service}"}, wake)
        leases = f"/apis/coordination.k8s.io/v1/namespaces/{space}/leases"
        self._leases = watching.Cache(api, leases, {"fieldSelector": f"metadata.name={names.heartbeat(service)}"}, wake)
        self._last: document.RouteDocument | None = None
        self.problem = ""

    @property
    def caches(self) -> tuple[watching.Cache, ...]:
        """All three."""
        return (self._routes, self._slices, self._leases)

    @property
    def ready(self) -> bool:
        """Whether there is enough to write Envoy's files."""
        return self._slices.listed and self.route() is not None

    def route(self) -> document.RouteDocument | None:
        """Return the document, or the last good one where it is gone or cannot be read (`problem` says so)."""
        for item in self._routes.objects.values():
            try:
                self._last, self.problem = objects.parse(item), ""
            except errors.FairlaneError as error:
                if str(error) != self.problem:
                    _LOG.error("%s", error)
                self.problem = str(error)
        return self._last

    def endpoints(self) -> dict[str, tuple[endpoints.Endpoint, ...]]:
        """Return the engines by lane and revision."""
        return endpoints.from_slices(self._slices.objects.values())

    def heartbeat(self) -> str:
        """Return when the operator's Lease was renewed, in its own words; empty where there is none."""
        return next((str((item.get("spec") or {}).get("renewTime") or "") for item in self._leases.objects.values()), "")

    def in_rotation(self) -> bool:
        """Whether the router's Service still sends new connections to this pod."""
        return any(_ready(entry, self._settings.pod_name) for item in self._slices.objects.values() for entry in item.get("endpoints") or [])


def _ready(entry: Mapping[str, object], pod: str) -> bool:
    target, conditions = entry.get("targetRef") or {}, entry.get("conditions") or {}
    assert isinstance(target, dict)
    assert isinstance(conditions, dict)
    return target.get("name") == pod and conditions.get("ready") is not False
