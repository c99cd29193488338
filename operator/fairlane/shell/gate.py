"""Which of the desired objects have to be written: those whose hash is new, and those that somebody's hand has changed since."""

from typing import Any

from ..core import names

Object = dict[str, Any]
Key = tuple[str, str, str, str]


def key(thing: Object) -> Key:
    """Return what identifies an object."""
    metadata = thing["metadata"]
    return thing["apiVersion"], thing["kind"], metadata["namespace"], metadata["name"]


def stamped(desired: Object) -> Object:
    """Return the object with its own hash as an annotation."""
    metadata = desired["metadata"]
    annotations = metadata.get("annotations", {}) | {names.APPLIED_ANNOTATION: names.digest(desired, 16)}
    return desired | {"metadata": metadata | {"annotations": annotations}}


def projected(desired: Any, live: Any) -> Any:
    """Return the live value, reduced to the fields that the desired one has; lists of another length are kept whole."""
    if isinstance(desired, dict) and isinstance(live, dict):
        return {name: projected(value, live.get(name)) for name, value in desired.items()}
    if isinstance(desired, list) and isinstance(live, list) and len(desired) == len(live):
        return [projected(wanted, have) for wanted, have in zip(desired, live, strict=True)]
    return live


class Gate:
    """Knows what the API server made of the objects as last applied, so that its own defaults and spellings (`1000m` -> `1`) count as no change.

    After a restart it knows nothing; an object that the API server spells otherwise is then applied once more, which changes nothing.
    """

    def __init__(self) -> None:
        self._seen: dict[Key, str] = {}
        self._owners: dict[Key, tuple[str, str]] = {}

    def closed(self, desired: Object, live: Object | None) -> bool:
        """Whether nothing has to be written. `desired` is stamped."""
        if live is None or live["metadata"].get("deletionTimestamp") or _stamp(live) != _stamp(desired):
            return False
        reduced = projected(desired, live)
        return bool(reduced == desired or self._seen.get(key(desired)) == names.digest(reduced, 16))

    def applied(self, desired: Object, stored: Object) -> None:
        """Remember what the API server made of the object."""
        thing = key(desired)
        self._seen[thing] = names.digest(projected(desired, stored), 16)
        self._owners[thing] = (thing[2], desired["metadata"].get("labels", {}).get(names.SERVICE_LABEL, ""))

    def forget(self, thing: Key) -> None:
        """Drop what is known of an object that is gone."""
        self._seen.pop(thing, None)
        self._owners.pop(thing, None)

    def forget_service(self, namespace: str, service: str) -> None:
        """Drop what is known of a service's objects."""
        owned = [thing for thing, labelled in self._owners.items() if labelled == (namespace, service)]
        for thing in owned:
            self.forget(thing)


def _stamp(thing: Object) -> str:
    """Return the hash that an object carries."""
    return str(thing["metadata"].get("annotations", {}).get(names.APPLIED_ANNOTATION, ""))
