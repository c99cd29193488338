"""One operator at a time: a Lease that is held, renewed, released, and taken over when it expires.

As in client-go, expiry is judged by the watcher's own clock from the last change it saw, so that clocks need not agree.
"""

import asyncio
import contextlib
import dataclasses
import datetime
import logging
import time
from collections.abc import Callable
from typing import Any

from ..core import errors
from . import kube, resources, write

Object = dict[str, Any]

_log = logging.getLogger(__name__)


class Lost(errors.FairlaneError):
    """Another operator holds the Lease now."""


@dataclasses.dataclass(frozen=True)
class Candidate:
    """Who stands for election and where. `seconds` without a renewal make the Lease free."""

    namespace: str
    name: str
    identity: str
    seconds: float = 15.0


class Election:
    """Acquires, renews and releases the Lease. While the API server is away nobody can take it, so it is kept if still ours on return."""

    def __init__(
        self,
        api: kube.Kube,
        candidate: Candidate,
        now: Callable[[], datetime.datetime],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._me = candidate
        self._now = now
        self._monotonic = monotonic
        self._record: object = None        # the Lease as last seen to change
        self._changed = monotonic()
        self._renewed: float | None = None

    @property
    def pause(self) -> float:
        """Seconds between two looks at the Lease."""
        return self._me.seconds / 5

    def leads(self) -> bool:
        """Whether the Lease is ours for certain: renewed, and too recently for another to have taken it."""
        return self._renewed is not None and self._monotonic() - self._renewed < self._me.seconds * 0.8

    async def acquire(self) -> None:
        """Return once the Lease is ours."""
        waiting_for = ""
        while True:
            try:
                holder = await self._try()
            except kube.KubeError as error:
                _log.warning("the leader Lease cannot be had: %s", error)
            else:
                if holder == self._me.identity:
                    _log.info("leading as %s", holder)
                    return
                if holder != waiting_for:
                    _log.info("waiting: %s leads", holder)
                    waiting_for = holder
            await asyncio.sleep(self.pause)

    async def keep(self) -> None:
        """Renew until cancelled; Lost when another took the Lease."""
        while True:
            await asyncio.sleep(self.pause)
            try:
                holder = await self._try()
            except kube.KubeError as error:
                _log.warning("the leader Lease was not renewed: %s", error)
                continue
            if holder != self._me.identity:
                self._renewed = None
                raise Lost(f"{holder} leads now")

    async def release(self) -> None:
        """Let go of the Lease, so that the next operator need not wait for it to expire."""
        if self._renewed is None:
            return
        self._renewed = None
        with contextlib.suppress(kube.KubeError):   # it expires by itself
            lease = await self._api.get(resources.LEASE, self._me.namespace, self._me.name)
            if lease and _holder(lease) == self._me.identity:
                await self._api.replace(resources.LEASE, lease | {"spec": lease["spec"] | {"holderIdentity": ""}})

    async def _try(self) -> str:
        """Take or renew the Lease if it may be; return who holds it."""
        started = self._monotonic()
        lease = await self._api.get(resources.LEASE, self._me.namespace, self._me.name)
        self._observe(lease)
        if lease and not self._free(lease):
            return _holder(lease)
        try:
            if lease is None:
                await self._api.create(resources.LEASE, self._desired({}))
            else:
                await self._api.replace(resources.LEASE, self._desired(lease))
        except kube.Conflict:
            return "another"
        self._renewed = started
        return self._me.identity

    def _observe(self, lease: Object | None) -> None:
        """Note when the Lease was last seen to change."""
        spec = lease["spec"] if lease else None
        if spec != self._record:
            self._record, self._changed = spec, self._monotonic()

    def _free(self, lease: Object) -> bool:
        """Whether the Lease is ours, nobody's, or expired."""
        holder = _holder(lease)
        patience = lease["spec"].get("leaseDurationSeconds") or self._me.seconds
        return holder in ("", self._me.identity) or self._monotonic() - self._changed > patience

    def _desired(self, lease: Object) -> Object:
        """Return the Lease with us as its holder."""
        old = lease.get("spec", {})
        now = write.micro_time(self._now())
        mine = old.get("holderIdentity") == self._me.identity
        spec = {
            "holderIdentity": self._me.identity,
            "leaseDurationSeconds": max(1, round(self._me.seconds)),
            "acquireTime": old.get("acquireTime", now) if mine else now,
            "renewTime": now,
            "leaseTransitions": old.get("leaseTransitions", 0) + (0 if mine else 1),
        }
        metadata = lease.get("metadata", {"name": self._me.name, "namespace": self._me.namespace})
        return {"apiVersion": resources.LEASE.api_version, "kind": resources.LEASE.kind, "metadata": metadata, "spec": spec}


def _holder(lease: Object) -> str:
    """Return who holds the Lease."""
    return str(lease.get("spec", {}).get("holderIdentity") or "")
