"""The decoder of prefixes: every position sees the whole prefix that it is in, including later positions.

The state of a position therefore differs from prefix to prefix: a target of t tokens becomes t inputs of lengths 1 … t,
and only the last position of each input predicts a token. Four measures keep this from costing t times as much.
Prefixes are packed without padding. The source is encoded, and its cross keys and values are computed, once for all
prefixes of a sentence. The last layer computes only the last positions. And training can sample prefixes (PrefixPlan).

Shapes: B sentences, K hypotheses per sentence, t target positions, n source positions, R prefixes, N positions of all
prefixes, H heads, d width, T target vocabulary.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
    PLAIN,
    CrossAttention,
    Edit,
    Replacement,
    SelfAttention,
    edited_attention,
    merge_heads,
    split_heads,
)
from synmt.nn.config import TransformerConfig
from synmt.nn.decoders import Decoder, LabelHead, Steps, TargetBatch, both, cross_of_decoder
from synmt.nn.encoding import Encoded
from synmt.nn.hooks import SELF, Hooks, SideRun, edits
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
    sentences [R]: the sentence of each prefix; targets [R]: the row of its target.
    tokens [N]: the index of each position in the flattened [B·t] targets.
    ends [R]: the index, among the N positions, of the last position of each prefix.
    positions, last_positions: groupings of all N positions, and of the R last positions, by sentence.
    """

    lengths: list[tuple[int, int]]
    sentences: Tensor
    targets: Tensor
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
            last,
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
        packed.sentences = on_device(sentences, lengths.device)
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

    def cut(self, fields: Mapping[str, Tensor]) -> list[dict[str, Tensor]]:
        """Cut the fields of whole targets, [B,t] or [B,t,t], to the prefixes of each length."""
        return [
            {
                name: each[own, :length] if each.ndim == 2 else each[own, :length, :length]
                for name, each in fields.items()
            }
            for own, (length, _) in zip(self.targets.split(self.counts), self.lengths, strict=True)
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


class PrefixDecoder(Decoder):
    """A decoder in which all positions of a prefix see each other. It records no attention, so components with a loss
    own no heads. The hook `embed` sees whole targets."""

    def __init__(
        self,
        config: TransformerConfig,
        parts: nn.ModuleDict | None = None,
        fillers: Mapping[str, int] | None = None,
        heads: Mapping[str, LabelHead] | None = None,
    ) -> None:
        """Raise ValueError for a component that needs attention."""
        super().__init__(config, parts, fillers, heads)
        for name, part in self.parts.items():
            own: Any = part
            if "loss" in own.hooks and own.heads:
                raise ValueError(f"{name}: a decoder that reads prefixes cannot record the attention of heads")

    def forward(self, network: Transformer, target: TargetBatch, encoded: Encoded) -> tuple[Tensor, Hooks]:
        """Run as CausalDecoder does.

        With gradients, several packs are computed twice, the second time in the backward pass: only one of them is then
        in memory. Dropout draws the same numbers both times.
        """
        fields = self.expanded(target.fields)
        rows, length = target.inputs.shape
        positions = torch.arange(length, device=target.inputs.device)
        sentences = torch.arange(rows, device=target.inputs.device)
        runs = self.runs(fields, positions, encoded, sentences, losses=True) if self.parts else []
        hooks = Hooks(runs, [])
        embedded = network.embed(target.inputs, change=hooks.embed).flatten(0, 1)
        memories = [layer.memory(encoded.states) for layer in network.decoder_layers]

        def last_states(pack: Prefixes) -> Tensor:
            states = F.embedding(pack.tokens, embedded)
            return self.run(network, states, pack, pack.cut(fields), memories, encoded)

        if len(target.prefixes) == 1:
            return last_states(target.prefixes[0]), hooks
        if not torch.is_grad_enabled():
            return torch.cat([last_states(pack) for pack in target.prefixes]), hooks
        return torch.cat([checkpoint(last_states, pack, use_reentrant=False) for pack in target.prefixes]), hooks

    def read(self, network: Transformer, inputs: Tensor, fields: Mapping[str, Tensor], encoded: Encoded) -> Tensor:
        """Run as CausalDecoder does, over whole targets as prefixes, without padding."""
        rows, length = inputs.shape
        positions = torch.arange(length, device=inputs.device)
        sentences = torch.arange(rows, device=inputs.device)
        runs = self.runs(self.expanded(fields), positions, encoded, sentences)
        hooks = Hooks(runs, edits(runs, SELF, self.config.decoder_layers, (rows, self.config.heads, length, length)))
        seen = [Edit() if each is PLAIN else each for each in hooks.edits]  # PLAIN would be causal
        cross = cross_of_decoder(runs, self.config, (rows, self.config.heads, length), encoded)
        states = hooks.after(0, network.embed(inputs, change=hooks.embed))
        return network.decode(states, encoded.states, cross, seen, hooks.after)

    def start(self, network: Transformer, encoded: Encoded, beam: int) -> Steps:
        return PrefixSteps(self, network, encoded, beam)

    def run(
        self,
        network: Transformer,
        states: Tensor,
        prefixes: Prefixes,
        fields: Sequence[Mapping[str, Tensor]],
        memories: Sequence[Memory],
        encoded: Encoded,
    ) -> Tensor:
        """Return the state at the last position of each prefix, [R,d].

        states [N,d]: the embeddings of all positions.
        fields: for the prefixes of each length, by name.
        memories: one per layer.
        """
        groups = self._groups(prefixes, fields, encoded)
        layers, last = network.decoder_layers, len(network.decoder)
        states = _after(groups, 0, states, prefixes.sizes)
        for number, (layer, memory) in enumerate(zip(layers[:-1], memories, strict=False), 1):
            states = _attend_within(layer, states, prefixes, [each.edits[number - 1] for each in groups])
            cross = _cross(groups, number, encoded)
            states = _attend_across(layer, states, memory, cross, prefixes.positions, prefixes.sizes)
            states = _after(groups, number, states, prefixes.sizes)
        if any(last in run.own.layers_after for run in groups[0].runs):  # it changes states by those of other positions
            states = _attend_within(layers[-1], states, prefixes, [each.edits[-1] for each in groups])
            cross = _cross(groups, last, encoded)
            states = _attend_across(layers[-1], states, memories[-1], cross, prefixes.positions, prefixes.sizes)
            states = F.embedding(prefixes.ends, _after(groups, last, states, prefixes.sizes))
        else:
            states = _attend_from_last(layers[-1], states, prefixes, [each.edits[-1] for each in groups])
            cross = _cross(groups, last, encoded, last_position=True)
            states = _attend_across(layers[-1], states, memories[-1], cross, prefixes.last_positions, prefixes.counts)
        decoded: Tensor = network.decoder_norm(states)
        return decoded

    def _groups(self, prefixes: Prefixes, fields: Sequence[Mapping[str, Tensor]], encoded: Encoded) -> "list[Group]":
        """Return the hooks for the prefixes of each length."""
        groups = []
        for own, (length, count), sentences in zip(
            fields, prefixes.lengths, prefixes.sentences.split(prefixes.counts), strict=True
        ):
            queries = torch.arange(length, device=sentences.device)
            runs = self.runs(own, queries, encoded, sentences) if self.parts else []
            shape = count, self.config.heads, length, length
            within = edits(runs, SELF, self.config.decoder_layers, shape)
            plain = [PLAIN] * self.config.decoder_layers
            whole = cross_of_decoder(runs, self.config, shape[:3], encoded, plain)
            last = [replace(run, queries=queries[-1:]) for run in runs]
            of_last = cross_of_decoder(last, self.config, (count, self.config.heads, 1), encoded, plain)
            groups.append(Group(runs, within, () if whole is plain else (whole, of_last), shape))
        return groups


@dataclass(slots=True)
class Group:
    """The hooks of prefixes of one length: edits of self-attention and, if there are any, of attention to the source
    from all positions and from the last one; shape: R, H and the length twice."""

    runs: list[SideRun]
    edits: Sequence[Edit]
    cross: tuple[Sequence[Edit], ...]
    shape: tuple[int, int, int, int]


class PrefixSteps(Steps):
    """A search that stores cross keys and values, and computes all prefixes from scratch at each step."""

    def __init__(self, decoder: PrefixDecoder, network: Transformer, encoded: Encoded, beam: int) -> None:
        super().__init__(decoder.fillers, len(encoded.states) * beam, encoded)
        self.decoder, self.network = decoder, network
        self.memories = [layer.memory(encoded.states) for layer in network.decoder_layers]

    def logits(self, prefixes: Tensor, lengths: Tensor | None = None) -> Tensor:
        batch, beam, length = prefixes.shape
        network = self.network
        fields = self.decoder.expanded({name: each[:, :length] for name, each in self.fields.items()})
        queries = torch.arange(length, device=prefixes.device)
        sentences = torch.arange(batch, device=prefixes.device).repeat_interleave(beam)
        runs = self.decoder.runs(fields, queries, self.encoded, sentences) if self.decoder.parts else []
        states = network.embed(prefixes.flatten(0, 1), change=Hooks(runs, []).embed).flatten(0, 1)
        if lengths is None:
            packed = Prefixes.of_a_beam(batch, beam, length, prefixes.device)
            cut: Sequence[Mapping[str, Tensor]] = [fields]
        else:
            packed = Prefixes.of_lengths(lengths, length)
            cut = packed.cut(fields)
            states = F.embedding(packed.tokens, states)
        states = self.decoder.run(network, states, packed, cut, self.memories, self.encoded)
        if lengths is not None:
            states = torch.empty_like(states).index_copy_(0, packed.targets, states)
        return network.logits(states).view(batch, beam, -1)

    def grow(self, hypotheses: Any) -> None:
        """Extend each hypothesis by one position, which follows its own last one."""
        if self.fields:
            names, places = list(self.fields), hypotheses.lengths()
            new = hypotheses.numbers(names).to(self.encoded.states.device)
            rows = torch.arange(new.shape[1], device=new.device)
            for name, own in zip(names, new, strict=True):
                wider = F.pad(self.fields[name], (0, 1), value=self.fillers[name])
                wider[rows, places.to(new.device)] = own
                self.fields[name] = wider

    def select(self, sentences: Tensor | None, hypotheses: Tensor | None) -> None:
        super().select(sentences, hypotheses)
        if sentences is not None:
            self.memories = [memory and (memory[0][sentences], memory[1][sentences]) for memory in self.memories]


def _after(groups: Sequence[Group], layer: int, states: Tensor, sizes: Sequence[int]) -> Tensor:
    """Return the output of a layer at all positions, [N,d], as the components change it."""
    if not any(layer in run.own.layers_after for run in groups[0].runs):
        return states
    parts = []
    for group, part in zip(groups, states.split(sizes), strict=True):
        changed = Hooks(group.runs, []).after(layer, part.view(group.shape[0], group.shape[2], -1))
        parts.append(changed.flatten(0, 1))
    return torch.cat(parts)


@dataclass(slots=True)
class RowEdits:
    """The changes of attention from rows [M] to their sources: `base` of each sentence, and of the rows themselves a
    bias and a scale, [M,H or 1,n], and replaced weights of some heads."""

    base: Edit
    bias: Tensor | None = None
    scale: Tensor | None = None
    replaced: Sequence[Sequence[Replacement]] = ()
    shapes: Sequence[tuple[int, int]] = ()


def _cross(groups: Sequence[Group], layer: int, encoded: Encoded, last_position: bool = False) -> RowEdits:
    """Return the edits of a layer's attention to the source for all positions, or for the last one of each prefix."""
    found = RowEdits(encoded.cross[layer - 1])
    if not groups[0].cross:
        return found
    own = [group.cross[last_position][layer - 1] for group in groups]
    shapes = [(group.shape[0], 1 if last_position else group.shape[2]) for group in groups]

    def rows(kind: str) -> Tensor | None:
        parts = []
        for edit, (count, length) in zip(own, shapes, strict=True):
            tensor = getattr(edit, kind)
            if tensor is None:
                return None
            whole = tensor.expand(count, -1, length, encoded.states.shape[1])
            parts.append(whole.transpose(1, 2).flatten(0, 1))
        return torch.cat(parts)

    return RowEdits(found.base, rows("bias"), rows("scale"), [edit.replaced for edit in own], shapes)


def _attend_within(layer: DecoderLayer, states: Tensor, prefixes: Prefixes, contexts: Sequence[Edit]) -> Tensor:
    """Return self-attention of every position over its prefix, [N,d] → [N,d]."""
    attention, residual = layer.attention, layer.attention_residual
    width = states.shape[1]
    before = residual.before(states)
    projected = attention.qkv(before).split(prefixes.sizes)
    mixed = []
    for part, inputs, (length, count), context in zip(
        projected, before.split(prefixes.sizes), prefixes.lengths, contexts, strict=True
    ):
        query, memory = part.view(count, length, 3 * width).split([width, 2 * width], dim=-1)
        mixed.append(_attend(attention, query, memory, context, inputs.view(count, length, width)))
    return residual.after(states, attention.out(torch.cat(mixed)))


def _attend_from_last(layer: DecoderLayer, states: Tensor, prefixes: Prefixes, contexts: Sequence[Edit]) -> Tensor:
    """Return self-attention of the last position of each prefix, [N,d] → [R,d]."""
    attention, residual = layer.attention, layer.attention_residual
    before, last = residual.before(states), F.embedding(prefixes.ends, states)
    queries, memories = attention.project(residual.before(last), before)
    mixed = []
    for query, memory, inputs, (length, count), context in zip(
        queries.split(prefixes.counts),
        memories.split(prefixes.sizes),
        before.split(prefixes.sizes),
        prefixes.lengths,
        contexts,
        strict=True,
    ):
        memory, inputs = memory.view(count, length, -1), inputs.view(count, length, -1)
        mixed.append(_attend(attention, query.unsqueeze(1), memory, of_last_query(context), inputs))
    return residual.after(last, attention.out(torch.cat(mixed)))


def of_last_query(edit: Edit) -> Edit:
    """Return the edit of the last query only."""

    def last(tensor: Tensor | None) -> Tensor | None:
        return None if tensor is None else tensor[:, :, -1:]

    replaced = tuple(Replacement(each.heads, _last_of(each)) for each in edit.replaced)
    return Edit(last(edit.bias), last(edit.scale), replaced, last(edit.blind))


def _last_of(each: Replacement) -> Callable[[Tensor], Tensor]:
    return lambda inputs: each.weights(inputs)[:, :, -1:]


def _attend(attention: SelfAttention, query: Tensor, memory: Tensor, context: Edit, inputs: Tensor) -> Tensor:
    """query [R,Q,d]: queries of the last Q positions; memory [R,m,2d]: keys and values → [R·Q,d]"""
    dropout = attention.dropout if attention.training else 0.0
    query, key, value = (part.unflatten(-1, (attention.heads, -1)) for part in (query, *memory.chunk(2, dim=-1)))
    if attention.rotation is not None:
        query, key = attention.rotation(query, key.shape[1] - query.shape[1]), attention.rotation(key)
    query, key, value = (part.transpose(1, 2) for part in (query, key, value))
    return merge_heads(edited_attention(query, key, value, context, inputs, dropout)).flatten(0, 1)


def _attend_across(
    layer: DecoderLayer, states: Tensor, memory: Memory, cross: RowEdits, grouping: Grouping, sizes: Sequence[int]
) -> Tensor:
    """Run cross-attention of rows [M,d] to the sources of their sentences, and the feed-forward sublayer → [M,d]"""
    if memory and layer.cross and layer.cross_residual:
        residual, attention = layer.cross_residual, layer.cross
        before = residual.before(states)
        mixed = _mix(attention, before, memory, cross, grouping, sizes)
        states = residual.after(states, attention.out(mixed))
    residual = layer.feedforward_residual
    return residual.after(states, layer.feedforward(residual.before(states)))


def _mix(
    attention: CrossAttention,
    states: Tensor,
    memory: tuple[Tensor, Tensor],
    cross: RowEdits,
    grouping: Grouping,
    sizes: Sequence[int],
) -> Tensor:
    """Return the attention of states [M,d] over the keys and values of their sentences → [M,d]"""
    dropout = attention.dropout if attention.training else 0.0
    queries, replaced = attention.query(states), _replaced_rows(states, cross, sizes)
    keys, values = (part.index_select(0, grouping.sentences).split(grouping.sizes) for part in memory)
    starts = np.cumsum([0, *grouping.sizes])
    mixed = []
    for rows, key, value, start in zip(grouping.rows, keys, values, starts.tolist(), strict=False):
        sentences = grouping.sentences[start : start + len(rows)]
        edit = _of_sentences(cross.base, sentences)
        if cross.shapes:
            edit = both(edit, _of_rows(cross, replaced, rows))
        query = split_heads(F.embedding(rows, queries), attention.heads)
        mixed.append(merge_heads(edited_attention(query, key, value, edit, states, dropout)).flatten(0, 1))
    return F.embedding(grouping.places, torch.cat(mixed))


def _replaced_rows(states: Tensor, cross: RowEdits, sizes: Sequence[int]) -> list[tuple[tuple[int, ...], Tensor]]:
    """Return the heads whose weights are replaced, and these weights, [M,k,n]."""
    if not any(cross.replaced):
        return []
    parts = [part.view(*shape, -1) for part, shape in zip(states.split(list(sizes)), cross.shapes, strict=True)]
    found = []
    for each in zip(*cross.replaced, strict=True):
        heads = each[0].heads
        weights = [
            own.weights(part).expand(len(part), len(heads), -1, -1) for own, part in zip(each, parts, strict=True)
        ]
        found.append((heads, torch.cat([one.transpose(1, 2).flatten(0, 1) for one in weights])))
    return found


def _of_sentences(edit: Edit, sentences: Tensor) -> Edit:
    def of(tensor: Tensor | None) -> Tensor | None:
        return tensor if tensor is None or len(tensor) == 1 else tensor.index_select(0, sentences)

    return Edit(of(edit.bias), of(edit.scale), edit.replaced, of(edit.blind))


def _of_rows(cross: RowEdits, replaced: Sequence[tuple[tuple[int, ...], Tensor]], rows: Tensor) -> Edit:
    """Return the edit of a group's rows [b,Q], on [b,H,Q,n]."""

    def of(tensor: Tensor | None) -> Tensor | None:
        return None if tensor is None else tensor[rows].transpose(1, 2)

    own = []
    for heads, weights in replaced:
        chosen = weights[rows].transpose(1, 2)
        own.append(Replacement(heads, lambda _, chosen=chosen: chosen))  # type: ignore[misc]
    return Edit(of(cross.bias), of(cross.scale), tuple(own))
