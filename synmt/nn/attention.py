"""The one attention function of the core, and its two modules: over a sequence itself and across to a memory.

Shapes: B sentences, H heads, Q queries, K keys, d model width, c = d/H channels of a head.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class AttentionEdit:
    """What an idea changes in one layer's self-attention, in this order; all else stays plain.

    scale: factors on the logits of the last k heads, [B,k,Q,K].
    bias: added to the logits, broadcastable to [B,H,Q,K]; −inf hides a key. A gradient flows into it.
    replace: from the layer's input [B,n,d] to the weights [B,Q,K] that the first head gets in place of its own.
    """

    scale: Tensor | None = None
    bias: Tensor | None = None
    replace: Callable[[Tensor], Tensor] | None = None


PLAIN = AttentionEdit()


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None = None,
    causal: bool = False,
    dropout: float = 0.0,
) -> Tensor:
    """softmax(query · keyᵀ / √c + bias) · value, the softmax running over keys (Vaswani et al. 2017, eq. 1).

    query [B,H,Q,c], key and value [B,H,K,c] → [B,H,Q,c].
    bias: added to the logits, broadcastable to [B,H,Q,K]; −inf hides a key. A gradient flows into it.
    causal: query i sees keys 0…i alone; excludes a bias.
    """
    if query.device.type == "cpu":  # whose bf16 kernel is slower than the fp32 one, 8 times for the gradient
        query, key, value = query.float(), key.float(), value.float()
    bias = bias.to(query.dtype) if bias is not None else None
    with torch.autocast(query.device.type, enabled=False):
        return F.scaled_dot_product_attention(
            query, key, value, attn_mask=bias, is_causal=causal, dropout_p=dropout
        )


def edited_attention(
    query: Tensor, key: Tensor, value: Tensor, edit: AttentionEdit, states: Tensor, dropout: float
) -> Tensor:
    """Attention whose first head is replaced, or whose last heads are scaled; the heads between run as in `attend`.

    query, key, value [B,H,n,c], states [B,n,d] the layer's input → [B,H,n,c].
    """
    heads = query.shape[1]
    first = 0 if edit.replace is None else 1
    end = heads if edit.scale is None else heads - edit.scale.shape[1]
    parts = []
    if edit.replace is not None:
        weights = F.dropout(edit.replace(states), dropout)
        parts.append(weights.unsqueeze(1).to(value.dtype) @ value[:, :1])
    if first < end:
        plain = slice(first, end)
        bias = _of_heads(edit.bias, plain, heads)
        parts.append(attend(query[:, plain], key[:, plain], value[:, plain], bias, dropout=dropout))
    if edit.scale is not None:
        scaled = slice(end, heads)
        bias = _of_heads(edit.bias, scaled, heads)
        with torch.autocast(query.device.type, enabled=False):
            logits = query[:, scaled].float() @ key[:, scaled].float().transpose(2, 3) * query.shape[-1] ** -0.5
            logits = logits * edit.scale
            weights = (logits if bias is None else logits + bias).softmax(dim=-1)
            parts.append(F.dropout(weights, dropout) @ value[:, scaled].float())
    return torch.cat([part.float() for part in parts], dim=1)


def edited_weights(query: Tensor, key: Tensor, edit: AttentionEdit, states: Tensor) -> Tensor:
    """The weights that `attend` and `edited_attention` give the values, in fp32, for those who want to see them.

    query, key [B,H,n,c], states [B,n,d] the layer's input → [B,H,n,n].
    """
    logits = query.float() @ key.float().transpose(2, 3) * query.shape[-1] ** -0.5
    if edit.scale is not None:
        plain, scaled = logits.split([logits.shape[1] - edit.scale.shape[1], edit.scale.shape[1]], dim=1)
        logits = torch.cat([plain, scaled * edit.scale], dim=1)
    weights = (logits if edit.bias is None else logits + edit.bias).softmax(dim=-1)
    if edit.replace is not None:
        weights = torch.cat([edit.replace(states).unsqueeze(1).to(weights.dtype), weights[:, 1:]], dim=1)
    return weights


def _of_heads(bias: Tensor | None, chosen: slice, heads: int) -> Tensor | None:
    return bias[:, chosen] if bias is not None and bias.shape[1] == heads else bias


def attention_weights(query: Tensor, key: Tensor, bias: Tensor | None) -> Tensor:
    """The softmax inside of `attend`; query [B,H,Q,c], key [B,H,K,c] → [B,H,Q,K] in fp32."""
    with torch.autocast(query.device.type, enabled=False):
        logits = query.float() @ key.float().transpose(2, 3) * query.shape[-1] ** -0.5
        return (logits if bias is None else logits + bias).softmax(dim=-1)


def split_heads(states: Tensor, heads: int) -> Tensor:
    """[B,n,d] → [B,H,n,c]"""
    batch, length, width = states.shape
    return states.view(batch, length, heads, width // heads).transpose(1, 2)


def merge_heads(states: Tensor) -> Tensor:
    """[B,H,n,c] → [B,n,d]"""
    batch, heads, length, channels = states.shape
    return states.transpose(1, 2).reshape(batch, length, heads * channels)


class SelfAttention(nn.Module):
    """Attention of a sequence over itself; query, key and value come out of one product."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, states: Tensor, edit: AttentionEdit = PLAIN, causal: bool = False) -> Tensor:
        """states [B,n,d] → [B,n,d]; causal excludes an edit."""
        query, key, value = (split_heads(part, self.heads) for part in self.qkv(states).chunk(3, dim=-1))
        dropout = self.dropout if self.training else 0.0
        if edit.scale is None and edit.replace is None:
            return self.out(merge_heads(attend(query, key, value, edit.bias, causal, dropout)))
        return self.out(merge_heads(edited_attention(query, key, value, edit, states, dropout)))

    def project(self, states: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Queries [Q,d] of some states, keys and values side by side [K,2d] of others."""
        width = self.out.in_features
        weight, bias = self.qkv.weight, self.qkv.bias
        return F.linear(states, weight[:width], bias[:width]), F.linear(memory, weight[width:], bias[width:])

    def weights(self, states: Tensor, edit: AttentionEdit = PLAIN) -> Tensor:
        """What each position attends to without dropout: states [B,n,d] → [B,H,n,n]."""
        query, key, _ = (split_heads(part, self.heads) for part in self.qkv(states).chunk(3, dim=-1))
        return edited_weights(query, key, edit, states)

    def step(self, state: Tensor, cache: tuple[Tensor, Tensor] | None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """One more position after the cached ones.

        state [B,1,d], cache: keys and values [B,H,t,c] of the positions so far, or None at the first
        → output [B,1,d] and the cache of t+1 positions.
        """
        query, key, value = (split_heads(part, self.heads) for part in self.qkv(state).chunk(3, dim=-1))
        if cache is not None:
            key, value = torch.cat([cache[0], key], dim=2), torch.cat([cache[1], value], dim=2)
        return self.out(merge_heads(attend(query, key, value))), (key, value)


class CrossAttention(nn.Module):
    """Attention of the decoder over the encoder's memory."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.query = nn.Linear(width, width)
        self.kv = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)

    def memory(self, encoded: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values [B,H,K,c] of the encoder's output [B,K,d]."""
        key, value = self.kv(encoded).chunk(2, dim=-1)
        return split_heads(key, self.heads), split_heads(value, self.heads)

    def forward(self, states: Tensor, memory: tuple[Tensor, Tensor], bias: Tensor | None) -> Tensor:
        """states [B,Q,d], bias [B,1,1,K] → [B,Q,d]. Queries do not see each other, so Q may be a beam."""
        dropout = self.dropout if self.training else 0.0
        query = split_heads(self.query(states), self.heads)
        return self.out(merge_heads(attend(query, *memory, bias, dropout=dropout)))

    def head_weights(self, states: Tensor, encoded: Tensor, bias: Tensor | None) -> Tensor:
        """What `forward` weighs the memory of `encoded` [B,K,d] by, before dropout: [B,H,Q,K] in fp32."""
        width = encoded.shape[-1]
        key = split_heads(F.linear(encoded, self.kv.weight[:width], self.kv.bias[:width]), self.heads)
        return attention_weights(split_heads(self.query(states), self.heads), key, bias)
