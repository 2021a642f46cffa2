"""The attention function and modules of the core, and how a run changes and records attention.

Shapes: B sentences, H heads, Q queries, K keys, d model width, c = d/H channels per head, k heads of a component.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from synmt.nn.dropout import dropout as drop
from synmt.nn.positions import Rotation


@dataclass(frozen=True, slots=True)
class Replacement:
    """Weights that some heads use instead of their own.

    heads: counted from 0; weights: a function from the attention's input [B,n,d] to their weights [B,k or 1,Q,K].
    """

    heads: tuple[int, ...]
    weights: Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True, eq=False)  # tensors have no single truth value to compare by
class Edit:
    """The changes to one attention.

    scale: multiplies the logits; bias: is then added to them, and hides a key by −inf; both broadcastable to [B,H,Q,K].
        Gradients flow through both.
    replaced: weights of single heads.
    blind: the queries from which every key is hidden, broadcastable to [B,H,Q,1], if there may be any. Their bias must
        be finite; their output is 0.
    """

    bias: Tensor | None = None
    scale: Tensor | None = None
    replaced: tuple[Replacement, ...] = ()
    blind: Tensor | None = None


PLAIN = Edit()


def safe(edit: Edit) -> Edit:
    """Return the edit with its blind queries set apart: a softmax over nothing would be NaN, as would its gradient."""
    if edit.bias is None:
        return edit
    blind = edit.bias.detach().amax(dim=-1, keepdim=True).isneginf()
    if sees_none(blind):
        return edit
    return Edit(edit.bias.masked_fill(blind, 0.0), edit.scale, edit.replaced, blind)


def sees_none(blind: Tensor) -> bool:
    """Return whether no query is blind; False on a GPU, for which looking would have to wait."""
    return blind.device.type == "cpu" and not bool(blind.any())


def attend(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None = None, causal: bool = False, dropout: float = 0.0
) -> Tensor:
    """Return softmax(query · keyᵀ / √c + bias) · value, with the softmax over keys (Vaswani et al. 2017, eq. 1).

    query [B,H,Q,c], key and value [B,H,K,c] → [B,H,Q,c].
    bias: added to the logits, broadcastable to [B,H,Q,K]; −inf hides a key. Gradients flow through it.
    causal: query i sees only keys 0…i. Cannot be combined with a bias.
    """
    if query.device.type == "cpu":  # its bf16 kernel is slower than fp32: 8 times in the backward pass
        query, key, value = query.float(), key.float(), value.float()
    bias = bias.to(query.dtype) if bias is not None else None
    with torch.autocast(query.device.type, enabled=False):
        if dropout and query.device.type == "cpu":  # where PyTorch's function takes 1.5 times as long
            bias = causal_bias(query.shape[2], query.device) if causal else bias
            return drop(attention_weights(query, key, bias), dropout) @ value
        return F.scaled_dot_product_attention(query, key, value, attn_mask=bias, is_causal=causal, dropout_p=dropout)


def hiding(hidden: Tensor) -> Tensor:
    """Return a bias that is −inf where `hidden` is true, else 0, in fp32."""
    return torch.zeros(hidden.shape, device=hidden.device).masked_fill_(hidden, float("-inf"))


def causal_bias(length: int, device: torch.device) -> Tensor:
    """Return a bias that hides later positions, [1,1,n,n]."""
    return torch.full((1, 1, length, length), float("-inf"), device=device).triu(1)


def attention_weights(query: Tensor, key: Tensor, bias: Tensor | None = None, scale: Tensor | None = None) -> Tensor:
    """Return softmax(scale · query · keyᵀ / √c + bias), as in `attend`: [B,H,Q,c] and [B,H,K,c] → [B,H,Q,K] in fp32."""
    return attention_logits(query, key, bias, scale).softmax(dim=-1)


def attention_logits(query: Tensor, key: Tensor, bias: Tensor | None = None, scale: Tensor | None = None) -> Tensor:
    """Return scale · query · keyᵀ / √c + bias in fp32: [..,Q,c] and [..,K,c] → [..,Q,K]"""
    with torch.autocast(query.device.type, enabled=False):
        logits = (query.float() * query.shape[-1] ** -0.5) @ key.float().transpose(-2, -1)
        logits = logits if scale is None else logits * scale
        return logits if bias is None else logits + bias


def edited_attention(query: Tensor, key: Tensor, value: Tensor, edit: Edit, inputs: Tensor, dropout: float) -> Tensor:
    """Return the output of `attend` under an edit.

    query [B,H,Q,c], key and value [B,H,K,c]; inputs: of the attention, for replacements → [B,H,Q,c].
    """
    if edit.scale is None and not edit.replaced:
        mixed = attend(query, key, value, edit.bias, dropout=dropout)
        return mixed if edit.blind is None else mixed.masked_fill(edit.blind, 0.0)
    weights = edited_weights(query, key, edit, inputs)
    with torch.autocast(query.device.type, enabled=False):
        return drop(weights, dropout) @ value.float()


def edited_weights(query: Tensor, key: Tensor, edit: Edit, inputs: Tensor) -> Tensor:
    """Return the weights of `edited_attention` before dropout, in fp32, [B,H,Q,K]."""
    weights = attention_weights(query, key, edit.bias, edit.scale)
    for each in edit.replaced:
        own = each.weights(inputs).to(weights.dtype).expand(len(weights), len(each.heads), -1, -1)
        every = list(weights.split(1, dim=1))
        for head, replaced in zip(each.heads, own.split(1, dim=1), strict=True):
            every[head] = replaced
        weights = torch.cat(every, dim=1)
    return weights if edit.blind is None else weights.masked_fill(edit.blind, 0.0)


def of_heads(tensor: Tensor, heads: tuple[int, ...]) -> Tensor:
    """Select heads from [B,H or 1,…]."""
    return tensor if tensor.shape[1] == 1 else tensor[:, list(heads)]


def split_heads(states: Tensor, heads: int) -> Tensor:
    """[B,n,d] → [B,H,n,c]"""
    batch, length, width = states.shape
    return states.view(batch, length, heads, width // heads).transpose(1, 2)


def merge_heads(states: Tensor) -> Tensor:
    """[B,H,n,c] → [B,n,d]"""
    batch, heads, length, channels = states.shape
    return states.transpose(1, 2).reshape(batch, length, heads * channels)


class Attended:
    """One call of an attention module. Nothing is computed until it is read; gradients flow if they do in the run.

    inputs: the states [B,Q,d] that the queries came from. leaks: the number of leading keys that are leaks.
    """

    def __init__(self, inputs: Tensor, query: Tensor, key: Tensor, edit: Edit, leaks: int = 0) -> None:
        self.inputs, self._query, self._key, self._edit, self._leaks = inputs, query, key, edit, leaks
        self.cut: Tensor | None = None

    @cached_property
    def all_weights(self) -> Tensor:
        """[B,H,Q,K] in fp32, before dropout, with the leak."""
        return edited_weights(self._query, self._key, self._edit, self.inputs)

    @property
    def weights(self) -> Tensor:
        """[B,H,Q,K] in fp32, before dropout and without the leak; after a cut, the weights that the run used."""
        return self.all_weights[..., self._leaks :] if self.cut is None else self.cut

    def logits(self, head: int) -> Tensor:
        """Return what enters the softmax of a head, counted from 0, [B,Q,K] in fp32. Raises ValueError if its weights
        are replaced."""
        if any(head in each.heads for each in self._edit.replaced):
            raise ValueError(f"the weights of head {head + 1} are replaced, so it has no logits")
        own = (None if each is None else of_heads(each, (head,))[:, 0] for each in (self._edit.bias, self._edit.scale))
        return attention_logits(self._query[:, head], self._key[:, head], *own)


class Enough(Exception):
    """Ends a run once the recorder has seen all the calls that it needs."""


class Recorder:
    """Records the calls of attention modules while it is open, in order. Losses, inspection and aligners read attention
    only from here."""

    def __init__(self, modules: Iterable[nn.Module], stop: bool = False, cut: bool = False) -> None:
        """stop: end the run inside the context as soon as the last module is called.
        cut: detach the weights, leaks included, so that gradients of later results stop at the recorded weights.
        """
        self.modules: list[Any] = list(modules)
        self.stop, self.cut = stop, cut
        self.calls: list[Attended] = []

    def __enter__(self) -> "Recorder":
        for module in self.modules:
            module.recorders = (*module.recorders, self)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        for module in self.modules:
            module.recorders = tuple(each for each in module.recorders if each is not self)
        return kind is Enough

    @property
    def weights(self) -> list[Tensor]:
        return [call.weights for call in self.calls]

    @property
    def inputs(self) -> list[Tensor]:
        return [call.inputs for call in self.calls]

    def see(self, call: Attended) -> None:
        if self.cut:
            call.cut = call.all_weights.detach().requires_grad_()
        self.calls.append(call)
        if self.stop and len(self.calls) == len(self.modules):
            raise Enough


class Attention(nn.Module):
    """What both kinds of attention share: heads, dropout, and recorders."""

    recorders: tuple[Recorder, ...] = ()
    heads: int
    dropout: float

    def mix(
        self,
        inputs: Tensor,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        edit: Edit,
        causal: bool = False,
        leaks: int = 0,
    ) -> Tensor:
        """Return the output of all heads, [B,H,Q,c], and show the call to the recorders."""
        dropout = self.dropout if self.training else 0.0
        if self.recorders:
            seen = Edit(causal_bias(query.shape[2], query.device)) if causal else edit
            call = Attended(inputs, query, key, seen, leaks)
            for recorder in self.recorders:
                recorder.see(call)
            if call.cut is not None or edit.replaced:  # replacements are computed once, since they may be random
                weights = call.all_weights if call.cut is None else call.cut
                with torch.autocast(query.device.type, enabled=False):
                    return drop(weights, dropout) @ value.float()
        if causal:
            return attend(query, key, value, causal=True, dropout=dropout)
        return edited_attention(query, key, value, edit, inputs, dropout)


class SelfAttention(Attention):
    """Attention of a sequence over itself. One matrix product yields query, key and value.

    rotary: whether to rotate queries and keys by their position.
    """

    def __init__(self, width: int, heads: int, dropout: float, rotary: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.rotation = Rotation(width // heads) if rotary else None
        self.dropout = dropout
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, states: Tensor, edit: Edit = PLAIN, causal: bool = False) -> Tensor:
        """states [B,n,d] → [B,n,d]. With causal, there is no edit."""
        parts: Tensor = self.qkv(states).unflatten(-1, (3, self.heads, -1))  # [B,n,3,H,c]
        if self.rotation is None:
            query, key, value = parts.unbind(2)
        else:
            both, own = parts.split([2, 1], dim=2)
            (query, key), value = self.rotation(both).unbind(2), own.squeeze(2)
        query, key, value = (part.transpose(1, 2) for part in (query, key, value))
        return self.out(merge_heads(self.mix(states, query, key, value, edit, causal)))

    def project(self, states: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Return the queries [Q,d] of some states, and the keys and values of others, side by side, [K,2d]."""
        width = self.out.in_features
        if not isinstance(self.qkv, nn.Linear):  # a packed weight cannot be sliced
            return self.qkv(states)[:, :width], self.qkv(memory)[:, width:]
        weight, bias = self.qkv.weight, self.qkv.bias
        return F.linear(states, weight[:width], bias[:width]), F.linear(memory, weight[width:], bias[width:])

    def step(self, states: Tensor, cache: "KeyCache", position: int | Tensor, edit: Edit = PLAIN) -> Tensor:
        """Compute the next position of K hypotheses per sentence, given the cache: [B,K,d] → [B,K,d]

        position: its index, or [B,K] if the hypotheses differ in length.
        edit: for the m cached and the K new keys, [B,H or 1,K,m+K]. Plain, every query sees every key.
        """
        width, projected = self.out.in_features, self.qkv(states)
        if self.rotation is not None:
            if not isinstance(position, Tensor):  # all hypotheses have the same length
                position = torch.full((1, 1), position, device=states.device)
            both, own = projected.split([2 * width, width], dim=-1)
            turned = self.rotation(both.unflatten(-1, (2 * self.heads, -1)), position)
            projected = torch.cat([turned.flatten(-2), own], dim=-1)
        query, memory = projected.split([width, 2 * width], dim=-1)
        key, value = cache.grown(memory, self.heads)
        query = split_heads(query, self.heads)
        return self.out(merge_heads(edited_attention(query, key, value, edit, states, 0.0)))


class KeyCache:
    """Keys and values of the hypotheses of B sentences, in the order in which they were computed. They are never moved.

    Each position of each hypothesis has its own key. The caller tracks which keys belong to which hypothesis.
    """

    CHUNK = 32  # positions to allocate at a time

    def __init__(self) -> None:
        self.room: Tensor | None = None  # [2,B,H,≥m,c]
        self.used = 0  # m

    def grown(self, memory: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        """Append K keys and values per sentence, [B,K,2d]. Return all keys and all values, [B,H,m,c] each."""
        batch, count, width = memory.shape
        start, self.used = self.used, self.used + count
        if self.room is None or self.used > self.room.shape[3]:
            # `attend` computes in fp32 on a CPU
            dtype = torch.float32 if memory.device.type == "cpu" else memory.dtype
            length = start + self.CHUNK * count
            room = memory.new_empty(2, batch, heads, length, width // (2 * heads), dtype=dtype)
            if self.room is not None:
                room[:, :, :, :start] = self.room[:, :, :, :start]
            self.room = room
        self.room[:, :, :, start : self.used] = memory.view(batch, count, 2, heads, -1).permute(2, 0, 3, 1, 4)
        keys, values = self.room[:, :, :, : self.used]
        return keys, values

    def select(self, sentences: Tensor) -> None:
        if self.room is not None:
            self.room = self.room[:, :, :, : self.used].index_select(1, sentences)


class CrossAttention(Attention):
    """Attention of the decoder over the encoder's output.

    leaky: add one learned key and value, which can absorb attention that fits no source token (Chen, Sun & Liu 2021).
    """

    def __init__(self, width: int, heads: int, dropout: float, leaky: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.query = nn.Linear(width, width)
        self.kv = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)
        self.leak = nn.Parameter(torch.empty(2, width)) if leaky else None

    def memory(self, encoded: Tensor) -> tuple[Tensor, Tensor]:
        """Return the keys and values [B,H,(1+)K,c] of the encoder's output [B,K,d], with the leak first."""
        key, value = (split_heads(part, self.heads) for part in self.kv(encoded).chunk(2, dim=-1))
        if self.leak is None:
            return key, value
        leak_key, leak_value = (
            row.view(1, self.heads, 1, -1).to(key.dtype).expand(len(key), -1, -1, -1) for row in self.leak
        )
        return torch.cat([leak_key, key], dim=2), torch.cat([leak_value, value], dim=2)

    def forward(self, states: Tensor, memory: tuple[Tensor, Tensor], edit: Edit = PLAIN) -> Tensor:
        """states [B,Q,d], edit on [B,H,Q,K] → [B,Q,d]. Queries do not interact, so Q can be the hypotheses of a beam.

        A leak has only a bias, which is padded for it.
        """
        query = split_heads(self.query(states), self.heads)
        if self.leak is not None and edit.bias is not None:
            edit = Edit(F.pad(edit.bias, (1, 0)))
        mixed = self.mix(states, query, *memory, edit, leaks=0 if self.leak is None else 1)
        return self.out(merge_heads(mixed))
