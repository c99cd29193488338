"""Everything one pass sees, read anew each time: own writes are always among it, and no cache can mislead a decision."""

import asyncio
import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any

from ..core import names, observed
from . import convert, convert_pods, gate, kube, lastwords, resources

Object = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Seen:
    """One service as read: the value to decide on, and the raw objects that the writes need."""

    observed: observed.Observed
    thing: Object
    live: Mapping[gate.Key, Object]
    command_error: str = ""


class Observer:
    """Reads one service with everything that belongs to it. It does not read the evidence."""

    def __init__(self, api: kube.Kube, settings: observed.Settings) -> None:
        self._api = api
        self._settings = settings

    async def observe(self, namespace: str, name: str, now: datetime.datetime) -> Seen | None:
        """Return what there is; None where the service is gone or going: its objects go with it."""
        thing = await self._api.get(resources.SERVICE_OBJECT, namespace, name)
        if thing is None or "deletionTimestamp" in thing["metadata"]:
            return None
        lists = await self._lists(namespace, name)
        seen = _seen(thing, lists, now, self._settings)
        pods = await lastwords.heard(self._api, lists[resources.POD], seen.observed)
        return dataclasses.replace(seen, observed=dataclasses.replace(seen.observed, pods=pods))

    async def _lists(self, namespace: str, name: str) -> dict[resources.Resource, list[Object]]:
        """Return the objects of every kind that carry the service's label."""
        monitoring = [resource for resource in resources.MONITORING if resource.kind in self._settings.monitoring_crds]
        kinds = [*resources.OWNED, resources.POD, resources.LEASE, *monitoring]
        selector = f"{names.SERVICE_LABEL}={name}"
        found = await asyncio.gather(*(self._api.list(resource, namespace, selector) for resource in kinds))
        return dict(zip(kinds, found, strict=True))


def _seen(thing: Object, lists: Mapping[resources.Resource, list[Object]], now: datetime.datetime, settings: observed.Settings) -> Seen:
    """Return the lists as one value."""
    service = convert.service(thing)
    pods, leases = lists[resources.POD], lists[resources.LEASE]
    own = {resource: [one for one in found if convert.belongs(one, service.uid)] for resource, found in lists.items()}
    children = [one for resource, found in own.items() if resource is not resources.LEASE for one in found]
    routers = convert_pods.routers(pods, leases)
    value = observed.Observed(
        name=service.name,
        namespace=service.namespace,
        uid=service.uid,
        generation=service.generation,
        now=now,
        spec=service.spec,
        spec_error=service.spec_error,
        status=service.status,
        command=service.command,
        revisions=convert.revisions(own[resources.CONTROLLER_REVISION]),
        deployments=convert.deployments(own[resources.DEPLOYMENT]),
        pods=convert_pods.engines(pods),
        model_readers=convert_pods.model_readers(own[resources.POD]),
        router_pods=routers,
        router_ready=sum(router.ready and not router.terminating for router in routers),
        routes=convert.routes(own[resources.CONFIG_MAP], names.routes(service.name)),
        children=convert.children(children),
        loads=convert.loads(own[resources.CONFIG_MAP]),
        heartbeat_renewed=convert_pods.renewed(own[resources.LEASE], names.heartbeat(service.name)),
        settings=settings,
    )
    everything = [one for found in lists.values() for one in found]
    return Seen(value, thing, {gate.key(one): one for one in everything}, service.command_error)
