"""Which Kubernetes objects would be created, changed or deleted."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...api import spec as specs
from .. import names, observed
from ..objects import router
from ..objects import routes as routes_objects
from ..rollout import routes, view
from . import types

_Key = tuple[str, str]
_PER_REVISION = ("ControllerRevision", "Service", "Deployment")


def around(before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> tuple[types.ObjectChange, ...]:
    """Return what changes from the one set of objects to the other."""
    old, new = ({(item["kind"], item["metadata"]["name"]): item for item in each} for each in (before, after))
    return tuple(_compared(old, new))


def built(seen: observed.Observed, spec: specs.LLMServiceSpec, views: Sequence[view.View]) -> list[dict[str, Any]]:
    """Return the objects that are no lane's. The routes are without splits: those follow from the rollouts."""
    lanes = tuple(routes.lane_route(each, each.status) for each in views)
    document = routes_objects.config_map(seen.ref, routes.assembled(seen, spec, lanes))
    return [*router.objects(seen.ref, spec, seen.settings), document]


def created(name: str, lane: str, revision: str) -> tuple[types.ObjectChange, ...]:
    """Return the objects of a revision that is new."""
    return tuple(types.ObjectChange("create", kind, names.engine(name, lane, revision)) for kind in _PER_REVISION)


def deleted(name: str, lane: str, revisions: Iterable[str]) -> tuple[types.ObjectChange, ...]:
    """Return the objects of revisions that go."""
    return tuple(types.ObjectChange("delete", kind, names.engine(name, lane, revision)) for revision in revisions if revision for kind in _PER_REVISION)


def budget(name: str, lane: str, verb: str) -> types.ObjectChange:
    """Return what becomes of the lane's disruption budget."""
    return types.ObjectChange(verb, "PodDisruptionBudget", names.lane(name, lane))


def resized(name: str, lane: str, revision: str) -> types.ObjectChange:
    """Return the Deployment whose replicas change."""
    return types.ObjectChange("update", "Deployment", names.engine(name, lane, revision))


def _compared(old: Mapping[_Key, Any], new: Mapping[_Key, Any]) -> Iterator[types.ObjectChange]:
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key):
            verb = "create" if key not in old else "delete" if key not in new else "update"
            yield types.ObjectChange(verb, *key)
