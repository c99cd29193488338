"""Reading the Secrets that a service names."""

import base64
import binascii

from ..api import spec as specs
from ..core import errors
from . import kube, resources


async def read(api: kube.Kube, namespace: str, reference: specs.SecretKeyRef | None, field: str) -> str:
    """Return the value; empty without a reference. Refused names the field and the remedy where there is none; KubeError passes through."""
    if reference is None:
        return ""
    try:
        secret = await api.get(resources.SECRET, namespace, reference.name)
    except kube.Rejected as error:
        remedy = "set rbac.readSecrets=true in the chart, or do without the Secret"
        raise errors.Refused(field, f"Secret {reference.name!r} cannot be read: {error.message}; {remedy}") from error
    data = (secret or {}).get("data", {})
    if reference.key not in data:
        raise errors.Refused(field, f"Secret {reference.name!r} has no key {reference.key!r} in namespace {namespace!r}; create it")
    try:
        return base64.b64decode(data[reference.key]).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise errors.Refused(field, f"key {reference.key!r} of Secret {reference.name!r} is no text") from error
