"""The world of a router agent: an API server and an Envoy, both stand-ins that can go away, refuse and come back."""

import asyncio
import json
import pathlib
from typing import Any

from aiohttp import web

from fairlane.core import names, service
from fairlane.core.objects import routes as route_objects
from fairlane.core.routing import clusters, document
from fairlane.router import settings as configuration

SERVICE, SPACE, POD = "assistant", "ml", "assistant-router-1"
REF = service.ServiceRef(SERVICE, SPACE, "uid-0")
_SCOPES = {"lds.json": "listener_manager.lds", "cds.json": "cluster_manager.cds", "rds.json": "http.ingress.rds.routes", "rtds.json": "runtime"}


class ApiServer:
    """Lists, watches and Leases, as far as an agent uses them."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, dict[str, Any]]] = {"configmaps": {}, "endpointslices": {}, "leases": {}}
        self.version = 10
        self.leases: list[dict[str, Any]] = []      # every Lease as applied
        self.lists = 0
        self.gone_once = False                      # the next watch says that its version is too old
        self.hangs = False                          # Leases are never answered
        self._watches: list[tuple[str, asyncio.Queue[str | None]]] = []
        self._runner: web.AppRunner | None = None
        self.port = 0

    async def start(self) -> None:
        """Listen, on the same port as before if it did."""
        application = web.Application()
        application.router.add_get("/{api}/{rest:.*}/{kind}", self._get)
        application.router.add_patch("/{rest:.*}/leases/{name}", self._patch)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Go away and cut every watch."""
        self.cut()
        if self._runner is not None:
            await self._runner.cleanup()

    def cut(self) -> None:
        """End every watch."""
        for _, queue in self._watches:
            queue.put_nowait(None)
        self._watches.clear()

    def put(self, kind: str, item: dict[str, Any]) -> None:
        """Create or change an object."""
        self.version += 1
        item["metadata"]["resourceVersion"] = str(self.version)
        name = item["metadata"]["name"]
        self._tell(kind, "MODIFIED" if name in self.objects[kind] else "ADDED", item)
        self.objects[kind][name] = item

    def delete(self, kind: str, name: str) -> None:
        """Delete an object."""
        self.version += 1
        item = self.objects[kind].pop(name)
        item["metadata"]["resourceVersion"] = str(self.version)
        self._tell(kind, "DELETED", item)

    def _tell(self, kind: str, event: str, item: dict[str, Any]) -> None:
        for watched, queue in self._watches:
            if watched == kind:
                queue.put_nowait(json.dumps({"type": event, "object": item}))

    async def _get(self, request: web.Request) -> web.StreamResponse:
        kind = request.match_info["kind"]
        if "watch" not in request.query:
            self.lists += 1
            return web.json_response({"metadata": {"resourceVersion": str(self.version)}, "items": list(self.objects[kind].values())})
        response = web.StreamResponse()
        await response.prepare(request)
        if self.gone_once:
            self.gone_once = False
            await response.write(b'{"type":"ERROR","object":{"code":410,"metadata":{}}}\n')
            return response
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        self._watches.append((kind, queue))
        missed = [item for item in self.objects[kind].values() if int(item["metadata"]["resourceVersion"]) > int(request.query["resourceVersion"])]
        for item in missed:
            await response.write(json.dumps({"type": "MODIFIED", "object": item}).encode() + b"\n")
        while (line := await queue.get()) is not None:
            await response.write(line.encode() + b"\n")
        return response

    async def _patch(self, request: web.Request) -> web.Response:
        if self.hangs:
            await asyncio.sleep(60)
        lease = json.loads(await request.text())
        self.leases.append(lease)
        return web.json_response(lease)

    @property
    def said(self) -> document.RouterState | None:
        """What the agent said last."""
        if not self.leases:
            return None
        return document.RouterState.model_validate_json(self.leases[-1]["metadata"]["annotations"][names.ROUTER_STATE_ANNOTATION])


class Envoy:
    """An admin socket that takes, or refuses, what is in the files."""

    def __init__(self, root: pathlib.Path) -> None:
        self._root = root
        self.refuses = ""            # the file that it refuses
        self.active = 0
        self.drained = False
        self._refused: set[str] = set()
        self._taken: dict[str, str] = {}
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Listen on the admin socket."""
        application = web.Application()
        application.router.add_get("/stats", self._stats)
        application.router.add_post("/healthcheck/fail", self._fail)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.UnixSite(self._runner, str(self._root / "admin.sock")).start()

    async def stop(self) -> None:
        """Go away."""
        if self._runner is not None:
            await self._runner.cleanup()

    def file(self, name: str) -> Any:
        """Return what a file says now."""
        return json.loads((self._root / "xds" / "..data" / name).read_text())

    def weights(self, lane: str = "chat") -> dict[str, int]:
        """Return a lane's weights by role, as Envoy would follow them."""
        rules = self.file("rds.json")["resources"][0]["virtual_hosts"][0]["routes"]
        target = next(rule["route"] for rule in rules if rule["name"] == f"{lane}.1")
        entries = target["weighted_clusters"]["clusters"] if "weighted_clusters" in target else [target | {"weight": 100}]
        return {entry["metadata_match"]["filter_metadata"]["envoy.lb"]["role"]: entry["weight"] for entry in entries}

    def addresses(self, lane: str = "chat") -> list[tuple[str, str]]:
        """Return (address, role) of a lane's engines."""
        groups = self.file(f"eds-{lane}.json")["resources"][0]["endpoints"]
        entries = [entry for group in groups for entry in group["lb_endpoints"]]
        return [(entry["endpoint"]["address"]["socket_address"]["address"], entry["metadata"]["filter_metadata"]["envoy.lb"]["role"]) for entry in entries]

    async def _stats(self, _: web.Request) -> web.Response:
        folder = self._root / "xds" / "..data"
        lines = [f"http.ingress.downstream_rq_active: {self.active}"]
        for path in sorted(folder.glob("*.json")) if folder.exists() else []:
            version = json.loads(path.read_text()).get("version_info")
            scope = _SCOPES.get(path.name) or f"cluster.{clusters.name(path.stem.removeprefix('eds-'))}"
            if path.name == self.refuses and version != self._taken.get(path.name):
                self._refused.add(version)
            elif version:
                self._taken[path.name] = version
            refusals = len(self._refused) if path.name == self.refuses else 0
            lines += [f'{scope}.version_text: "{self._taken.get(path.name, "")}"', f"{scope}.update_rejected: {refusals}"]
        return web.Response(text="\n".join(lines))

    async def _fail(self, _: web.Request) -> web.Response:
        self.drained = True
        return web.Response(text="OK")


def settings(root: pathlib.Path, port: int) -> configuration.Settings:
    """The agent's settings in this world."""
    return configuration.Settings(
        service=SERVICE, namespace=SPACE, pod_name=POD, pod_uid="uid-1", root=str(root), api_host="127.0.0.1", api_port=port, api_scheme="http",
        account_dir=root / "account", renew_seconds=0.5, out_of_endpoints_seconds=5.0, linger_seconds=0.0,
    )  # fmt: skip


def config_map(weight: int = 0, in_use: int | None = None, **fields: Any) -> dict[str, Any]:
    """The route document of one lane with a stable, which uses so many of its engines, and a canary of this weight."""
    stable = document.Track(role="stable", revision="r-1", weight=100 - weight, in_use=in_use)
    tracks = (stable, document.Track(role="canary", revision="r-2", weight=weight))
    keep = fields.pop("fail_safe", "Stable")
    lane = document.LaneRoute(name="chat", tracks=tracks, fail_safe=keep, total_seconds=fields.pop("total_seconds", 600.0))
    return route_objects.config_map(REF, document.RouteDocument(namespace=SPACE, service=SERVICE, model="m", default_lane="chat", lanes=(lane,), **fields))


def engines(revision: str, *addresses: str, ready: bool = True) -> dict[str, Any]:
    """An EndpointSlice of a revision."""
    entries = [{"addresses": [address], "conditions": {"ready": ready, "serving": True, "terminating": not ready}} for address in addresses]
    metadata = {"name": f"chat-{revision}-x", "labels": names.labels(SERVICE, "engine", "chat", revision)}
    return {"metadata": metadata, "ports": [{"port": 8000}], "endpoints": entries}


def router_slice(ready: bool) -> dict[str, Any]:
    """The EndpointSlice of the router's own Service."""
    entry = {"addresses": ["10.0.0.9"], "conditions": {"ready": ready}, "targetRef": {"kind": "Pod", "name": POD}}
    return {"metadata": {"name": "router-x", "labels": names.labels(SERVICE, "router")}, "ports": [{"port": 8080}], "endpoints": [entry]}


def heartbeat(renewed: str) -> dict[str, Any]:
    """The operator's Lease."""
    return {"metadata": {"name": names.heartbeat(SERVICE)}, "spec": {"renewTime": renewed}}
