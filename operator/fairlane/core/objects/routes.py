"""The ConfigMap that carries the route document to the router agents."""

from collections.abc import Mapping
from typing import Any

import pydantic

from .. import errors, names, service
from ..routing import document


def config_map(ref: service.ServiceRef, route: document.RouteDocument) -> dict[str, Any]:
    """Return the ConfigMap of a route document."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": ref.metadata(names.routes(ref.name), names.labels(ref.name, "router")),
        "data": {document.KEY: route.model_dump_json(indent=1)},
    }


def parse(stored: Mapping[str, Any]) -> document.RouteDocument:
    """Return the document that a ConfigMap carries; FairlaneError where it carries none that can be read."""
    name = stored.get("metadata", {}).get("name", "")
    text = (stored.get("data") or {}).get(document.KEY)
    if text is None:
        raise errors.FairlaneError(f"ConfigMap {name}: data[{document.KEY}] is missing; delete the object and the operator writes it anew")
    try:
        return document.RouteDocument.model_validate_json(text)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        what = f"{'.'.join(map(str, first['loc']))}: {first['msg']}".removeprefix(": ")
        raise errors.FairlaneError(f"ConfigMap {name}: data[{document.KEY}] is no route document ({what}); delete the object") from error
