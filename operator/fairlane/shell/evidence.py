"""Evidence with the service's own credentials: Secrets read anew each time, connections kept."""

import asyncio
import dataclasses

import httpx

from ..api import spec as specs
from ..core import errors, observed
from ..core.judge import types as judging
from . import caches, kube, prometheus, secrets, shapes

_KEPT = 32   # clients


class Gatherer:
    """Asks the Prometheus of each service."""

    def __init__(self, api: kube.Kube) -> None:
        self._api = api
        self._clients: dict[tuple[object, ...], httpx.AsyncClient] = {}

    async def gather(self, value: observed.Observed) -> prometheus.Gathered:
        """Return evidence, rates and traffic by lane; lanes whose numbers cannot be had are Unavailable."""
        assert value.spec is not None
        try:
            client = await self._client(value.spec.metrics.prometheus, value.namespace)
        except (errors.Refused, ValueError) as error:
            return self._none(value, "NotConfigured", str(error))
        except kube.KubeError as error:
            return self._none(value, "PrometheusError", str(error))
        gathered, traffic, loaded = await asyncio.gather(prometheus.gather(value, client), shapes.read(value, client), caches.read(value, client))
        return dataclasses.replace(gathered, traffic=traffic, caches=loaded)

    async def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()

    async def _client(self, source: specs.Prometheus, namespace: str) -> httpx.AsyncClient:
        """Return a client with the credentials as they are now."""
        root = "spec.metrics.prometheus"
        token = await secrets.read(self._api, namespace, source.token_secret_ref, f"{root}.tokenSecretRef")
        authority = await secrets.read(self._api, namespace, source.ca_secret_ref, f"{root}.caSecretRef")
        key = (token, authority, *sorted(source.headers.items()))
        if key not in self._clients:
            if len(self._clients) >= _KEPT:
                await self._clients.pop(next(iter(self._clients))).aclose()
            self._clients[key] = prometheus.client(token, authority, source.headers)
        return self._clients[key]

    def _none(self, value: observed.Observed, reason: str, message: str) -> prometheus.Gathered:
        """Return that no lane's numbers can be had."""
        return prometheus.Gathered({lane.name: judging.Unavailable(reason, message) for lane in value.status.lanes if lane.canary})
