"""The decoder of prefixes: every position sees the whole prefix that it is in, including later positions.

The state of a position therefore differs from prefix to prefix: a target of t tokens becomes t inputs of lengths 1 … t,
and only the last position of each input predicts a token. Four measures keep this from costing t times as much.
Prefixes are packed without padding. The source is encoded, and its cross keys and values are computed, once for all
prefixes of a sentence. The last layer computes only the last positions. And training can sample prefixes (PrefixPlan).

Shapes: B sentences, K hypotheses per sentence, t target positions, n source positions, R prefixes, N positions of all
prefixes, H heads, d width, T target vocabulary.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from synmt.device import sent
from synmt.nn.attention import (
    AttentionEdit,
    CrossAttention,
    SelfAttention,
    attend,
    edited_attention,
    merge_heads,
    split_heads,
)
from synmt.nn.decoders import DecoderPass, Steps, TargetBatch, one_vocabulary
from synmt.nn.losses import Classes
from synmt.nn.transformer import DecoderLayer, Transformer

Integers = NDArray[np.int64]
Memory = tuple[Tensor, Tensor] | None  # a layer's cross keys and values, [B,H,n,c] each; None without cross-attention
SPREAD = 1.25  # a group pads a sentence to at most this multiple of its number of rows


@dataclass(slots=True)
class Grouping:
    """Padded groups of sentences with similar numbers of rows, for the attention of rows to their B sentences.

    sentences [B]: the sentences, group after group; sizes: the number of sentences per group.
    rows: for each group, the indices of its rows [b,Q]; padding has an arbitrary index.
    places: the index of each row in the groups, flattened and concatenated.
    """

    sentences: Tensor
    sizes: list[int]
    rows: list[Tensor]
    places: Tensor

    @classmethod
    def of(cls, sentences: Integers, batch: int, device: torch.device) -> "Grouping":
        """Group rows, given the sentence of each row. Sentences without rows are in no group."""
        counts = np.bincount(sentences, minlength=batch)
        order = counts.argsort(kind="stable")[::-1][: np.count_nonzero(counts)].copy()
        widths: list[int] = []  # Q of each sentence's group, in this order
        for count in counts[order].tolist():
            widths.append(widths[-1] if widths and widths[-1] <= SPREAD * count else count)
        shapes = [(len([*same]), width) for width, same in groupby(widths)]
        starts = np.empty(batch, np.int64)
        starts[order] = np.cumsum([0, *widths[:-1]])
        places = np.empty_like(sentences)
        places[sentences.argsort(kind="stable")] = ragged_arange(counts)
        places += starts[sentences]
        rows = np.zeros(sum(widths), np.int64)
        rows[places] = np.arange(len(places))
        ends = np.cumsum([size * width for size, width in shapes])
        parts = zip(np.split(rows, ends[:-1]), shapes, strict=True)
        return cls(
            on_device(order, device),
            [size for size, _ in shapes],
            [on_device(part.reshape(shape), device) for part, shape in parts],
            on_device(places, device),
        )


@dataclass(slots=True)
class Prefixes:
    """R prefixes in order of length; their N positions are concatenated.

    lengths: each length that occurs, with its number of prefixes.
    sentences [R]: the sentence of each prefix.
    tokens [N]: the index of each position in the flattened [B·t] targets.
    ends [R]: the index, among the N positions, of the last position of each prefix.
    positions, last_positions: groupings of all N positions, and of the R last positions, by sentence.
    """

    lengths: list[tuple[int, int]]
    sentences: Tensor
    tokens: Tensor
    ends: Tensor
    positions: Grouping
    last_positions: Grouping

    @classmethod
    def pack(cls, sentences: Integers, lengths: Integers, shape: torch.Size, device: torch.device) -> "Prefixes":
        """Return prefixes of the given sentences and lengths; lengths ascend; shape: (B, t)."""
        batch, width = shape
        return cls(
            [(int(length), int(count)) for length, count in zip(*np.unique(lengths, return_counts=True), strict=True)],
            on_device(sentences, device),
            on_device(np.repeat(sentences * width, lengths) + ragged_arange(lengths), device),
            on_device(lengths.cumsum() - 1, device),
            Grouping.of(np.repeat(sentences, lengths), batch, device),
            Grouping.of(sentences, batch, device),
        )

    @classmethod
    def of_a_beam(cls, batch: int, beam: int, length: int, device: torch.device) -> "Prefixes":
        """Return prefixes of one length, K consecutive ones per sentence."""
        positions = torch.arange(batch * beam * length, device=device)
        last = torch.arange(batch * beam, device=device)
        sentences = torch.arange(batch, device=device)
        return cls(
            [(length, batch * beam)],
            last // beam,
            positions,
            last * length + length - 1,
            Grouping(sentences, [batch], [positions.view(batch, -1)], positions),
            Grouping(sentences, [batch], [last.view(batch, -1)], last),
        )

    @classmethod
    def of_lengths(cls, lengths: Tensor, width: int) -> "Prefixes":
        """Return K prefixes per sentence, with lengths [B,K]. Each has its own target, padded to `width`."""
        own, beam = lengths.flatten().cpu().numpy(), lengths.shape[1]
        order = own.argsort(kind="stable")
        packed = cls.pack(order, own[order], torch.Size((len(order), width)), lengths.device)
        sentences = order // beam
        packed.positions = Grouping.of(np.repeat(sentences, own[order]), len(lengths), lengths.device)
        packed.last_positions = Grouping.of(sentences, len(lengths), lengths.device)
        return packed

    @property
    def counts(self) -> list[int]:
        """Return the number of prefixes of each length."""
        return [count for _, count in self.lengths]

    @property
    def sizes(self) -> list[int]:
        """Return the number of positions of the prefixes of each length."""
        return [length * count for length, count in self.lengths]

    def cut(self, tensors: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Cut the tensors of whole targets to the prefixes of each length."""
        rows = self.sentences.split(self.counts)
        return [
            {name: each.prefixes(own, length) for name, each in tensors.items()}
            for own, (length, _) in zip(rows, self.lengths, strict=True)
        ]


def on_device(array: Integers, device: torch.device) -> Tensor:
    return sent(torch.from_numpy(array), device)


def ragged_arange(counts: Integers) -> Integers:
    """Return 0 … c−1 for each count c, concatenated."""
    ends = counts.cumsum()
    return np.arange(ends[-1]) - np.repeat(ends - counts, counts)


@dataclass(frozen=True)
class PrefixPlan:
    """Which prefixes of targets to train on.

    sampled: the number of prefixes per target, 0 for all.
    positions: the approximate number of positions to compute at a time.

    A target of t tokens has t prefixes, with 1 … t positions. A sample of k of them, each with weight t/k, gives an
    unbiased estimate of the loss over all.
    """

    sampled: int
    positions: int

    def counts(self, lengths: Integers) -> Integers:
        """Return the number of prefixes for targets of these lengths."""
        return np.minimum(lengths, self.sampled or lengths)

    def parts(self, indices: Sequence[int], lengths: Integers) -> list[list[int]]:
        """Split the sentences of a batch, whose targets have these lengths, into parts to compute one at a time.

        A sentence whose prefixes are too many is a part by itself, of several packs.
        """
        ends = (self.counts(lengths) * (lengths + 1) / 2).cumsum()
        parts: list[list[int]] = []
        begin = 0.0
        for index, before, end in zip(indices, [0.0, *ends[:-1]], ends, strict=True):
            if not parts or end - begin > self.positions:
                parts.append([])
                begin = before
            parts[-1].append(index)
        return parts

    def choose(
        self, lengths: Integers, random: torch.Generator | None = None
    ) -> tuple[Integers, Integers, NDArray[np.float32]]:
        """Return sentence, length and weight of each prefix, by ascending length, [R] each.

        The prefixes of a target are evenly spaced from a random start, so all are equally likely.
        """
        counts = self.counts(lengths)
        sentences = np.repeat(np.arange(len(lengths)), counts)
        spacing = (lengths / counts)[sentences]
        number = ragged_arange(counts)
        start = torch.rand(len(lengths), dtype=torch.float64, generator=random).numpy()[sentences]
        chosen = np.minimum(np.floor((number + start) * spacing).astype(np.int64) + 1, lengths[sentences])
        order = np.lexsort((sentences, chosen))
        return sentences[order], chosen[order], spacing[order].astype(np.float32)

    def packs(self, sentences: Integers, lengths: Integers, shape: torch.Size, device: torch.device) -> list[Prefixes]:
        """Return chosen prefixes, packed as `Prefixes.pack`, in consecutive packs to compute one after the other.

        A pack has at most `positions` positions besides those of its last prefix. A sample, which can have up to twice
        its mean, has twice the room, so that a part of several targets is one pack.
        """
        room = 2 * self.positions if self.sampled else self.positions
        number_of_pack = (lengths.cumsum() - lengths) // room
        cuts = np.flatnonzero(np.diff(number_of_pack)) + 1
        parts = zip(np.split(sentences, cuts), np.split(lengths, cuts), strict=True)
        return [Prefixes.pack(*part, shape, device) for part in parts]


class PrefixDecoder(nn.Module):
    """A decoder in which all positions of a prefix see each other.

    parts: modules of ideas, by name. Each is called with the tensors of the reading named by its attribute `reads`. If
    `place` is "input", the module changes the decoder's input: (states [N,d], tensors of each length) → states. If
    `place` is "heads", it maps the tensors of R prefixes to a HeadEdit without replacements, which all layers use.
    """

    unread = 0

    def __init__(
        self,
        parts: Mapping[str, nn.Module] | None = None,
        readings: Sequence[Any] = (),
        unread: int = 0,
        share: float = 1.0,
    ) -> None:
        """Raise ValueError if there are entries that are never read."""
        super().__init__()
        if unread:
            raise ValueError("a decoder that reads prefixes must read all entries")
        every = list((parts or {}).values())
        self.readings = readings
        self.inputs: Any = nn.ModuleList(part for part in every if part.place == "input")
        self.heads: Any = nn.ModuleList(part for part in every if part.place == "heads")

    def forward(
        self, network: Transformer, target: TargetBatch, encoded: Tensor, source_bias: Tensor | None
    ) -> tuple[Tensor, DecoderPass | None]:
        """Run as CausalDecoder does. The ideas of this decoder have no losses.

        With gradients, several packs are computed twice, the second time in the backward pass: only one of them is then
        in memory. Dropout draws the same numbers both times.
        """
        embedded = network.embed(target.inputs).flatten(0, 1)
        tensors = self._tensors(target.columns, target.inputs.shape[1])
        memories = [layer.memory(encoded) for layer in network.decoder_layers]

        def last_states(pack: Prefixes) -> Tensor:
            states = F.embedding(pack.tokens, embedded)
            return self.run(network, states, pack, pack.cut(tensors), memories, source_bias)

        if len(target.prefixes) == 1:
            return last_states(target.prefixes[0]), None
        if not torch.is_grad_enabled():
            return torch.cat([last_states(pack) for pack in target.prefixes]), None
        return torch.cat([checkpoint(last_states, pack, use_reentrant=False) for pack in target.prefixes]), None

    def read(
        self,
        network: Transformer,
        inputs: Tensor,
        columns: Mapping[str, Tensor],
        encoded: Tensor,
        source_bias: Tensor | None,
    ) -> Tensor:
        """Run as CausalDecoder does, over whole targets as prefixes, without padding."""
        states, tensors = network.embed(inputs), self._tensors(columns, inputs.shape[1])
        for part in self.inputs:
            states = part(states.flatten(0, 1), [tensors[part.reads]]).view_as(states)
        return network.decode(states, encoded, source_bias, [self._context(tensors)] * network.config.decoder_layers)

    def _tensors(self, columns: Mapping[str, Tensor], length: int) -> dict[str, Any]:
        return {reading.name: reading.tensors(columns, length) for reading in self.readings}

    def _context(self, tensors: Mapping[str, Any]) -> AttentionEdit:
        """Return the edit that the ideas make to self-attention within prefixes."""
        return AttentionEdit(heads=tuple(part(tensors[part.reads]) for part in self.heads))

    def classes(self, network: Transformer, target: TargetBatch) -> list[Classes]:
        return one_vocabulary(network, target.gold)

    def start(self, network: Transformer, encoded: Tensor, source_bias: Tensor | None, beam: int) -> Steps:
        return PrefixSteps(self, network, encoded, source_bias, beam)

    def run(
        self,
        network: Transformer,
        states: Tensor,
        prefixes: Prefixes,
        tensors: Sequence[Mapping[str, Any]],
        memories: Sequence[Memory],
        source_bias: Tensor | None,
    ) -> Tensor:
        """Return the state at the last position of each prefix, [R,d].

        states [N,d]: the embeddings of all positions.
        tensors: for the prefixes of each length, by reading.
        memories: one per layer.
        """
        for part in self.inputs:
            states = part(states, [each[part.reads] for each in tensors])
        contexts = [self._context(each) for each in tensors]
        layers = network.decoder_layers
        for layer, memory in zip(layers[:-1], memories, strict=False):
            states = _attend_within(layer, states, prefixes, contexts)
            states = _attend_across(layer, states, memory, source_bias, prefixes.positions)
        states = _attend_from_last(layers[-1], states, prefixes, contexts)
        states = _attend_across(layers[-1], states, memories[-1], source_bias, prefixes.last_positions)
        decoded: Tensor = network.decoder_norm(states)
        return decoded


class PrefixSteps(Steps):
    """A search that stores cross keys and values, and computes all prefixes from scratch at each step."""

    def __init__(
        self, decoder: PrefixDecoder, network: Transformer, encoded: Tensor, source_bias: Tensor | None, beam: int
    ) -> None:
        super().__init__(decoder.readings, len(encoded) * beam, source_bias, encoded.device)
        self.decoder, self.network = decoder, network
        self.memories = [layer.memory(encoded) for layer in network.decoder_layers]

    def logits(self, prefixes: Tensor, lengths: Tensor | None = None) -> Tensor:
        batch, beam, length = prefixes.shape
        network = self.network
        states = network.embed(prefixes.flatten(0, 1)).flatten(0, 1)
        if lengths is None:
            packed = Prefixes.of_a_beam(batch, beam, length, prefixes.device)
            tensors = [self.tensors]
        else:
            packed = Prefixes.of_lengths(lengths, length)
            tensors = packed.cut(self.tensors)
            states = F.embedding(packed.tokens, states)
        states = self.decoder.run(network, states, packed, tensors, self.memories, self.source_bias)
        if lengths is not None:
            states = torch.empty_like(states).index_copy_(0, packed.sentences, states)
        return network.logits(states).view(batch, beam, -1)

    def select(self, sentences: Tensor | None, hypotheses: Tensor | None) -> None:
        super().select(sentences, hypotheses)
        if sentences is not None:
            self.memories = [memory and (memory[0][sentences], memory[1][sentences]) for memory in self.memories]


def _attend_within(
    layer: DecoderLayer, states: Tensor, prefixes: Prefixes, contexts: Sequence[AttentionEdit]
) -> Tensor:
    """Return self-attention of every position over its prefix, [N,d] → [N,d]."""
    attention, residual = layer.attention, layer.attention_residual
    width = states.shape[1]
    projected = attention.qkv(residual.before(states)).split(prefixes.sizes)
    mixed = []
    for part, (length, count), context in zip(projected, prefixes.lengths, contexts, strict=True):
        query, memory = part.view(count, length, 3 * width).split([width, 2 * width], dim=-1)
        mixed.append(_attend(attention, query, memory, context))
    return residual.after(states, attention.out(torch.cat(mixed)))


def _attend_from_last(
    layer: DecoderLayer, states: Tensor, prefixes: Prefixes, contexts: Sequence[AttentionEdit]
) -> Tensor:
    """Return self-attention of the last position of each prefix, [N,d] → [R,d]."""
    attention, residual = layer.attention, layer.attention_residual
    before, last = residual.before(states), F.embedding(prefixes.ends, states)
    queries, memories = attention.project(residual.before(last), before)
    mixed = []
    for query, memory, (length, count), context in zip(
        queries.split(prefixes.counts), memories.split(prefixes.sizes), prefixes.lengths, contexts, strict=True
    ):
        memory = memory.view(count, length, -1)
        mixed.append(_attend(attention, query.unsqueeze(1), memory, context.of_last_query()))
    return residual.after(last, attention.out(torch.cat(mixed)))


def _attend(attention: SelfAttention, query: Tensor, memory: Tensor, context: AttentionEdit) -> Tensor:
    """query [R,Q,d]: queries of the last Q positions; memory [R,m,2d]: keys and values → [R·Q,d]"""
    dropout = attention.dropout if attention.training else 0.0
    query, key, value = (split_heads(part, attention.heads) for part in (query, *memory.chunk(2, dim=-1)))
    if attention.rotation is not None:
        query, key = attention.rotation(query, key.shape[2] - query.shape[2]), attention.rotation(key)
    return merge_heads(edited_attention(query, key, value, context, None, dropout)).flatten(0, 1)


def _attend_across(
    layer: DecoderLayer, states: Tensor, memory: Memory, source_bias: Tensor | None, grouping: Grouping
) -> Tensor:
    """Run cross-attention of rows [M,d] to the sources of their sentences, and the feed-forward sublayer → [M,d]"""
    if memory and layer.cross and layer.cross_residual:
        residual, attention = layer.cross_residual, layer.cross
        queries = attention.query(residual.before(states))
        mixed = _mix(attention, queries, memory, source_bias, grouping)
        states = residual.after(states, attention.out(mixed))
    residual = layer.feedforward_residual
    return residual.after(states, layer.feedforward(residual.before(states)))


def _mix(
    attention: CrossAttention,
    queries: Tensor,
    memory: tuple[Tensor, Tensor],
    source_bias: Tensor | None,
    grouping: Grouping,
) -> Tensor:
    """Return the attention of queries [M,d] over the keys and values of their sentences → [M,d]"""
    dropout = attention.dropout if attention.training else 0.0
    keys, values = (part.index_select(0, grouping.sentences).split(grouping.sizes) for part in memory)
    biases: Sequence[Tensor | None] = [None] * len(keys)
    if source_bias is not None:
        biases = source_bias.index_select(0, grouping.sentences).split(grouping.sizes)
    mixed = []
    for rows, key, value, bias in zip(grouping.rows, keys, values, biases, strict=True):
        query = split_heads(F.embedding(rows, queries), attention.heads)
        mixed.append(merge_heads(attend(query, key, value, bias, dropout=dropout)).flatten(0, 1))
    return F.embedding(grouping.places, torch.cat(mixed))
