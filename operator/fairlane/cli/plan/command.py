"""From a file to its preview, and to the exit code."""

from collections.abc import Mapping
from typing import Any

from ...api import admission
from ...api import spec as specs
from ...api import status as statuses
from ...core.engine import fitness
from ...core.engine.memory.answer import Preflight
from ...core.preview import preview, types
from .. import cluster, failures
from . import model

CLEAN, REFUSED, PENDING = 0, 1, 2


def previewed(document: Mapping[str, Any], sources: model.Sources, namespace: str | None) -> types.Preview:
    """Return what the document would do, compared with what the cluster runs; without one, as if nothing ran."""
    where = sources.where
    found = document.get("metadata")
    metadata: Mapping[str, Any] = found if isinstance(found, dict) else {}
    name, said = str(metadata.get("name", "?")), metadata.get("namespace")
    place = str(namespace or said or (where.namespace if where else "default"))
    if problems := admission.problems(document):
        return types.Preview(name, place, False, refused=tuple(problems))
    spec = specs.LLMServiceSpec.model_validate(document["spec"])
    running = _running(where, place, name) if where else None
    off = spec.rollout.preflight is specs.Preflight.OFF
    return preview.preview(name, place, spec, running, *(() if off else (_known(spec, place, sources),)))


def _known(spec: specs.LLMServiceSpec, namespace: str, sources: model.Sources) -> preview.Known:
    """What the memory is computed from."""
    asks = sources.where is not None and fitness.asks_nodes(spec)
    products = sources.where.gpu_products(spec.engine.gpu.resource) if sources.where and asks else frozenset()
    return preview.Known(model.read(spec, namespace, sources), products)


def _running(where: cluster.Cluster, namespace: str, name: str) -> preview.Running | None:
    """The service as the cluster has it; None where it has none of that name."""
    try:
        found = where.get(namespace, name)
    except failures.CommandError as error:
        if error.code == failures.MISSING:
            return None
        raise
    status = statuses.LLMServiceStatus.model_validate(found.get("status") or {})
    return preview.Running(specs.LLMServiceSpec.model_validate(found["spec"]), status)


def code(previews: list[types.Preview], detailed: bool) -> int:
    """Return the exit code: 1 where any would be refused, 2 with `detailed` where something would change, else 0."""
    if any(each.would_be_refused for each in previews):
        return REFUSED
    return PENDING if detailed and any(each.pending for each in previews) else CLEAN


def machine(each: types.Preview) -> dict[str, Any]:
    """Return the JSON form."""
    return {
        "name": each.name, "namespace": each.namespace, "comparedWithServer": each.compared, "refused": list(each.refused),
        "wouldBeRefused": each.would_be_refused, "changesPending": each.pending,
        "lanes": [_lane(lane) for lane in each.lanes],
        "appliesAtOnce": [_difference(item) for item in each.at_once],
        "objects": [{"verb": item.verb, "kind": item.kind, "name": item.name} for item in each.objects],
    }


def _lane(lane: types.Lane) -> dict[str, Any]:
    return {
        "name": lane.name, "refused": lane.refused, "change": lane.change.value, "about": lane.about, "revision": lane.revision,
        "command": list(lane.command),
        "flags": [{"name": flag.name, "value": flag.value, "setBy": flag.origin, "field": flag.field} for flag in lane.flags],
        "needsCanary": [_difference(item) for item in lane.canaried],
        "appliesAtOnce": [_difference(item) for item in lane.at_once],
        "gpus": [{"during": need.during, "gpus": need.gpus, "more": need.more} for need in lane.gpus],
        "memory": _memory(lane.memory) if lane.memory else None,
        "warnings": list(lane.warnings),
    }


def _memory(found: Preflight) -> dict[str, Any]:
    return {
        "answer": found.answer.value, "sentence": found.sentence, "parts": {part.name: part.bytes for part in found.parts},
        "kvTokens": found.kv_tokens, "concurrency": found.concurrency, "concurrencyTypical": found.concurrency_typical, "longestMaxModelLen": found.longest,
        "marginBytes": found.margin, "marginShare": found.margin_share, "doubts": list(found.doubts),
        "remedy": {"flag": found.remedy.flag, "value": found.remedy.value} if found.remedy else None,
    }


def _difference(item: types.Difference) -> dict[str, Any]:
    return {"field": item.field, "before": item.before, "after": item.after}
