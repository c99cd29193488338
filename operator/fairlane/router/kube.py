"""The four calls that an agent makes to the API server.

Plain HTTP instead of the generated client: its import alone costs a router pod more memory than the whole agent, and its watch reads lines of
at most 64 KiB, which an EndpointSlice of many pods exceeds.
"""

import json
import pathlib
import ssl
from collections.abc import AsyncIterator
from typing import Any

import httpx

Object = dict[str, Any]
_TIMEOUT = httpx.Timeout(10.0)
WATCH_SECONDS = 60   # short: a connection that died without a word costs no more than this


class GoneError(Exception):
    """The watch's place in history is gone: list again."""


class Api:
    """The API server, as one ServiceAccount sees it. httpx.HTTPError where it does not answer or says no."""

    def __init__(self, url: str, account: pathlib.Path) -> None:
        self._account = account
        authority = account / "ca.crt"
        verify: ssl.SSLContext | bool = ssl.create_default_context(cafile=str(authority)) if authority.exists() else True
        self._client = httpx.AsyncClient(base_url=url, verify=verify, timeout=_TIMEOUT, trust_env=False)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def list(self, path: str, params: dict[str, str]) -> tuple[list[Object], str]:
        """Return the objects and the version from which to watch."""
        response = await self._client.get(path, params=params, headers=self._headers())
        response.raise_for_status()
        body = response.json()
        return body.get("items") or [], body["metadata"]["resourceVersion"]

    async def watch(self, path: str, params: dict[str, str], version: str) -> AsyncIterator[Object]:
        """Yield events from a version on until the server ends the watch; GoneError where it no longer knows that version."""
        asked = params | {"watch": "true", "resourceVersion": version, "allowWatchBookmarks": "true", "timeoutSeconds": str(WATCH_SECONDS)}
        timeout = httpx.Timeout(10.0, read=WATCH_SECONDS + 15.0)
        async with self._client.stream("GET", path, params=asked, headers=self._headers(), timeout=timeout) as response:
            if response.status_code == httpx.codes.GONE:
                raise GoneError
            response.raise_for_status()
            async for line in response.aiter_lines():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise GoneError
                yield event

    async def apply(self, path: str, body: Object, manager: str) -> None:
        """Apply an object server-side."""
        headers = self._headers() | {"content-type": "application/apply-patch+yaml"}
        response = await self._client.patch(path, params={"fieldManager": manager, "force": "true"}, headers=headers, content=json.dumps(body))
        response.raise_for_status()

    def _headers(self) -> dict[str, str]:
        """The token is read anew each time: the kubelet renews it."""
        token = self._account / "token"
        return {"authorization": f"Bearer {token.read_text().strip()}"} if token.exists() else {}
