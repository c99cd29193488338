"""Where a model's weights come from: hf://, pvc:// and file:// as what the pod needs."""

import dataclasses
import re
from typing import Any

from ...api import spec as specs
from .. import errors

CACHE_PATH = "/var/cache/huggingface"
_CLAIM_PATH = "/models"
_FIELD = "spec.model.uri"
_HF_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_CLAIM = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


@dataclasses.dataclass(frozen=True)
class Source:
    """What `vllm serve` gets as its model, and what the pod must have for it."""

    argument: str
    env: tuple[dict[str, Any], ...] = ()
    volumes: tuple[dict[str, Any], ...] = ()
    mounts: tuple[dict[str, Any], ...] = ()


def resolve(model: specs.ModelSource) -> Source:
    """Return the source that `model.uri` names; Refused where it is none."""
    scheme, _, rest = model.uri.partition("://")
    if scheme != "hf" and model.cache is not None:
        raise errors.Refused("spec.model.cache", f"{model.uri!r} is not fetched from the hub; leave the cache out, or use hf://")
    match scheme:
        case "hf":
            source = _hub(rest, model)
        case "pvc":
            source = _claim(rest, model)
        case "file":
            source = _file(rest, model)
        case _:
            raise errors.Refused(_FIELD, f"{model.uri!r} is no model; write hf://org/name, pvc://claim/path or file:///path")
    return dataclasses.replace(source, env=(*source.env, *_token(model.token_secret_ref)))


def _hub(name: str, model: specs.ModelSource) -> Source:
    if not _HF_ID.fullmatch(name):
        raise errors.Refused(_FIELD, f"{model.uri!r} names no model of the hub; write hf://org/name (a revision goes into spec.engine.flags.revision)")
    mount = {"name": "model-cache", "mountPath": CACHE_PATH}
    return Source(name, ({"name": "HF_HOME", "value": CACHE_PATH},), (_cache(model.cache or specs.CacheVolume()),), (mount,))


def _cache(cache: specs.CacheVolume) -> dict[str, Any]:
    if cache.claim_name is not None:
        return {"name": "model-cache", "persistentVolumeClaim": {"claimName": cache.claim_name}}
    return {"name": "model-cache", "emptyDir": {"sizeLimit": cache.size_limit} if cache.size_limit else {}}


def _claim(rest: str, model: specs.ModelSource) -> Source:
    claim, _, path = rest.partition("/")
    if not _CLAIM.fullmatch(claim) or not _is_plain(path):
        raise errors.Refused(_FIELD, f"{model.uri!r} names no folder of a claim; write pvc://claim/path")
    volume = {"name": "model", "persistentVolumeClaim": {"claimName": claim, "readOnly": True}}
    mount = {"name": "model", "mountPath": _CLAIM_PATH, "readOnly": True}
    return Source(f"{_CLAIM_PATH}/{path}".rstrip("/"), volumes=(volume,), mounts=(mount,))


def _file(path: str, model: specs.ModelSource) -> Source:
    if not path.startswith("/") or path == "/" or not _is_plain(path):
        raise errors.Refused(_FIELD, f"{model.uri!r} is no absolute path; write file:///path")
    return Source(path.rstrip("/"))


def _is_plain(path: str) -> bool:
    """Whether a path has no part that leads elsewhere and nothing unprintable."""
    return ".." not in path.split("/") and path.isprintable()


def _token(ref: specs.SecretKeyRef | None) -> tuple[dict[str, Any], ...]:
    return () if ref is None else ({"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": ref.name, "key": ref.key}}},)
