"""A small API server for the shell's tests: lists, server-side apply, status, watches, owners; it can be told to fail."""

import asyncio
import contextlib
import copy
import dataclasses
import json
import pathlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from kubernetes.aio.client import api_client, configuration

from fairlane.shell import kube, resources

Object = dict[str, Any]

_PATH = re.compile(
    r"/(?:api|apis)/(?P<version>v1|[^/]+/[^/]+)(?:/namespaces/(?P<namespace>[^/]+))?/(?P<plural>[a-z]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>status))?"
)
_KINDS = {(resource.api_version, resource.plural): resource.kind for resource in vars(resources).values() if isinstance(resource, resources.Resource)}
_KINDS |= {("v1", "namespaces"): "Namespace", ("apiextensions.k8s.io/v1", "customresourcedefinitions"): "CustomResourceDefinition"}   # kopf waits for them


@dataclasses.dataclass
class Failure:
    """An answer to give instead of the true one; status 0: none at all."""

    method: str
    path: str
    status: int
    times: int
    cause: str


def _merged(old: Any, new: Any) -> Any:
    """What server-side apply makes of two objects, as far as these tests go."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old | {name: _merged(old.get(name), value) for name, value in new.items()}
    return copy.deepcopy(new)


class Stub:
    """The server's objects, requests and failures."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str], Object] = {}     # (plural, namespace, name)
        self.requests: list[tuple[str, str]] = []
        self.failures: list[Failure] = []
        self.logs: dict[tuple[str, str], bytes] = {}              # (pod, value of `previous`)
        self.served = True
        self.url = ""
        self.down: Callable[[], Awaitable[None]]
        self.up: Callable[[], Awaitable[None]]
        self._version = 100
        self._watchers: list[tuple[str, str, asyncio.Queue[Object]]] = []

    @property
    def writes(self) -> list[tuple[str, str]]:
        """Requests that would change something, since the last `forget`."""
        return [request for request in self.requests if request[0] != "GET"]

    def forget(self) -> None:
        """Forget the requests so far."""
        self.requests.clear()

    def fail(self, method: str, path: str, status: int, times: int = 1, cause: str = "") -> None:
        """Fail the next requests whose path has the text."""
        self.failures.append(Failure(method, path, status, times, cause))

    def put(self, plural: str, thing: Object) -> Object:
        """Store an object as if somebody else had."""
        key = (plural, thing["metadata"].get("namespace", ""), thing["metadata"]["name"])
        old = self.objects.get(key, {})
        metadata = {"uid": f"uid-{self._version}", "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 0} | old.get("metadata", {})
        new = old | thing
        new["metadata"] = metadata | thing["metadata"]
        if "metadata" in old and new == old:
            return old
        new["metadata"]["generation"] += old.get("spec") != new.get("spec")
        return self._store(key, new, "MODIFIED" if old else "ADDED")

    def remove(self, plural: str, namespace: str, name: str) -> None:
        """Delete an object and what it owns."""
        gone = self.objects.pop((plural, namespace, name))
        self._tell(plural, "DELETED", gone)
        uid = gone["metadata"]["uid"]
        for key, thing in list(self.objects.items()):
            if key in self.objects and any(owner["uid"] == uid for owner in thing["metadata"].get("ownerReferences", [])):
                self.remove(*key)

    def named(self, plural: str) -> list[str]:
        """Names of the objects of a kind."""
        return sorted(name for kind, _, name in self.objects if kind == plural)

    def _store(self, key: tuple[str, str, str], thing: Object, event: str) -> Object:
        self._version += 1
        thing["metadata"]["resourceVersion"] = str(self._version)
        self.objects[key] = thing
        self._tell(key[0], event, thing)
        return thing

    def _tell(self, plural: str, event: str, thing: Object) -> None:
        for kind, namespace, queue in self._watchers:
            if kind == plural and namespace in ("", thing["metadata"]["namespace"]):
                queue.put_nowait({"type": event, "object": copy.deepcopy(thing)})

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        self.requests.append((request.method, request.path))
        for failure in self.failures:
            if failure.times and failure.method == request.method and failure.path in request.path:
                failure.times -= 1
                if failure.status == 0:
                    await asyncio.sleep(30)
                details = {"causes": [{"reason": failure.cause}]} if failure.cause else {}
                answer = {"kind": "Status", "message": f"told to answer {failure.status}", "details": details}
                return web.json_response(answer, status=failure.status)
        if request.path.endswith("/log"):
            log = self.logs.get((request.path.split("/")[-2], request.query["previous"]))
            return web.Response(body=log) if log is not None else web.json_response({"message": "no such log"}, status=400)
        found = _PATH.fullmatch(request.path)
        if not found:
            return self._discover(request.path)
        plural, namespace, name = found["plural"], found["namespace"] or "", found["name"]
        if name is None:
            return await self._collection(request, found["version"], plural, namespace)
        return await self._object(request, (plural, namespace, name), found["sub"] or "")

    def _discover(self, path: str) -> web.Response:
        version = path.removeprefix("/apis/").removeprefix("/api/").strip("/")
        known = [{"name": plural, "kind": kind, "namespaced": True, "singularName": kind.lower(), "verbs": ["list", "watch", "get", "patch"]}
                 for (api_version, plural), kind in _KINDS.items() if api_version == version]
        if path in ("/apis", "/api"):
            groups = sorted({api_version for api_version, _ in _KINDS if "/" in api_version})
            listed = [{"name": one.split("/")[0], "versions": [{"groupVersion": one, "version": one.split("/")[1]}],
                       "preferredVersion": {"groupVersion": one, "version": one.split("/")[1]}} for one in groups]
            return web.json_response({"groups": listed} if path == "/apis" else {"versions": ["v1"]})
        if not known or (version.startswith("fairlane") and not self.served) or version.startswith("monitoring"):
            return web.json_response({"kind": "Status", "message": "the server could not find the requested resource"}, status=404)
        return web.json_response({"kind": "APIResourceList", "groupVersion": version, "resources": known})

    async def _collection(self, request: web.Request, version: str, plural: str, namespace: str) -> web.StreamResponse:
        if request.method == "POST":
            body = await request.json()
            name = body["metadata"].get("name") or f"{body['metadata']['generateName']}{self._version}"
            if (plural, namespace, name) in self.objects:
                return web.json_response({"message": "exists"}, status=409)
            return web.json_response(self.put(plural, body | {"metadata": body["metadata"] | {"name": name}}), status=201)
        if request.query.get("watch") in ("true", "1"):
            return await self._watch(request, plural, namespace)
        items = [thing for (kind, where, _), thing in self.objects.items() if kind == plural and namespace in ("", where) and self._selected(request, thing)]
        bare = [{field: value for field, value in thing.items() if field not in ("kind", "apiVersion")} for thing in items]
        answer = {"apiVersion": version, "kind": f"{_KINDS[version, plural]}List", "metadata": {"resourceVersion": str(self._version)}, "items": bare}
        return web.json_response(answer)

    @staticmethod
    def _selected(request: web.Request, thing: Object) -> bool:
        name, _, value = request.query.get("labelSelector", "").partition("=")
        labels = thing["metadata"].get("labels", {})
        return not name or (labels.get(name) == value if value else name in labels)

    async def _watch(self, request: web.Request, plural: str, namespace: str) -> web.StreamResponse:
        queue: asyncio.Queue[Object] = asyncio.Queue()
        since = int(request.query.get("resourceVersion") or self._version)
        for (kind, where, _), thing in self.objects.items():
            if kind == plural and namespace in ("", where) and int(thing["metadata"]["resourceVersion"]) > since:
                queue.put_nowait({"type": "MODIFIED", "object": copy.deepcopy(thing)})
        self._watchers.append((plural, namespace, queue))
        response = web.StreamResponse()
        await response.prepare(request)
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            while True:
                await response.write(json.dumps(await queue.get()).encode() + b"\n")
        return response

    async def _object(self, request: web.Request, key: tuple[str, str, str], sub: str) -> web.Response:
        old = self.objects.get(key)
        if request.method == "PATCH":
            body = await request.json()
            merged = _merged(old, body) if old else body | {"metadata": body["metadata"]}
            return web.json_response(self.put(key[0], merged))
        if old is None:
            return web.json_response({"kind": "Status", "message": f"{key[0]} {key[2]!r} not found"}, status=404)
        if request.method == "PUT":
            body = await request.json()
            if body["metadata"].get("resourceVersion") != old["metadata"]["resourceVersion"]:
                return web.json_response({"kind": "Status", "message": "the object has been modified"}, status=409)
            new = old | {"status": body["status"]} if sub else body
            return web.json_response(self.put(key[0], copy.deepcopy(new)))
        if request.method == "DELETE":
            self.remove(*key)
        return web.json_response(old)


async def _listening(server: Stub, port: int = 0) -> web.AppRunner:
    """Serve on loopback; the port is chosen where none is given."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, reuse_address=True).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    return runner


@pytest.fixture
async def stub() -> AsyncIterator[Stub]:
    """The server, listening on loopback. `down` and `up` take it away and bring it back at the same address."""
    server = Stub()
    runners = [await _listening(server)]
    port = runners[0].addresses[0][1]

    async def down() -> None:
        await runners.pop().cleanup()

    async def up() -> None:
        runners.append(await _listening(server, port))

    server.down, server.up = down, up
    try:
        yield server
    finally:
        for runner in runners:
            await runner.cleanup()


@pytest.fixture
async def api(stub: Stub) -> AsyncIterator[kube.Kube]:
    """A client of the server that waits half a second for an answer."""
    client = kube.Kube(api_client.ApiClient(configuration.Configuration(host=stub.url)), request_seconds=0.5)
    try:
        yield client
    finally:
        await client.close()


@pytest.fixture
def kubeconfig(stub: Stub, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A KUBECONFIG that leads to the server."""
    path = tmp_path / "kubeconfig"
    content = {
        "apiVersion": "v1", "kind": "Config", "current-context": "stub",
        "contexts": [{"name": "stub", "context": {"cluster": "stub", "user": "stub", "namespace": "default"}}],
        "clusters": [{"name": "stub", "cluster": {"server": stub.url}}], "users": [{"name": "stub", "user": {"token": "t"}}],
    }
    path.write_text(json.dumps(content))
    monkeypatch.setenv("KUBECONFIG", str(path))
    return path
