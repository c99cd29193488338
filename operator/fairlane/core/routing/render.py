"""The files of one Envoy, from the route document and the engines that serve."""

import json
from collections.abc import Mapping

from .. import names
from . import bootstrap, clusters, document, endpoints, listener, protos, routes, split
from . import place as places


def files(
    route: document.RouteDocument, found: endpoints.Endpoints, fail_safe_active: bool, place: places.Place, node: str = "router"
) -> dict[str, str]:
    """Return the text of each file by its name. Every file but the bootstrap carries a version: the hash of what it says."""
    splits = {lane.name: split.of(lane, found, fail_safe_active) for lane in route.lanes}
    layer = protos.typed("envoy.service.runtime.v3.Runtime", name=bootstrap.RUNTIME_LAYER, layer=clusters.runtime(route))
    resources = {
        "lds.json": [listener.build(place, route.tls)],
        "rds.json": [routes.build(route, splits)],
        "cds.json": [clusters.cluster(lane.name, place) for lane in route.lanes],
        "rtds.json": [layer],
        **{
            f"eds-{lane.name}.json": [clusters.assignment(lane, found, reserve=not fail_safe_active and split.as_told(lane, splits[lane.name]))]
            for lane in route.lanes
        },
    }
    if route.tls:
        resources["sds.json"] = [listener.secret(place)]
    start = json.dumps(bootstrap.build(place, node), indent=1)
    return {"bootstrap.json": start} | {name: _response(content) for name, content in resources.items()}


def versions(rendered: Mapping[str, str]) -> dict[str, str]:
    """Return the version of each file that has one."""
    parsed = {name: json.loads(text) for name, text in rendered.items()}
    return {name: content["version_info"] for name, content in parsed.items() if "version_info" in content}


def _response(resources: list[protos.Config]) -> str:
    return json.dumps({"version_info": names.digest(resources, 16), "resources": resources}, indent=1)
