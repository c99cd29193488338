"""The size of a model's weights, where no file says it."""

from collections.abc import Mapping
from typing import Any

from . import fields


def parameters(text: Mapping[str, Any], kv_heads: int, head_width: int) -> int:
    """Return the number of parameters of a dense model built like Llama.

    Embeddings (twice where the output has its own), and per layer the four attention matrices, three of the gated MLP and two norms; one last norm.
    Biases and norms of heads are left out: they are below 0.01 %.
    """
    vocabulary, hidden, layers = (fields.count(text, name) for name in ("vocab_size", "hidden_size", "num_hidden_layers"))
    queries = fields.count(text, "num_attention_heads") * head_width
    attention = 2 * hidden * queries + 2 * hidden * kv_heads * head_width
    layer = attention + 3 * hidden * fields.count(text, "intermediate_size") + 2 * hidden
    embeddings = vocabulary * hidden * (1 if fields.flag(text, "tie_word_embeddings", False) else 2)
    return embeddings + layers * layer + hidden
