"""Which engines may be sent requests, from the EndpointSlices of the service's revisions."""

import dataclasses
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from .. import names
from . import document

Endpoints = Mapping[str, tuple["Endpoint", ...]]
"""By "<lane>/<revision>"."""


@dataclasses.dataclass(frozen=True, order=True)
class Endpoint:
    """One engine pod. One that is not ready or is terminating takes no new request; its open streams end in peace."""

    address: str
    port: int = names.ENGINE_PORT
    serving: bool = True


def key(lane: str, revision: str) -> str:
    """Return the name of a revision's endpoints."""
    return f"{lane}/{revision}"


def serving(endpoints: Endpoints, lane: str, revision: str) -> tuple[Endpoint, ...]:
    """Return the endpoints of a revision that take new requests."""
    return tuple(endpoint for endpoint in endpoints.get(key(lane, revision), ()) if endpoint.serving)


def standing_by(track: document.Track, serving_: Iterable[Endpoint]) -> frozenset[Endpoint]:
    """Return those that get no request while the others serve. All routers choose the same, and one that comes or goes changes one place at most."""
    if track.in_use is None:
        return frozenset()
    return frozenset(sorted(serving_, key=_place)[track.in_use:])


def _place(endpoint: Endpoint) -> tuple[int, Endpoint]:
    """By hash: neighbouring addresses are often on one node."""
    return zlib.crc32(f"{endpoint.address}:{endpoint.port}".encode()), endpoint


def counts(route: document.RouteDocument, endpoints: Endpoints) -> dict[str, int]:
    """Return how many engines a router may use of each revision that its routes know."""
    return {key(lane.name, track.revision): len(serving(endpoints, lane.name, track.revision)) for lane in route.lanes for track in lane.tracks}


def from_slices(slices: Iterable[Mapping[str, Any]]) -> dict[str, tuple[Endpoint, ...]]:
    """Return the endpoints by lane and revision; slices without both labels belong to nobody."""
    found: dict[str, set[Endpoint]] = {}
    for item in slices:
        labels = item.get("metadata", {}).get("labels") or {}
        lane, revision = labels.get(names.LANE_LABEL), labels.get(names.REVISION_LABEL)
        if lane and revision:
            found.setdefault(key(lane, revision), set()).update(_of_slice(item))
    return {name: _merged(of_revision) for name, of_revision in sorted(found.items())}


def _of_slice(item: Mapping[str, Any]) -> Iterable[Endpoint]:
    ports = item.get("ports") or []
    port = next((entry["port"] for entry in ports if entry.get("port")), names.ENGINE_PORT)
    for entry in item.get("endpoints") or []:
        conditions = entry.get("conditions") or {}
        ready = conditions.get("ready") is not False and not conditions.get("terminating")   # nil means ready, says the API
        for address in (entry.get("addresses") or [])[:1]:   # the others are the same pod
            yield Endpoint(address=address, port=port, serving=ready)


def _merged(found: set[Endpoint]) -> tuple[Endpoint, ...]:
    """An address in two slices, while one is replaced by another, serves where either says so."""
    best: dict[tuple[str, int], Endpoint] = {}
    for endpoint in found:
        place = (endpoint.address, endpoint.port)
        if place not in best or endpoint.serving:
            best[place] = endpoint
    return tuple(sorted(best.values()))
