"""The decoders in their simplest form: one prefix, one head, one position at a time."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from synmt.model.translation import TranslationModel
from synmt.nn.encoding import Encoded
from synmt.nn.prefixes import PrefixDecoder
from synmt.nn.transformer import DecoderLayer

Edge = tuple[int, int, int, int]  # parent, child, label, birth


@torch.inference_mode()
def slow_state(model: TranslationModel, ids: Sequence[int], edges: Sequence[Edge], source: Encoded) -> Tensor:
    """Return the state [d] after a prefix of one target. ids: the prefix, with the begin of sentence; edges: all edges
    of the target; source: a single encoded sentence."""
    decoder = model.decoder
    assert isinstance(decoder, PrefixDecoder)
    born = [edge for edge in edges if edge[3] < len(ids)]
    states = model.network.embed(torch.tensor([list(ids)]))[0]
    parts: Any = decoder.parts
    if "gcn" in parts:
        for convolution in parts["gcn"].layers:
            states = slow_convolution(convolution, states, born, parts["gcn"].component.variant)
    everything = [range(len(ids))] * len(ids)
    parents = [[q, *(parent for parent, child, _, _ in born if child == q)] for q in range(len(ids))]
    for layer in model.network.decoder_layers:
        seen = [parents if "parent" in parts and head == 0 else everything for head in range(layer.attention.heads)]
        states = slow_layer(layer, states, seen, source)
    return model.network.decoder_norm(states)[-1]


def slow_layer(layer: DecoderLayer, states: Tensor, seen: Sequence[Sequence[Sequence[int]]], source: Encoded) -> Tensor:
    """Return the states after one layer. seen: the positions that each position sees in each head."""
    residual = layer.attention_residual
    query, key, value = layer.attention.qkv(residual.before(states)).chunk(3, dim=-1)
    size = query.shape[1] // len(seen)
    rows = []
    turned = turned_by_position if layer.attention.rotation is not None else lambda vectors: vectors
    for position in range(len(states)):
        heads = []
        for head, visible in enumerate(seen):
            channels = slice(head * size, (head + 1) * size)
            keys, queries = turned(key[:, channels])[list(visible[position])], turned(query[:, channels])
            weights = (keys @ queries[position] * size**-0.5).softmax(dim=0)
            heads.append(weights @ value[list(visible[position]), channels])
        rows.append(torch.cat(heads))
    states = residual.after(states, layer.attention.out(torch.stack(rows)))
    assert layer.cross is not None and layer.cross_residual is not None
    residual = layer.cross_residual
    memory = layer.cross.memory(source.states)
    states = residual.after(states, layer.cross(residual.before(states)[None], memory, source.cross[0])[0])
    residual = layer.feedforward_residual
    return residual.after(states, layer.feedforward(residual.before(states)))


def turned_by_position(vectors: Tensor) -> Tensor:
    """Rotate each pair of channels, as a complex number, by the angle p · 10000^(−2i/c) at position p; vectors
    [m,c]."""
    rows, channels = vectors.shape
    for_pairs = torch.tensor([[p * 10000 ** (-2 * i / channels) for i in range(channels // 2)] for p in range(rows)])
    pairs = torch.view_as_complex(vectors.unflatten(1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(for_pairs), for_pairs)).flatten(1)


def slow_convolution(convolution: Any, states: Tensor, edges: Sequence[Edge], variant: str) -> Tensor:
    """Compute the formula term by term; states [m,d]. In the reference implementation, an arc with token x, head h and
    dependent d puts (direction, column) into the rows of three vertices: (right, h) for d, (left, d) with the label for
    h, and (left, h) and (right, d) for x. It then uses the features of the row, not those of the column."""
    rows = []
    for v in range(len(states)):
        # direction, the node whose features are multiplied, and the label
        terms = [(0, v, 0)]
        for parent, child, label, birth in edges:
            if variant == "paper":
                if child == v:
                    terms.append((2, parent, label))
                if parent == v:
                    terms.append((1, child, label))
                continue
            of_arc = [edge for edge in edges if edge[3] == birth]
            middle = {edge[0] for edge in of_arc} & {edge[1] for edge in of_arc}  # the arc's token, or its two halves
            if middle & {parent, child}:  # edge between the arc's token and its head or dependent
                if v in middle and v in (parent, child):
                    terms.append((1 if child == v else 2, v, 0))
            elif v == child:
                terms.append((2, v, 0))
            elif v == parent:
                terms.append((1, v, label))
        total = torch.zeros_like(states[v])
        for direction, u, label in terms:
            message = convolution["weights"][direction] @ states[u]
            gate = torch.tensor(torch.inf)
            if "gates" in convolution:
                gate = convolution["gates"][direction] @ states[u]
            if label and "label_bias" in convolution:
                message = message + convolution["label_bias"][label]
            if label and "gate_label_bias" in convolution:
                gate = gate + convolution["gate_label_bias"][label]
            total = total + gate.sigmoid() * message
        rows.append(states[v] + total.relu())
    return torch.stack(rows)
