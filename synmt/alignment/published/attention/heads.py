"""Attention heads on top of a frozen translation model, with queries and keys of their own."""

from typing import TYPE_CHECKING

from synmt.alignment.published.attention.forced import Forced
from synmt.nn.config import TransformerConfig

if TYPE_CHECKING:
    from torch import Tensor, nn


def attention_heads(config: TransformerConfig) -> "nn.ModuleDict":
    """Return heads that only attend: they have queries and keys, but no values."""
    from torch import nn

    from synmt.nn.transformer import reset_products

    heads = nn.ModuleDict({name: nn.Linear(config.width, config.width) for name in ("query", "key")})
    reset_products(heads)
    return heads


def mean_weights(forced: Forced, states: "Tensor") -> "Tensor":
    """Return the mean weights of a module's heads, with states as queries → [B,I,J] in fp32"""
    from synmt.nn.attention import attention_weights, split_heads

    module, heads = forced.module, forced.model.network.config.heads
    query, key = split_heads(module.query(states), heads), split_heads(module.key(forced.encoded.states), heads)
    return attention_weights(query, key, forced.encoded.bias).mean(dim=1)
