"""List and watch with resume: the agent's eyes. What was seen last stays valid while the API server is away."""

import asyncio
import json
import logging
from collections.abc import Callable

import httpx

from . import kube

_LOG = logging.getLogger(__name__)
_FIRST_BACKOFF, _LAST_BACKOFF = 0.2, 5.0


class Cache:
    """The objects of one collection, by name."""

    def __init__(self, api: kube.Api, path: str, params: dict[str, str], changed: Callable[[], None]) -> None:
        self._api, self._path, self._params, self._changed = api, path, params, changed
        self.objects: dict[str, kube.Object] = {}
        self.listed = False

    async def run(self) -> None:
        """Follow the collection for ever."""
        backoff = _FIRST_BACKOFF
        version = ""
        while True:
            try:
                if not version:
                    version = await self.list()
                backoff = _FIRST_BACKOFF
                version = await self._follow(version)
                await asyncio.sleep(_FIRST_BACKOFF)   # a server that ends every watch at once is not asked in a loop
            except kube.GoneError:
                version = ""
            except (httpx.HTTPError, json.JSONDecodeError, OSError) as error:
                _LOG.warning("watching %s: %r; trying again in %.1f s", self._path, error, backoff)
                version = "" if isinstance(error, httpx.HTTPStatusError) else version
                await asyncio.sleep(backoff)
                backoff = min(backoff * 2, _LAST_BACKOFF)

    async def list(self) -> str:
        """Read everything once; return the version to watch from."""
        items, version = await self._api.list(self._path, self._params)
        self.objects = {item["metadata"]["name"]: item for item in items}
        self.listed = True
        self._changed()
        return version

    async def _follow(self, version: str) -> str:
        async for event in self._api.watch(self._path, self._params, version):
            item = event["object"]
            version = item["metadata"]["resourceVersion"]
            if event["type"] == "BOOKMARK":
                continue
            if event["type"] == "DELETED":
                self.objects.pop(item["metadata"]["name"], None)
            else:
                self.objects[item["metadata"]["name"]] = item
            self._changed()
        return version
