"""Five changes that end vLLM while it loads, each in its own way."""
from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from e2e.scenarios import manifests


@dataclasses.dataclass(frozen=True)
class Kind:
    """A change of the spec, and the reason that Fairlane must give."""

    name: str
    what: str
    change: Mapping[str, Any]       # merged into the spec
    lane: Mapping[str, Any]         # merged into its lane
    reason: str


_LIMITED = {"spec": {"containers": [{"name": "engine", "resources": {"limits": {"memory": "700Mi"}}}]}}

KINDS = (
    # 0.16 had --swap-space; the vLLM in the image is 0.32, which only its own parser can tell
    Kind("unknown-flag", "a flag of the version that the spec names, which the image does not have",
         {"engine": {"version": "0.16.0"}}, {"flags": {"swap-space": 4}}, "UnknownFlag"),
    Kind("model-missing", "a model that is not there", {"model": {"uri": "file:///opt/models/none"}}, {}, "ModelMissing"),
    Kind("length-beyond-model", "`maxModelLen` beyond the model's own", {}, {"scheduler": {"maxModelLen": 100_000}}, "ConfigRefused"),
    Kind("kv-too-small", "a KV cache too small for one prompt of `maxModelLen`", {}, {"flags": {"kv-cache-memory-bytes": "16M"}}, "KVCacheTooSmall"),
    Kind("memory-limit", "a container's memory limit below what vLLM takes", {"engine": {"pod": _LIMITED}}, {}, "OutOfMemory"),
)


def lane() -> dict[str, Any]:
    """The lane as it serves before each change."""
    return manifests.lane("chat", scheduler={"maxModelLen": 8192, "maxNumSeqs": 8, "maxNumBatchedTokens": 512}, timeouts={"idle": "60s"})
