"""What the process that reads a claim's model leaves behind: one small JSON object as its container's termination message."""

import json

from . import fitness, modelfiles
from .memory import essence
from .memory.unknown import Unknown

LIMIT = 4096          # bytes of a container's termination message that the kubelet keeps
_CONFIG, _WEIGHTS, _ERROR = "config", "weightBytes", "error"
_WORDS = 300          # characters of an error: JSON takes up to twelve bytes for one


def message(found: fitness.Model) -> str:
    """Return the files, or why they cannot be had, as ASCII of at most `LIMIT` bytes: of config.json only what the memory's computation reads."""
    if isinstance(found, Unknown):
        return json.dumps({_ERROR: found.reason[:_WORDS]})
    try:
        text = json.dumps({_CONFIG: essence.essence(found.config), _WEIGHTS: found.weight_bytes}, separators=(",", ":"))
    except RecursionError:
        text = ""
    if 0 < len(text) <= LIMIT:
        return text
    return json.dumps({_ERROR: f"{modelfiles.CONFIG} of {found.source} has more in the fields that matter than a pod can tell ({LIMIT} bytes)"})


def parse(text: str, source: str) -> fitness.Model:
    """Return what `message` told; Unknown, with the words, where it is anything else. `source` is the model's own name."""
    told = modelfiles.parsed(text)
    if told is None:
        return Unknown(f"{source}: the pod that reads it ended without a word" if not text.strip() else f"{source}: {text.strip()[-_WORDS:]}")
    if isinstance(told.get(_ERROR), str):
        return Unknown(f"{source}: {told[_ERROR]}")
    config, weights = told.get(_CONFIG), told.get(_WEIGHTS)
    if not isinstance(config, dict) or not (weights is None or (isinstance(weights, int) and not isinstance(weights, bool) and 0 < weights < 2**63)):
        return Unknown(f"{source}: {text.strip()[:_WORDS]} is nothing that the pod which reads it says")
    return modelfiles.ModelFiles(config, weights, source)
