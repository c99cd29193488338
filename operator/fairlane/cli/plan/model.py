"""What the model's files say, from wherever they can be had: a folder, the file's own ConfigMap, the cluster's, the hub."""

import asyncio
import dataclasses
import os
import pathlib
from collections.abc import Mapping

from ... import hub
from ...api import spec as specs
from ...core.engine import fitness, modelfiles
from ...core.engine.memory.unknown import Unknown
from .. import cluster


@dataclasses.dataclass(frozen=True)
class Sources:
    """Where to look. `folder` is the user's, `config_maps` those of the file, `where` the cluster if one may be asked."""

    folder: pathlib.Path | None = None
    config_maps: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    where: cluster.Cluster | None = None
    offline: bool = False


def read(spec: specs.LLMServiceSpec, namespace: str, sources: Sources) -> fitness.Model:
    """Return what is known of the model; Unknown, with why, where nothing is."""
    if sources.folder is not None:
        return hub.folder(sources.folder)
    if spec.model.config_map_ref is not None:
        return _config_map(spec.model.config_map_ref.name, namespace, sources)
    model = modelfiles.hub_model(spec, spec.engine.flags)
    if model is None:
        return modelfiles.missing(spec)
    if sources.offline or hub.is_offline():
        return Unknown(f"the hub was not asked for {model.name}; leave --offline out, or name a folder with --model-config")
    return asyncio.run(hub.fetch(model, os.environ.get("HF_TOKEN", "")))


def _config_map(name: str, namespace: str, sources: Sources) -> fitness.Model:
    data = sources.config_maps.get(name)
    if data is None and sources.where is not None:
        data = sources.where.config_map(namespace, name)
    if data is None:
        asked = f"namespace {namespace}" if sources.where else "the file"
        return Unknown(f"spec.model.configMapRef: there is no ConfigMap {name} in {asked}; create it, or name a folder with --model-config")
    return modelfiles.of_config_map(data, name)
