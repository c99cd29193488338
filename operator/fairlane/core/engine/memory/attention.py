"""What a model keeps of each token: the shape of its KV cache."""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any

from . import fields
from .unknown import Unknown

# Each marks layers that keep something else than keys and values, or not of every token.
OTHER_LAYERS = (
    "attn_layer_period", "attention_chunk_size", "block_configs", "compress_ratios", "full_attention_interval", "hybrid_override_pattern", "index_topk",
    "layers_block_type", "linear_attn_config", "linear_num_key_heads", "mamba_d_state", "mamba_d_ssm", "rswa_window", "sliding_window_pattern", "ssm_cfg",
)


class Kind(enum.StrEnum):
    """How the layers attend; all of a model's layers alike."""

    FULL = "full"              # keys and values of every token, per head (MHA, GQA, MQA)
    LATENT = "latent"          # one compressed vector per token (MLA)
    SLIDING = "sliding"        # keys and values of the last tokens only


@dataclasses.dataclass(frozen=True)
class Attention:
    """The KV cache of one layer."""

    kind: Kind
    heads: int                 # query heads
    kv_heads: int              # 1 for LATENT
    width: int                 # numbers per head and token in keys, and as many in values; for LATENT in the one vector
    window: int | None = None  # tokens, for SLIDING

    def elements(self, tensor_parallel: int) -> int:
        """Return the numbers that one GPU keeps of one token in one layer. (vllm/config/model.py get_num_kv_heads; v1/kv_cache_interface.py)"""
        if self.kind is Kind.LATENT:
            return self.width
        return 2 * max(1, self.kv_heads // tensor_parallel) * self.width

    def splits_by(self, tensor_parallel: int) -> bool:
        """Whether vLLM can share the heads among so many GPUs: it splits KV heads evenly, or copies them evenly."""
        if self.heads % tensor_parallel:
            return False
        fewer, more = sorted((self.kv_heads, tensor_parallel))
        return self.kind is Kind.LATENT or more % fewer == 0


def read(text: Mapping[str, Any], is_latent: bool) -> Attention | Unknown:
    """Return the KV cache's shape from the language model's fields, Unknown where layers differ; Nonsense for values that cannot be."""
    marks = [name for name in OTHER_LAYERS if text.get(name)]
    if marks:
        return Unknown(f"config.json has {marks[0]}: not all layers keep keys and values of every token")
    heads = fields.count(text, "num_attention_heads")
    if is_latent:
        return Attention(Kind.LATENT, heads, 1, fields.count(text, "kv_lora_rank") + fields.count(text, "qk_rope_head_dim"))
    if text.get("kv_lora_rank") is not None:
        return Unknown("config.json has kv_lora_rank, but whether vLLM keeps this model's KV cache compressed is not known")
    kv_heads = fields.optional(text, "num_key_value_heads") or heads
    width = fields.first(text, "head_dim") or fields.count(text, "hidden_size") // heads
    if width == 0:
        raise fields.Nonsense("num_attention_heads", heads, "more than hidden_size")
    window = _window(text)
    if isinstance(window, Unknown):
        return window
    return Attention(Kind.FULL if window is None else Kind.SLIDING, heads, kv_heads, width, window)


def _window(text: Mapping[str, Any]) -> int | Unknown | None:
    """The window of all layers; None where none has one. (vllm/engine/arg_utils.py create_engine_config; transformers configuration_qwen2.py)"""
    kinds = set(fields.words(text, "layer_types"))
    layers = fields.count(text, "num_hidden_layers")
    if kinds - {"full_attention", "sliding_attention"} or len(kinds) > 1:
        return Unknown(f"config.json has layers of {' and '.join(sorted(kinds))} (layer_types): vLLM pads them into groups")
    window = fields.first(text, "sliding_window")
    if kinds == {"full_attention"} or window is None or not fields.flag(text, "use_sliding_window", True):
        return None
    untouched = text.get("max_window_layers")
    if kinds or text.get("use_sliding_window") is None or untouched is None or untouched == 0:
        return window
    if fields.count(text, "max_window_layers") >= layers:
        return None
    return Unknown(f"config.json has max_window_layers {untouched} of {layers}: the layers above it see a window, the others all tokens")
