"""The part of a config.json that is read here: a few hundred bytes of it."""

from collections.abc import Mapping
from typing import Any

from . import architecture, attention, lengths

_KEPT = (
    "architectures", "dtype", "first_k_dense_replace", "head_dim", "hidden_size", "intermediate_size", "kv_lora_rank", "max_window_layers",
    "moe_intermediate_size", "num_attention_heads", "num_experts_per_tok", "num_hidden_layers", "num_key_value_heads", "num_nextn_predict_layers",
    "original_max_position_embeddings", "qk_rope_head_dim", "sliding_window", "tie_word_embeddings", "torch_dtype", "use_sliding_window", "vocab_size",
    *architecture.EXPERTS, *lengths.NAMES,
)
_PARTS = {
    "rope_parameters": ("rope_type", "type", "factor", "original_max_position_embeddings"),
    "rope_scaling": ("rope_type", "type", "factor", "original_max_position_embeddings"),
    "quantization_config": ("kv_cache_scheme", "kv_cache_quant_algo"),
    "compression_config": ("kv_cache_scheme", "kv_cache_quant_algo"),
}
_NESTED = "text_config"


def essence(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config.json of which `architecture.read` says the same as of this one."""
    nested = config.get(_NESTED)
    if nested is None:
        return _fields(config)
    return _fields(config) | {_NESTED: _fields(nested) if isinstance(nested, Mapping) else nested}


def _fields(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of one level. Of lists and objects that may be long, only what is asked of them: which kinds of layers, whether there is any."""
    found = {name: config[name] for name in _KEPT if name in config}
    found |= {name: bool(config[name]) for name in attention.OTHER_LAYERS if name in config}
    found |= {name: _part(config[name], wanted) for name, wanted in _PARTS.items() if name in config}
    if "layer_types" in config:
        found["layer_types"] = _kinds(config["layer_types"])
    return found


def _part(value: Any, wanted: tuple[str, ...]) -> Any:
    """Some fields of an object, and one of our own where none of them is there: an object with fields is not an empty one."""
    if not isinstance(value, Mapping):
        return value
    return {name: value[name] for name in wanted if name in value} or dict.fromkeys(("more",) if value else (), True)


def _kinds(value: Any) -> Any:
    return sorted(set(value)) if isinstance(value, list) and all(isinstance(item, str) for item in value) else value
