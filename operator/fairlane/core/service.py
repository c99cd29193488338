"""The service as builders of objects need it: identity, owner reference, metadata."""

import dataclasses
from typing import Any

from ..api import base


@dataclasses.dataclass(frozen=True)
class ServiceRef:
    """Identity of one LLMService."""

    name: str
    namespace: str
    uid: str

    @property
    def owner(self) -> dict[str, Any]:
        """The owner reference of every child: deleting the service deletes all, with the operator away too."""
        return {
            "apiVersion": f"{base.GROUP}/{base.VERSION}",
            "kind": base.KIND,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": False,
        }

    def metadata(self, name: str, labels: dict[str, str], annotations: dict[str, str] | None = None) -> dict[str, Any]:
        """Return the metadata of a child."""
        metadata: dict[str, Any] = {"name": name, "namespace": self.namespace, "labels": labels, "ownerReferences": [self.owner]}
        return metadata | ({"annotations": annotations} if annotations else {})
