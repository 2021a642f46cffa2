"""The attention function and modules of the core, and how ideas edit and record attention.

Shapes: B sentences, H heads, Q queries, K keys, d model width, c = d/H channels per head, k heads of an edit.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from synmt.nn.dropout import dropout as drop
from synmt.nn.dropout import keeping
from synmt.nn.positions import Rotation

Edit = TypeVar("Edit")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, eq=False)  # tensors have no single truth value to compare by
class HeadEdit:
    """One idea's edit of the heads that it owns in one layer: a scale, a bias or a replacement.

    heads: the heads, counted from 0.
    scale: factors that multiply their logits, [B,k or 1,Q,K].
    bias: added to their logits, [B,k or 1,Q,K]; −inf hides a key.
    replace: a function from the layer's input [B,n,d] to the weights [B,Q,K] that these heads use instead of their own.
    """

    heads: tuple[int, ...]
    scale: Tensor | None = None
    bias: Tensor | None = None
    replace: Callable[[Tensor], Tensor] | None = None


@dataclass(frozen=True, slots=True)
class AttentionEdit:
    """The changes that ideas make to one layer's self-attention.

    bias: added to the logits of all heads, broadcastable to [B,H,Q,K]; −inf hides a key. Gradients flow through it.
    heads: edits of single heads. Raises ValueError if two of them edit the same head.
    penalty: exp of the strengths of masks, broadcastable to [B,H,Q,K]; `settled` subtracts it from the logits.
    watches: heads whose attention a loss needs. A watch changes nothing.
    """

    bias: Tensor | None = None
    heads: tuple[HeadEdit, ...] = ()
    penalty: Tensor | None = None
    watches: "tuple[HeadWatch, ...]" = ()

    def __post_init__(self) -> None:
        owned = [head for edit in self.heads for head in edit.heads]
        if len(set(owned)) < len(owned):
            raise ValueError(f"two edits of one head among {sorted(owned)}")

    def __add__(self, other: "AttentionEdit") -> "AttentionEdit":
        """Return both edits in one: biases add up, and the strengths of masks add up, so penalties multiply."""
        if self is PLAIN or other is PLAIN:
            return other if self is PLAIN else self
        bias = one_or_both(self.bias, other.bias, torch.add)
        penalty = one_or_both(self.penalty, other.penalty, torch.mul)
        return AttentionEdit(bias, self.heads + other.heads, penalty, self.watches + other.watches)

    def settled(self) -> "AttentionEdit":
        """Return the edit with its penalty turned into a bias, for use once the penalties of all ideas are combined."""
        if self.penalty is None:
            return self
        return replace(self, bias=one_or_both(self.bias, -self.penalty, torch.add), penalty=None)

    def of_last_query(self) -> "AttentionEdit":
        """Return the edit of the last query only, without replacements, which do not depend on the query."""
        edits = (HeadEdit(edit.heads, _last(edit.scale), _last(edit.bias)) for edit in self.heads)
        return AttentionEdit(_last(self.bias), tuple(edits))


PLAIN = AttentionEdit()


def per_layer(edits: Sequence[Edit], change: Callable[[Edit], Result]) -> list[Result]:
    """Return what `change` returns for each layer's edit. Layers that share an edit share the result, computed once."""
    distinct = {id(edit): edit for edit in edits}
    results = {key: change(edit) for key, edit in distinct.items()}
    return [results[id(edit)] for edit in edits]


class HeadWatch:
    """Records the attention of one head of a layer, counted from 0, in one run. It costs time only when it is read.

    states: the layer's input [B,n,d], set when the layer runs.
    """

    def __init__(self, head: int) -> None:
        self.head = head
        self.states = self._query = self._key = torch.empty(0)
        self._bias: Tensor | None = None

    def see(self, states: Tensor, query: Tensor, key: Tensor, edit: AttentionEdit) -> None:
        """Store a layer's input, and its queries and keys, [B,H,n,c]. Raises ValueError if the head is edited, since
        its attention then depends on more than these."""
        if any(self.head in own.heads for own in edit.heads):
            raise ValueError(f"head {self.head + 1} is edited, so it cannot be watched")
        self.states, self._query, self._key = states, query[:, self.head], key[:, self.head]
        self._bias = None if edit.bias is None else _of_heads(edit.bias, (self.head,))[:, 0]

    def logits(self) -> Tensor:
        """Return the logits that enter the head's softmax, [B,n,n] in fp32."""
        logits = attention_logits(self._query, self._key)
        return logits if self._bias is None else logits + self._bias


def one_or_both(first: Tensor | None, second: Tensor | None, join: Callable[[Tensor, Tensor], Tensor]) -> Tensor | None:
    """Return both tensors joined, the only one if the other is None, or None."""
    if first is None or second is None:
        return second if first is None else first
    return join(first, second)


def _last(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else tensor[:, :, -1:]


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
            bias = _causal_bias(query.shape[2], query.device) if causal else bias
            dropped: Tensor = _DroppedAttention.apply(query, key, value, bias, dropout)
            return dropped
        return F.scaled_dot_product_attention(query, key, value, attn_mask=bias, is_causal=causal, dropout_p=dropout)


def hiding(hidden: Tensor) -> Tensor:
    """Return a bias that is −inf where `hidden` is true, else 0, in fp32."""
    return torch.zeros(hidden.shape, device=hidden.device).masked_fill_(hidden, float("-inf"))


class _DroppedAttention(torch.autograd.Function):
    """`attend` with dropout on a CPU, in fewer passes over memory than separate operations need."""

    @staticmethod
    def forward(context: Any, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, rate: float) -> Tensor:
        context.shape, context.scale = query.shape, query.shape[-1] ** -0.5
        q, k, v = (each.reshape(-1, *each.shape[2:]) for each in (query, key, value))
        logits = torch.baddbmm(q.new_empty(()), q, k.transpose(1, 2), beta=0, alpha=context.scale)
        if bias is not None:
            logits.unflatten(0, query.shape[:2]).add_(bias)
            context.shape_of_bias = bias.shape
        weights = logits.softmax(dim=-1)
        factors = keeping(weights, rate)
        context.save_for_backward(q, k, v, weights, factors)
        return torch.bmm(weights * factors, v).view_as(query)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, weights, factors = context.saved_tensors
        shape, scale = context.shape, context.scale
        upstream = gradients[0].reshape(q.shape)
        d_v = torch.bmm((weights * factors).transpose(1, 2), upstream)
        d_weights = torch.bmm(upstream, v.transpose(1, 2)).mul_(factors)
        d_logits = torch.ops.aten._softmax_backward_data(d_weights, weights, -1, weights.dtype)
        d_q = torch.baddbmm(q, d_logits, k, beta=0, alpha=scale)
        d_k = torch.baddbmm(k, d_logits.transpose(1, 2), q, beta=0, alpha=scale)
        d_bias = None
        if context.needs_input_grad[3]:
            d_bias = d_logits.unflatten(0, shape[:2]).sum_to_size(context.shape_of_bias)
        d_query, d_key, d_value = (each.unflatten(0, shape[:2]) for each in (d_q, d_k, d_v))
        return d_query, d_key, d_value, d_bias, None


def attention_weights(query: Tensor, key: Tensor, bias: Tensor | None = None, scale: Tensor | None = None) -> Tensor:
    """Return softmax(scale · query · keyᵀ / √c + bias), as in `attend`: [B,H,Q,c] and [B,H,K,c] → [B,H,Q,K] in fp32."""
    with torch.autocast(query.device.type, enabled=False):
        logits = attention_logits(query, key)
        logits = logits if scale is None else logits * scale
        return (logits if bias is None else logits + bias).softmax(dim=-1)


def attention_logits(query: Tensor, key: Tensor) -> Tensor:
    """Return query · keyᵀ / √c in fp32: [..,Q,c] and [..,K,c] → [..,Q,K]"""
    with torch.autocast(query.device.type, enabled=False):
        return (query.float() * query.shape[-1] ** -0.5) @ key.float().transpose(-2, -1)


def edited_attention(
    query: Tensor, key: Tensor, value: Tensor, edit: AttentionEdit, states: Tensor | None, dropout: float
) -> Tensor:
    """Return the output of `attend` under an edit. Heads without a scale or a replacement run through `attend` itself.

    query [B,H,Q,c], key and value [B,H,K,c]; states [B,n,d]: the layer's input, for replacements → [B,H,Q,c].
    """
    if not edit.heads:
        return attend(query, key, value, edit.bias, dropout=dropout)

    def mix(own: HeadEdit, q: Tensor, k: Tensor, bias: Tensor | None) -> Tensor:
        v = _of_heads(value, own.heads)
        if own.scale is None and own.replace is None:
            return attend(q, k, v, bias, dropout=dropout).float()
        weights = drop(_own_weights(own, q, k, bias, states), dropout)
        with torch.autocast(query.device.type, enabled=False):
            return (weights.to(v.dtype) @ v if own.replace else weights @ v.float()).float()

    return _by_heads(query, key, edit, mix)


def edited_weights(query: Tensor, key: Tensor, edit: AttentionEdit, states: Tensor | None) -> Tensor:
    """Return the weights of `edited_attention` before dropout, in fp32, [B,H,Q,K]."""
    if not edit.heads:
        return attention_weights(query, key, edit.bias)
    return _by_heads(query, key, edit, lambda own, q, k, bias: _own_weights(own, q, k, bias, states).float())


def _own_weights(own: HeadEdit, query: Tensor, key: Tensor, bias: Tensor | None, states: Tensor | None) -> Tensor:
    """Return the weights of the heads of one edit, [B,k,Q,K]."""
    if own.replace is None:
        return attention_weights(query, key, bias, own.scale)
    assert states is not None
    return own.replace(states).unsqueeze(1).expand(-1, query.shape[1], -1, -1)


def _by_heads(query: Tensor, key: Tensor, edit: AttentionEdit, run: Callable[..., Tensor]) -> Tensor:
    """Call `run` once per edit, with the queries, keys and biases of its heads, and once for all unedited heads.
    Concatenate the results [B,k,…] in the order of the heads: [B,H,…]"""
    heads = query.shape[1]
    owned = {head for own in edit.heads for head in own.heads}
    if max(owned) >= heads:
        raise ValueError(f"edits head {max(owned)}, but there are only {heads}")
    others = tuple(head for head in range(heads) if head not in owned)
    groups = sorted([*edit.heads, *[HeadEdit(others)] * bool(others)], key=lambda own: own.heads)
    parts = []
    for own in groups:
        bias = one_or_both(None if edit.bias is None else _of_heads(edit.bias, own.heads), own.bias, torch.add)
        parts.append(run(own, _of_heads(query, own.heads), _of_heads(key, own.heads), bias))
    mixed, order = torch.cat(parts, dim=1), [head for own in groups for head in own.heads]
    return mixed if order == sorted(order) else mixed[:, [order.index(head) for head in range(heads)]]


def _of_heads(tensor: Tensor, heads: tuple[int, ...]) -> Tensor:
    """Select heads from [B,H or 1,…]."""
    if tensor.shape[1] == 1:
        return tensor
    if heads == tuple(range(heads[0], heads[-1] + 1)):
        return tensor[:, heads[0] : heads[-1] + 1]
    return tensor[:, list(heads)]


def split_heads(states: Tensor, heads: int) -> Tensor:
    """[B,n,d] → [B,H,n,c]"""
    batch, length, width = states.shape
    return states.view(batch, length, heads, width // heads).transpose(1, 2)


def merge_heads(states: Tensor) -> Tensor:
    """[B,H,n,c] → [B,n,d]"""
    batch, heads, length, channels = states.shape
    return states.transpose(1, 2).reshape(batch, length, heads * channels)


class Enough(Exception):
    """Ends a run once the recorder has all the weights that it needs."""


class Recorder:
    """Records the weights of attention modules while it is open. Inspection and aligners get weights only from here.

    weights: the weights of each call, in order, [B,H,Q,K] in fp32, before dropout and without the leak.
    inputs: the states [B,Q,d] that each call computed its queries from.
    Both have gradients if the run does.
    """

    def __init__(self, modules: Iterable[nn.Module], stop: bool = False, cut: bool = False) -> None:
        """stop: end the run inside the context as soon as the last module's weights are recorded.
        cut: detach the weights, leaks included, so that gradients of later results stop at the recorded weights.
        """
        self.modules: list[Any] = list(modules)
        self.stop, self.cut = stop, cut
        self.weights: list[Tensor] = []
        self.inputs: list[Tensor] = []

    def __enter__(self) -> "Recorder":
        for module in self.modules:
            module.recorder = self
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        for module in self.modules:
            module.recorder = None
        return kind is Enough

    def keep(self, inputs: Tensor, weights: Tensor, leaks: int = 0) -> Tensor:
        """Record weights, the first `leaks` keys being leaks, and return the weights that the run continues with."""
        if self.cut:
            weights = weights.detach().requires_grad_()
        self.inputs.append(inputs)
        self.weights.append(weights if self.cut or not leaks else weights[..., leaks:])
        if self.stop and len(self.weights) == len(self.modules):
            raise Enough
        return weights


class SelfAttention(nn.Module):
    """Attention of a sequence over itself. One matrix product yields query, key and value.

    rotary: whether to rotate queries and keys by their position.
    """

    recorder: Recorder | None = None

    def __init__(self, width: int, heads: int, dropout: float, rotary: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.rotation = Rotation(width // heads) if rotary else None
        self.dropout = dropout
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, states: Tensor, edit: AttentionEdit = PLAIN, causal: bool = False) -> Tensor:
        """states [B,n,d] → [B,n,d]. With causal, the edit may only contain watches."""
        query, key, value = (split_heads(part, self.heads) for part in self.qkv(states).chunk(3, dim=-1))
        if self.rotation is not None:
            query, key = self.rotation(query), self.rotation(key)
        dropout = self.dropout if self.training else 0.0
        for watch in edit.watches:
            watch.see(states, query, key, _causal(states) if causal else edit)
        if self.recorder is not None:
            weights = edited_weights(query, key, _causal(states) if causal else edit, states)
            weights = self.recorder.keep(states, weights)
            mixed = drop(weights, dropout) @ value.float()
        elif causal:
            mixed = attend(query, key, value, causal=True, dropout=dropout)
        else:
            mixed = edited_attention(query, key, value, edit, states, dropout)
        return self.out(merge_heads(mixed))

    def project(self, states: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Return the queries [Q,d] of some states, and the keys and values of others, side by side, [K,2d]."""
        width = self.out.in_features
        if not isinstance(self.qkv, nn.Linear):  # a packed weight cannot be sliced
            return self.qkv(states)[:, :width], self.qkv(memory)[:, width:]
        weight, bias = self.qkv.weight, self.qkv.bias
        return F.linear(states, weight[:width], bias[:width]), F.linear(memory, weight[width:], bias[width:])

    def step(self, states: Tensor, cache: "KeyCache", position: int | Tensor, bias: Tensor | None = None) -> Tensor:
        """Compute the next position of K hypotheses per sentence, given the cache: [B,K,d] → [B,K,d]

        position: its index, or [B,K] if the hypotheses differ in length.
        bias: as in `attend`, for the m cached and the K new keys, [B,H or 1,K,m+K]. With None, every query sees every
        key.
        """
        width = self.out.in_features
        query, memory = self.qkv(states).split([width, 2 * width], dim=-1)
        query = split_heads(query, self.heads)
        if self.rotation is not None:
            if not isinstance(position, Tensor):  # all hypotheses have the same length
                position = torch.full(states.shape[:2], position, device=states.device)
            query = self.rotation(query, position)
            key = merge_heads(self.rotation(split_heads(memory[..., :width], self.heads), position))
            memory = torch.cat([key, memory[..., width:]], dim=-1)
        key, value = cache.grown(memory, self.heads)
        return self.out(merge_heads(attend(query, key, value, bias)))


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


def _causal(states: Tensor) -> AttentionEdit:
    """Return the causal mask of states [B,n,d] as an edit."""
    return AttentionEdit(_causal_bias(states.shape[1], states.device))


def _causal_bias(length: int, device: torch.device) -> Tensor:
    return torch.full((1, 1, length, length), float("-inf"), device=device).triu(1)


class CrossAttention(nn.Module):
    """Attention of the decoder over the encoder's output.

    leaky: add one learned key and value, which can absorb attention that fits no source token (Chen, Sun & Liu 2021).
    """

    recorder: Recorder | None = None

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

    def forward(self, states: Tensor, memory: tuple[Tensor, Tensor], bias: Tensor | None) -> Tensor:
        """states [B,Q,d], bias [B,1,1,K] → [B,Q,d]. Queries do not interact, so Q can be the hypotheses of a beam."""
        key, value = memory
        dropout = self.dropout if self.training else 0.0
        query = split_heads(self.query(states), self.heads)
        if self.leak is not None and bias is not None:
            bias = F.pad(bias, (1, 0))
        if self.recorder is None:
            return self.out(merge_heads(attend(query, key, value, bias, dropout=dropout)))
        weights = attention_weights(query, key, bias)
        weights = self.recorder.keep(states, weights, leaks=0 if self.leak is None else 1)
        with torch.autocast(states.device.type, enabled=False):
            mixed = merge_heads(drop(weights, dropout) @ value.float())
        return self.out(mixed)
