"""A decoder that looks at the whole prefix, and so reads every prefix of a target on its own.

In a causal decoder, one run over a target gives the states after all its prefixes. Where positions also see what
comes after them in the prefix, their states differ from prefix to prefix: a target of t tokens is t inputs, of
lengths 1 … t, and only the last position of each predicts a token. Here is what keeps that from costing t times
as much: prefixes lie side by side without padding; what all prefixes of a sentence share (its source, its cross
keys and values) is computed once; and the last layer computes
the last positions alone.

Shapes: B sentences, t target positions, n source positions, R prefixes, N positions of all prefixes, d width.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from synmt.nn.attention import SelfAttention, attend, merge_heads, split_heads
from synmt.nn.graphs import Graph
from synmt.nn.transformer import DecoderLayer, Transformer

Memory = tuple[Tensor, Tensor]
Integers = NDArray[np.int64]


@dataclass(slots=True)
class Grouping:
    """Rows of B sentences, in any order, as a padded [B,Q] and back.

    rows [B,Q]: which row stands there, any where none does; places: where each row stands in the flattened [B·Q].
    """

    rows: Tensor
    places: Tensor

    @classmethod
    def of(cls, sentences: Integers, batch: int, device: torch.device) -> "Grouping":
        """sentences: that of each row, in 0…B−1."""
        counts = np.bincount(sentences, minlength=batch)
        places = np.empty_like(sentences)
        places[sentences.argsort(kind="stable")] = ragged_arange(counts)
        places += sentences * counts.max()
        rows = np.zeros(batch * counts.max(), np.int64)
        rows[places] = np.arange(len(places))
        on_device = torch.from_numpy(rows).to(device, non_blocking=True).view(batch, -1)
        return cls(on_device, torch.from_numpy(places).to(device, non_blocking=True))


@dataclass(slots=True)
class Prefixes:
    """R prefixes, the short ones first, with N positions side by side.

    lengths: each length that there is, with how many prefixes have it.
    sentences [R]: which each is a prefix of.
    tokens [N]: where each position stands in the flattened [B·t] of the targets.
    ends [R]: which of the N positions is the last of each.
    positions, last_positions: by sentence, all N, and the R last ones.
    """

    lengths: list[tuple[int, int]]
    sentences: Tensor
    tokens: Tensor
    ends: Tensor
    positions: Grouping
    last_positions: Grouping

    @classmethod
    def pack(cls, sentences: Integers, lengths: Integers, shape: torch.Size, device: torch.device) -> "Prefixes":
        """The prefixes of these lengths, in ascending order, of these sentences; shape: (B, t)."""
        batch, width = shape

        def on_device(array: Integers) -> Tensor:
            return torch.from_numpy(array).to(device, non_blocking=True)

        return cls(
            [(int(length), int(count)) for length, count in zip(*np.unique(lengths, return_counts=True), strict=True)],
            on_device(sentences),
            on_device(np.repeat(sentences * width, lengths) + ragged_arange(lengths)),
            on_device(lengths.cumsum() - 1),
            Grouping.of(np.repeat(sentences, lengths), batch, device),
            Grouping.of(sentences, batch, device),
        )

    def cut(self, graph: Graph) -> list[Graph]:
        """The graph of the prefixes of each length, from that of whole targets."""
        rows = self.sentences.split([count for _, count in self.lengths])
        return [graph.prefixes(each, length) for each, (length, _) in zip(rows, self.lengths, strict=True)]


def ragged_arange(counts: Integers) -> Integers:
    """0 … c−1 for each count c."""
    ends = counts.cumsum()
    return np.arange(ends[-1]) - np.repeat(ends - counts, counts)


class PrefixDecoder(nn.Module):
    """What decoders of whole prefixes do with the layers of a Transformer.

    inputs: modules on the decoder's input, from (states [N,d], a Graph for each length) to states.
    heads: a module from a Graph of R prefixes to a bias [R,k,m,m] for the first k heads of every layer.
    """

    def __init__(self, inputs: Iterable[nn.Module] = (), heads: nn.Module | None = None) -> None:
        super().__init__()
        self.inputs = nn.ModuleList(inputs)
        self.heads = heads

    def forward(
        self,
        network: Transformer,
        ids: Tensor,
        prefixes: Prefixes,
        graph: Graph | None,
        encoded: Tensor,
        source_bias: Tensor | None,
    ) -> Tensor:
        """The state after each prefix: ids [B,t], encoded [B,n,d], source_bias [B,1,1,n] → [R,d]"""
        states = F.embedding(prefixes.tokens, network.embed(ids).flatten(0, 1))
        graphs = prefixes.cut(graph) if graph is not None else []
        memories = [layer.cross.memory(encoded) for layer in network.decoder_layers]
        return self.run(network, states, prefixes, graphs, memories, source_bias)

    def run(
        self,
        network: Transformer,
        states: Tensor,
        prefixes: Prefixes,
        graphs: Sequence[Graph],
        memories: Sequence[Memory],
        source_bias: Tensor | None,
    ) -> Tensor:
        """states [N,d] of the positions' embeddings, memories: cross keys and values of each layer → [R,d]"""
        for part in self.inputs:
            states = part(states, graphs)
        biases = [self.heads(graph) for graph in graphs] if self.heads else [None] * len(prefixes.lengths)
        layers = network.decoder_layers
        for layer, memory in zip(layers[:-1], memories, strict=False):
            states = _attend_within(layer, states, prefixes.lengths, biases)
            states = _attend_across(layer, states, memory, source_bias, prefixes.positions)
        states = _attend_from_last(layers[-1], states, prefixes, biases)
        states = _attend_across(layers[-1], states, memories[-1], source_bias, prefixes.last_positions)
        decoded: Tensor = network.decoder_norm(states)
        return decoded


def _attend_within(
    layer: DecoderLayer, states: Tensor, lengths: Sequence[tuple[int, int]], biases: Sequence[Tensor | None]
) -> Tensor:
    """Self-attention of every position over its prefix, [N,d] → [N,d]."""
    attention, residual = layer.attention, layer.attention_residual
    projected = attention.qkv(residual.before(states)).split([length * count for length, count in lengths])
    mixed = [
        _attend(attention, *part.view(count, length, -1).chunk(3, dim=-1), bias)
        for part, (length, count), bias in zip(projected, lengths, biases, strict=True)
    ]
    return residual.after(states, attention.out(torch.cat(mixed)))


def _attend_from_last(
    layer: DecoderLayer, states: Tensor, prefixes: Prefixes, biases: Sequence[Tensor | None]
) -> Tensor:
    """Self-attention of the last position of each prefix, [N,d] → [R,d]."""
    attention, residual = layer.attention, layer.attention_residual
    before, last = residual.before(states), F.embedding(prefixes.ends, states)
    query, memory = attention.project(residual.before(last), before)
    queries = query.split([count for _, count in prefixes.lengths])
    memories = memory.split([length * count for length, count in prefixes.lengths])
    mixed = [
        _attend(
            attention,
            one.unsqueeze(1),
            *all_.view(count, length, -1).chunk(2, dim=-1),
            bias if bias is None else bias[:, :, -1:],
        )
        for one, all_, (length, count), bias in zip(queries, memories, prefixes.lengths, biases, strict=True)
    ]
    return residual.after(last, attention.out(torch.cat(mixed)))


def _attend(attention: SelfAttention, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None) -> Tensor:
    """query [R,Q,d], key and value [R,m,d], bias [R,k,Q,m] for the first k heads → [R·Q,d]"""
    dropout = attention.dropout if attention.training else 0.0
    parts = [split_heads(part, attention.heads) for part in (query, key, value)]
    if bias is None:
        return merge_heads(attend(*parts, dropout=dropout)).flatten(0, 1)
    heads = bias.shape[1]
    first = attend(*(part[:, :heads] for part in parts), bias, dropout=dropout)
    others = attend(*(part[:, heads:] for part in parts), dropout=dropout)
    return merge_heads(torch.cat([first, others], dim=1)).flatten(0, 1)


def _attend_across(
    layer: DecoderLayer, states: Tensor, memory: Memory, source_bias: Tensor | None, grouping: Grouping
) -> Tensor:
    """Attention of rows [M,d] to their sentences' sources, and the feed-forward sublayer → [M,d]"""
    residual = layer.cross_residual
    attention = layer.cross
    query = F.embedding(grouping.rows, attention.query(residual.before(states)))
    dropout = attention.dropout if attention.training else 0.0
    mixed = merge_heads(attend(split_heads(query, attention.heads), *memory, source_bias, dropout=dropout))
    states = residual.after(states, attention.out(F.embedding(grouping.places, mixed.flatten(0, 1))))
    residual = layer.feedforward_residual
    return residual.after(states, layer.feedforward(residual.before(states)))
