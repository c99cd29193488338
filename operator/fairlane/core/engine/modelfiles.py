"""What a model's own files say of it: config.json, and the size of the weights by the safetensors index. Pure: texts in, values out."""

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any

from ...api import spec as specs
from .memory.unknown import Unknown

CONFIG, INDEX, SINGLE = "config.json", "model.safetensors.index.json", "model.safetensors"
WEIGHT_BYTES = "weightBytes"          # a key of the ConfigMap, for who has no index
REMEDY = "put it into a ConfigMap and name that in spec.model.configMapRef"
LIMIT = 32 * 2**20                    # bytes of a file: the index of a very large model has a few MiB

_COMMIT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")


@dataclasses.dataclass(frozen=True)
class ModelFiles:
    """config.json as read, and the bytes of all weights, None where no file says them."""

    config: Mapping[str, Any]
    weight_bytes: int | None
    source: str


@dataclasses.dataclass(frozen=True)
class HubModel:
    """A model of the hub: `owner/name` at a branch, tag or commit."""

    name: str
    revision: str = "main"


def hub_model(spec: specs.LLMServiceSpec, flags: Mapping[str, Any]) -> HubModel | None:
    """Return the model to ask the hub for, None where it is not the hub's. `flags` are a lane's effective values by name."""
    scheme, _, name = spec.model.uri.partition("://")
    revision = str(flags.get("revision") or "main")
    return HubModel(name, revision) if scheme == "hf" and _COMMIT.fullmatch(revision) and ".." not in revision else None


def is_on_claim(spec: specs.LLMServiceSpec) -> bool:
    """Whether only a pod can read the model's files: they are on a claim, and no ConfigMap has them."""
    return spec.model.uri.startswith("pvc://") and spec.model.config_map_ref is None


def parse(texts: Mapping[str, str], source: str, single_bytes: int | None = None) -> ModelFiles | Unknown:
    """Return what the files say, by name; Unknown where config.json is missing or none. `single_bytes` is the size of the weights' one file."""
    if CONFIG not in texts:
        return Unknown(f"{source} has no {CONFIG}")
    config = parsed(texts[CONFIG])
    if config is None:
        return Unknown(f"{CONFIG} of {source} is no JSON object")
    return ModelFiles(config, _total(texts) or single_bytes, source)


def of_config_map(data: Mapping[str, str], name: str) -> ModelFiles | Unknown:
    """Return what a ConfigMap says: config.json, and model.safetensors.index.json or weightBytes."""
    given = data.get(WEIGHT_BYTES, "").strip()
    if given and not (given.isdecimal() and given.isascii() and 0 < int(given) < 2**63):
        return Unknown(f"{WEIGHT_BYTES} of ConfigMap {name} is {given[:40]!r}; write the bytes of all weights as a whole number")
    return parse(data, f"ConfigMap {name}", int(given) if given else None)


def missing(spec: specs.LLMServiceSpec) -> Unknown:
    """Return why nothing is known here of a model that is not the hub's and has no ConfigMap."""
    where = "from here; the operator reads it before a revision starts" if is_on_claim(spec) else "from outside the engine's pods"
    return Unknown(f"{CONFIG} of {spec.model.uri} cannot be read {where}; {REMEDY}")


def _total(texts: Mapping[str, str]) -> int | None:
    """The index's metadata.total_size."""
    index = parsed(texts[INDEX]) if INDEX in texts else None
    metadata = index.get("metadata") if index else None
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    return int(total) if isinstance(total, (int, float)) and not isinstance(total, bool) and 0 < total < 2**63 else None


def parsed(text: str) -> dict[str, Any] | None:
    """Return a JSON object; None where the text is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
