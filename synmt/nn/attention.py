"""The one attention function of the core, its two modules, and how ideas edit and see what it does.

Shapes: B sentences, H heads, Q queries, K keys, d model width, c = d/H channels of a head, k heads of an edit.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from synmt.nn.dropout import dropout as drop
from synmt.nn.dropout import keeping
from synmt.nn.positions import Rotation


@dataclass(frozen=True, slots=True)
class HeadEdit:
    """An edit of some heads in one layer, which are its idea's alone: one of three kinds.

    heads: which ones, counted from 0.
    scale: factors on their logits, [B,k or 1,Q,K].
    bias: added to their logits, [B,k or 1,Q,K]; −inf hides a key.
    replace: from the layer's input [B,n,d] to the weights [B,Q,K] that they get in place of their own.
    """

    heads: tuple[int, ...]
    scale: Tensor | None = None
    bias: Tensor | None = None
    replace: Callable[[Tensor], Tensor] | None = None


@dataclass(frozen=True, slots=True)
class AttentionEdit:
    """What ideas change in one layer's self-attention; all else stays plain.

    bias: added to the logits of all heads, broadcastable to [B,H,Q,K]; −inf hides a key. A gradient flows into it.
    heads: edits of some heads. Raises ValueError for a head that two of them have.
    penalty: exp of the strengths of masks, broadcastable to [B,H,Q,K], which `settled` takes off the logits.
    watches: of heads whose attention some loss needs; they change nothing.
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
        """Return both at once: biases add up, and so do the strengths of masks, whose penalties multiply."""
        bias = _joined(self.bias, other.bias, torch.add)
        penalty = _joined(self.penalty, other.penalty, torch.mul)
        return AttentionEdit(bias, self.heads + other.heads, penalty, self.watches + other.watches)

    def settled(self) -> "AttentionEdit":
        """Return the same edit with its penalty, once that of every idea is in it, as a bias."""
        if self.penalty is None:
            return self
        return replace(self, bias=_joined(self.bias, -self.penalty, torch.add), penalty=None)

    def of_last_query(self) -> "AttentionEdit":
        """Return the edit of the last query alone; replacements cannot be told apart by queries, and are left out."""
        edits = (HeadEdit(edit.heads, _last(edit.scale), _last(edit.bias)) for edit in self.heads)
        return AttentionEdit(_last(self.bias), tuple(edits))


PLAIN = AttentionEdit()


class HeadWatch:
    """Sees what one head of a layer, counted from 0, attends to in one run. Only who asks for it pays for it.

    states: the layer's input [B,n,d], once it has run.
    """

    def __init__(self, head: int) -> None:
        self.head = head
        self.states = self._query = self._key = torch.empty(0)
        self._bias: Tensor | None = None

    def see(self, states: Tensor, query: Tensor, key: Tensor, edit: AttentionEdit) -> None:
        """Take the input of a layer and its queries and keys, [B,H,n,c]. Raises ValueError for a head that is edited,
        whose attention follows from more than these."""
        if any(self.head in own.heads for own in edit.heads):
            raise ValueError(f"head {self.head + 1} is edited, and cannot be watched")
        self.states, self._query, self._key = states, query[:, self.head], key[:, self.head]
        self._bias = None if edit.bias is None else _of_heads(edit.bias, (self.head,))[:, 0]

    def logits(self) -> Tensor:
        """Return what the softmax of the head is taken of, [B,n,n] in fp32."""
        logits = attention_logits(self._query, self._key)
        return logits if self._bias is None else logits + self._bias


def _joined(first: Tensor | None, second: Tensor | None, join: Callable[[Tensor, Tensor], Tensor]) -> Tensor | None:
    if first is None or second is None:
        return second if first is None else first
    return join(first, second)


def _last(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else tensor[:, :, -1:]


def attend(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None = None, causal: bool = False, dropout: float = 0.0
) -> Tensor:
    """Return softmax(query · keyᵀ / √c + bias) · value, the softmax running over keys (Vaswani et al. 2017, eq. 1).

    query [B,H,Q,c], key and value [B,H,K,c] → [B,H,Q,c].
    bias: added to the logits, broadcastable to [B,H,Q,K]; −inf hides a key. A gradient flows into it.
    causal: query i sees keys 0…i alone; excludes a bias.
    """
    if query.device.type == "cpu":  # whose bf16 kernel is slower than the fp32 one, 8 times for the gradient
        query, key, value = query.float(), key.float(), value.float()
    bias = bias.to(query.dtype) if bias is not None else None
    with torch.autocast(query.device.type, enabled=False):
        if dropout and query.device.type == "cpu":  # where PyTorch's function takes half as long again
            bias = _causal_bias(query.shape[2], query.device) if causal else bias
            dropped: Tensor = _DroppedAttention.apply(query, key, value, bias, dropout)
            return dropped
        return F.scaled_dot_product_attention(query, key, value, attn_mask=bias, is_causal=causal, dropout_p=dropout)


class _DroppedAttention(torch.autograd.Function):
    """`attend` with dropout, in fewer passes over memory than its parts have by themselves."""

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
    """Return the softmax inside of `attend`, of logits times `scale`: [B,H,Q,c] and [B,H,K,c] → [B,H,Q,K] in fp32."""
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
    """Return what `attend` gives, with the edits of some heads; heads without logits to edit run as in `attend`.

    query [B,H,Q,c], key and value [B,H,K,c]; states [B,n,d] the layer's input, for replacements → [B,H,Q,c].
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
    """Return the weights that `edited_attention` gives the values, before dropout, in fp32: [B,H,Q,K]"""
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
    """Run the heads of each edit with their queries, keys and biases, and the others as if under an edit that changes
    nothing; put what comes out of each, [B,k,…], together in the order of the heads: [B,H,…]"""
    heads = query.shape[1]
    owned = {head for own in edit.heads for head in own.heads}
    if max(owned) >= heads:
        raise ValueError(f"an edit of head {max(owned)}, where there are {heads}")
    others = tuple(head for head in range(heads) if head not in owned)
    groups = sorted([*edit.heads, *[HeadEdit(others)] * bool(others)], key=lambda own: own.heads)
    parts = []
    for own in groups:
        bias = _both(None if edit.bias is None else _of_heads(edit.bias, own.heads), own.bias)
        parts.append(run(own, _of_heads(query, own.heads), _of_heads(key, own.heads), bias))
    mixed, order = torch.cat(parts, dim=1), [head for own in groups for head in own.heads]
    return mixed if order == sorted(order) else mixed[:, [order.index(head) for head in range(heads)]]


def _both(shared: Tensor | None, own: Tensor | None) -> Tensor | None:
    return own if shared is None else shared if own is None else shared + own


def _of_heads(tensor: Tensor, heads: tuple[int, ...]) -> Tensor:
    """Take some heads out of [B,H or 1,…]."""
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
    """A run of which a recorder has seen all that it was to see."""


class Recorder:
    """Keeps what attention modules attend to while it is a context: inspection and aligners see weights here alone.

    weights: what each module gave to the values, [B,H,Q,K] in fp32 before dropout and without the leak, in the
    order of the calls; inputs: the states [B,Q,d] that it asked with. Both have gradients where the run has.
    """

    def __init__(self, modules: Iterable[nn.Module], stop: bool = False, cut: bool = False) -> None:
        """stop: the run inside the context ends where the last module's weights arise, and computes nothing more.
        cut: what comes after the weights is a function of them as they are, leaks and all: gradients end there.
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
        """Take weights, the first ones those of leaks, and return those that the run goes on with."""
        if self.cut:
            weights = weights.detach().requires_grad_()
        self.inputs.append(inputs)
        self.weights.append(weights if self.cut or not leaks else weights[..., leaks:])
        if self.stop and len(self.weights) == len(self.modules):
            raise Enough
        return weights


class SelfAttention(nn.Module):
    """Attention of a sequence over itself; query, key and value come out of one product.

    rotary: whether positions turn queries and keys.
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
        """states [B,n,d] → [B,n,d]; with causal, the edit has nothing but watches."""
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
        """Return queries [Q,d] of some states, keys and values side by side [K,2d] of others."""
        width = self.out.in_features
        if not isinstance(self.qkv, nn.Linear):  # a packed product cannot be cut
            return self.qkv(states)[:, :width], self.qkv(memory)[:, width:]
        weight, bias = self.qkv.weight, self.qkv.bias
        return F.linear(states, weight[:width], bias[:width]), F.linear(memory, weight[width:], bias[width:])

    def step(self, states: Tensor, cache: "KeyCache", position: int | Tensor, bias: Tensor | None = None) -> Tensor:
        """Compute one more position of K hypotheses of each sentence, after those in the cache: [B,K,d] → [B,K,d]

        position: its number, or those of the hypotheses where they differ, [B,K].
        bias: as in `attend`, on the m keys of the cache and the K new ones, [B,H or 1,K,m+K]; None: all see all.
        """
        width = self.out.in_features
        query, memory = self.qkv(states).split([width, 2 * width], dim=-1)
        query = split_heads(query, self.heads)
        if self.rotation is not None:
            if not isinstance(position, Tensor):  # all hypotheses are equally long
                position = torch.full(states.shape[:2], position, device=states.device)
            query = self.rotation(query, position)
            key = merge_heads(self.rotation(split_heads(memory[..., :width], self.heads), position))
            memory = torch.cat([key, memory[..., width:]], dim=-1)
        key, value = cache.grown(memory, self.heads)
        return self.out(merge_heads(attend(query, key, value, bias)))


class KeyCache:
    """Keys and values of what hypotheses of B sentences have said, position after position: none is ever moved.

    Each position of each hypothesis has a key; which of them are its ancestors, the hypothesis knows.
    """

    CHUNK = 32  # positions that there is room for at a time

    def __init__(self) -> None:
        self.room: Tensor | None = None  # [2,B,H,≥m,c]
        self.used = 0  # m

    def grown(self, memory: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        """Keep K more keys and values of each sentence, side by side in [B,K,2d]; return all, [B,H,m,c] each."""
        batch, count, width = memory.shape
        start, self.used = self.used, self.used + count
        if self.room is None or self.used > self.room.shape[3]:
            # as `attend` has them on a CPU
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
    """Return what `causal` hides from states [B,n,d], as an edit."""
    return AttentionEdit(_causal_bias(states.shape[1], states.device))


def _causal_bias(length: int, device: torch.device) -> Tensor:
    return torch.full((1, 1, length, length), float("-inf"), device=device).triu(1)


class CrossAttention(nn.Module):
    """Attention of the decoder over the encoder's memory.

    leaky: one more key and value, which the module learns, can take what fits nowhere (Chen, Sun & Liu 2021).
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
        """Return keys and values [B,H,(1+)K,c] of the encoder's output [B,K,d], those of the leak first."""
        key, value = (split_heads(part, self.heads) for part in self.kv(encoded).chunk(2, dim=-1))
        if self.leak is None:
            return key, value
        leak_key, leak_value = (
            row.view(1, self.heads, 1, -1).to(key.dtype).expand(len(key), -1, -1, -1) for row in self.leak
        )
        return torch.cat([leak_key, key], dim=2), torch.cat([leak_value, value], dim=2)

    def forward(self, states: Tensor, memory: tuple[Tensor, Tensor], bias: Tensor | None) -> Tensor:
        """states [B,Q,d], bias [B,1,1,K] → [B,Q,d]. Queries do not see each other, so Q may be a beam."""
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
