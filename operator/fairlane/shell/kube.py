"""The Kubernetes API as a pass needs it: a thin typed layer over the official asyncio client.

KubeError
├── NotFound: 404
├── Conflict: 409, somebody else wrote first
├── Rejected: another 4xx, the API server refuses this request and will refuse it again
├── Terminating: 403, the namespace is being deleted and takes no new object
└── Unavailable: no connection, no answer in time, 429 or 5xx
"""

import json
import os
from collections.abc import Mapping
from typing import Any

import aiohttp
from kubernetes.aio import config as kube_config
from kubernetes.aio.client import api_client, configuration

from ..core import errors, names
from . import resources

Object = dict[str, Any]

_APPLY = "application/apply-patch+yaml"
_JSON = "application/json"
_LOG_BYTES = 1 << 20   # of a log, whatever its lines hold


class KubeError(errors.FairlaneError):
    """A request to the API server failed. `status` is the HTTP status, 0 without an answer."""

    def __init__(self, what: str, status: int, message: str) -> None:
        super().__init__(f"{what}: {message}")
        self.what = what
        self.status = status
        self.message = message


class NotFound(KubeError):
    """The object, or its kind, does not exist."""


class Conflict(KubeError):
    """The object changed since it was read."""


class Rejected(KubeError):
    """The API server refuses the request."""


class Terminating(KubeError):
    """The namespace is being deleted."""


class Unavailable(KubeError):
    """The API server cannot answer now."""


def _error(what: str, status: int, body: bytes) -> KubeError:
    """Return the error of an answer, with the API server's own words."""
    text = body.decode(errors="replace")
    try:
        answer = json.loads(text)
        message, causes = str(answer["message"]), answer.get("details", {}).get("causes", [])
    except (ValueError, KeyError, TypeError):
        message, causes = text.strip()[:300] or f"HTTP {status}", []
    if status == 429 or status >= 500:
        return Unavailable(what, status, message)
    if any(cause.get("reason") == "NamespaceTerminating" for cause in causes):
        return Terminating(what, status, message)
    return {404: NotFound, 409: Conflict}.get(status, Rejected)(what, status, message)


class Kube:
    """A client of one API server. Every request has a time limit."""

    def __init__(self, client: api_client.ApiClient, request_seconds: float = 10.0) -> None:
        self._client = client
        self._timeout = aiohttp.ClientTimeout(total=request_seconds)

    async def list(self, resource: resources.Resource, namespace: str, selector: str = "") -> list[Object]:
        """Return the objects of one kind that carry the labels, as the API server has them now (no cache)."""
        answer = await self._request("GET", resource.path(namespace), {"labelSelector": selector} if selector else {})
        return [{"apiVersion": resource.api_version, "kind": resource.kind} | item for item in answer.get("items", [])]

    async def get(self, resource: resources.Resource, namespace: str, name: str) -> Object | None:
        """Return one object; None where there is none."""
        try:
            return await self._request("GET", resource.path(namespace, name))
        except NotFound:
            return None

    async def apply(self, desired: Object) -> Object:
        """Apply the whole object with the operator's field manager; return it as stored."""
        resource = resources.of(desired["apiVersion"], desired["kind"])
        path = resource.path(desired["metadata"]["namespace"], desired["metadata"]["name"])
        return await self._request("PATCH", path, {"fieldManager": names.FIELD_MANAGER, "force": "true"}, desired, _APPLY)

    async def create(self, resource: resources.Resource, body: Object) -> Object:
        """Create one object; Conflict where it exists."""
        return await self._request("POST", resource.path(body["metadata"]["namespace"]), body=body)

    async def replace(self, resource: resources.Resource, body: Object, subresource: str = "") -> Object:
        """Replace an object or its subresource; Conflict where its resourceVersion is no longer the newest."""
        metadata = body["metadata"]
        return await self._request("PUT", resource.path(metadata["namespace"], metadata["name"], subresource), body=body)

    async def delete(self, resource: resources.Resource, namespace: str, name: str, uid: str = "") -> None:
        """Delete an object, its dependents in the background; nothing happens where it is gone or, with `uid`, another one."""
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        try:
            await self._request("DELETE", resource.path(namespace, name), body=options | ({"preconditions": {"uid": uid}} if uid else {}))
        except (NotFound, Conflict):
            return

    async def served(self, api_version: str) -> frozenset[str]:
        """Return the kinds that the API server has in a group version; empty where it has none."""
        try:
            answer = await self._request("GET", f"/apis/{api_version}")
        except NotFound:
            return frozenset()
        return frozenset(item["kind"] for item in answer.get("resources", []) if "/" not in item["name"])

    async def log(self, namespace: str, pod: str, container: str, *, previous: bool, lines: int) -> str:
        """Return the last lines of a container's log; of the container before its last restart with `previous`."""
        query = {"container": container, "tailLines": str(lines), "limitBytes": str(_LOG_BYTES), "previous": "true" if previous else "false"}
        data = await self._read("GET", resources.POD.path(namespace, pod, "log"), query, accept="*/*")
        return data.decode(errors="replace")

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()  # type: ignore[no-untyped-call]

    async def _request(
        self, method: str, path: str, query: Mapping[str, str] | None = None, body: Object | None = None, content_type: str = _JSON
    ) -> Object:
        """Make one request and read its answer as JSON; KubeError where it fails."""
        answer: Object = json.loads(await self._read(method, path, query, body, content_type))
        return answer

    async def _read(
        self, method: str, path: str, query: Mapping[str, str] | None = None, body: Object | None = None, content_type: str = _JSON, accept: str = _JSON
    ) -> bytes:
        """Make one request; KubeError where it fails."""
        what = f"{method} {path}"
        headers = {"Accept": accept, "Content-Type": content_type}
        try:
            serialized = await self._client.param_serialize(
                method, path, query_params=list((query or {}).items()), header_params=headers, body=body, auth_settings=["BearerToken"]
            )
            response = await self._client.call_api(*serialized, _request_timeout=self._timeout)
            data: bytes = await response.read()  # type: ignore[no-untyped-call]
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise Unavailable(what, 0, str(error) or f"no answer within {self._timeout.total:g} s") from error
        if not 200 <= response.status < 300:
            raise _error(what, response.status, data)
        return data


async def connect(request_seconds: float = 10.0) -> Kube:
    """Return a client by the pod's service account or, outside of a cluster, by KUBECONFIG; Rejected where there is neither."""
    settings = configuration.Configuration(client_session_kwargs={"trust_env": False})
    try:
        kube_config.load_incluster_config(client_configuration=settings)  # type: ignore[no-untyped-call]
    except kube_config.ConfigException:
        await _by_file(settings)
    return Kube(api_client.ApiClient(settings), request_seconds)


async def _by_file(settings: configuration.Configuration) -> None:
    """Fill in the connection that KUBECONFIG describes; the library itself reads the variable only when it is imported."""
    path = os.environ.get("KUBECONFIG") or "~/.kube/config"
    try:
        await kube_config.load_kube_config(config_file=path, client_configuration=settings)  # type: ignore[no-untyped-call]
    except kube_config.ConfigException as error:
        raise Rejected(f"KUBECONFIG {path}", 0, f"{error}; run in a cluster with a service account, or set KUBECONFIG") from error
