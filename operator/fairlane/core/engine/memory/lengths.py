"""The longest sequence that a model's own config allows."""

from collections.abc import Mapping
from typing import Any

from . import fields

NAMES = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "max_sequence_length", "max_seq_length", "seq_len")
# These have their factor in max_position_embeddings already (vllm/config/model.py _get_and_verify_max_len).
_SCALED = ("su", "longrope", "llama3", "yarn", "deepseek_yarn", "deepseek_llama_scaling")


def derived(text: Mapping[str, Any]) -> int | None:
    """Return the tokens that vLLM takes where max-model-len is not given; None where the config says none. A tokenizer's own limit is not seen here."""
    stated = [found for name in NAMES if (found := fields.optional(text, name)) is not None]
    if not stated:
        return None
    rope = text.get("rope_parameters") or text.get("rope_scaling")
    if not isinstance(rope, Mapping):
        return min(stated)
    kind, factor = rope.get("rope_type", rope.get("type")), rope.get("factor")
    if kind == "longrope":
        return _original(text, rope) or min(stated)
    if kind in _SCALED or isinstance(factor, bool) or not isinstance(factor, int | float) or not 1 <= factor <= 1024:
        return min(stated)
    return int(min(stated) * factor)


def _original(text: Mapping[str, Any], rope: Mapping[str, Any]) -> int | None:
    name = "original_max_position_embeddings"
    return fields.optional(text if text.get(name) is not None else rope, name)
