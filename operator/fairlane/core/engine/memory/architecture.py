"""A model as its config.json describes it: everything about it that takes memory."""

import dataclasses
import functools
from collections.abc import Mapping
from importlib import resources
from typing import Any

import yaml

from . import attention, fields, lengths, weights
from .unknown import Doubt, Unknown

EXPERTS = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")


@dataclasses.dataclass(frozen=True)
class Experts:
    """The mixture of experts in each layer."""

    chosen: int                # per token
    width: int                 # of one expert's hidden layer


@dataclasses.dataclass(frozen=True)
class Architecture:
    """What of a model takes memory."""

    name: str
    layers: int
    hidden: int
    vocabulary: int
    attention: attention.Attention
    mlp_width: int             # of a layer without experts; 0 where there is none
    experts: Experts | None
    is_tied: bool              # input and output share their embeddings
    element_bytes: int | None  # of one number in the checkpoint; None where it does not say
    is_quantised: bool
    longest: int | None        # tokens, by the model's own config
    weight_bytes: int | None   # of the whole model; None where neither files nor formula say it
    weights_from: str          # what says it
    doubts: tuple[Doubt, ...] = ()


@functools.cache
def _families() -> Mapping[str, Any]:
    data: dict[str, Any] = yaml.safe_load(resources.files(__package__).joinpath("data/architectures.yaml").read_text())
    return data


def read(config: Mapping[str, Any], weight_bytes: int | None) -> Architecture | Unknown:
    """Return what config.json says, Unknown where the KV cache cannot be computed from it.

    `weight_bytes` is the size of the weights' files (or `metadata.total_size` of model.safetensors.index.json); without it a formula answers for dense
    models built like Llama that are not quantised.
    """
    try:
        return _read(config, weight_bytes)
    except fields.Nonsense as problem:
        return Unknown(str(problem))


def _read(config: Mapping[str, Any], weight_bytes: int | None) -> Architecture | Unknown:
    names = fields.words(config, "architectures")
    family = _family(names[0]) if names else Unknown("config.json names no architectures")
    if isinstance(family, Unknown):
        return family
    text = fields.text_of(config)
    cache = attention.read(text, is_latent=family == "latent")
    if isinstance(cache, Unknown):
        return Unknown(f"{names[0]}: {cache.reason}")
    experts, is_quantised = _experts(text), _quantisation(text) is not None
    size, origin = _weights(text, weight_bytes, cache, has_formula=family == "dense" and experts is None and not is_quantised)
    return Architecture(
        name=names[0],
        layers=fields.count(text, "num_hidden_layers"),
        hidden=fields.count(text, "hidden_size"),
        vocabulary=fields.count(text, "vocab_size"),
        attention=cache,
        mlp_width=_mlp_width(text, experts),
        experts=experts,
        is_tied=fields.flag(text, "tie_word_embeddings", False),
        element_bytes=fields.element_bytes(text),
        is_quantised=is_quantised,
        longest=lengths.derived(text),
        weight_bytes=size,
        weights_from=origin,
        doubts=_doubts(text, family, weight_bytes),
    )


def _family(name: str) -> str | Unknown:
    """The list of data/architectures.yaml that has the name."""
    for mixed in _families()["mixed"]:
        if name in mixed["names"]:
            return Unknown(f"{name}: {mixed['why']}")
    found = next((family for family in ("dense", "other", "latent", "seeing") if name in _families()[family]), None)
    return found or Unknown(f"{name} is not one of the architectures whose KV cache is known here")


def _experts(text: Mapping[str, Any]) -> Experts | None:
    if fields.first(text, *EXPERTS) is None:
        return None
    width = fields.first(text, "moe_intermediate_size", "intermediate_size")
    if width is None:
        raise fields.Nonsense("moe_intermediate_size", None, "but the model has experts")
    return Experts(fields.count(text, "num_experts_per_tok"), width)


def _mlp_width(text: Mapping[str, Any], experts: Experts | None) -> int:
    if experts is not None and not text.get("first_k_dense_replace"):
        return 0
    return fields.count(text, "intermediate_size")


def _quantisation(text: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found = text.get("quantization_config", text.get("compression_config"))
    if found is not None and not isinstance(found, Mapping):
        raise fields.Nonsense("quantization_config", found, "no object")
    return found


def _weights(text: Mapping[str, Any], given: int | None, cache: attention.Attention, has_formula: bool) -> tuple[int | None, str]:
    if given is not None:
        if given <= 0:
            raise fields.Nonsense("the size of the weights' files", given, "no number above 0")
        return given, "the weights' files"
    if not has_formula:
        return None, "nothing"
    return weights.parameters(text, cache.kv_heads, cache.width) * (fields.element_bytes(text) or 2), "the formula for dense models"


def _doubts(text: Mapping[str, Any], family: str, weight_bytes: int | None) -> tuple[Doubt, ...]:
    found = []
    if family == "seeing":
        found.append(Doubt("the activation of the model's vision encoder is not computed", of_no=False))
    if weight_bytes is not None and text.get("num_nextn_predict_layers"):
        found.append(Doubt("the files also hold layers for speculation (num_nextn_predict_layers), which vLLM does not load", of_yes=False))
    quantisation = _quantisation(text) or {}
    if quantisation.get("kv_cache_scheme") or quantisation.get("kv_cache_quant_algo"):
        found.append(Doubt("the checkpoint asks for a smaller type of its KV cache, which not every version of vLLM follows", of_yes=False))
    return tuple(found)
