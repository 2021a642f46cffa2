"""How the layers of a Transformer's decoder are run: over a target at once, or over each of its prefixes.

In a causal decoder, one run over a target gives the states after all its prefixes. Where positions also see what
comes after them in the prefix, their states differ from prefix to prefix: a target of t tokens is t inputs, of
lengths 1 … t, and only the last position of each predicts a token. What keeps that from costing t times as much:
prefixes lie side by side without padding; the source is encoded, and its cross keys and values are made, once for
all prefixes of a sentence; and the last layer computes the last positions alone.

Shapes: B sentences, K hypotheses of each, t target positions, n source positions, R prefixes, N positions of all
prefixes, H heads, d width, T target vocabulary.
"""

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from synmt.nn.attention import (
    PLAIN,
    AttentionEdit,
    CrossAttention,
    SelfAttention,
    attend,
    edited_attention,
    merge_heads,
    split_heads,
)
from synmt.nn.graphs import Graph
from synmt.nn.losses import Classes
from synmt.nn.prefixes import Grouping, Prefixes
from synmt.nn.rows import joined_rows
from synmt.nn.stacks import Stacks
from synmt.nn.transformer import DecoderLayer, Transformer

Memory = tuple[Tensor, Tensor] | None  # cross keys and values of a layer, [B,H,n,c] each, if it has any


@dataclass(slots=True)
class TargetBatch:
    """What a decoder reads and must predict.

    inputs [B,t]: begin of sentence and the tokens, padded.
    positions [R]: after which of the flattened [B·t] inputs a token is predicted; gold [R]: that token, the end of
    sentence among them. A tag and the token after it are predicted at one position.
    tokens: how many the targets have; counts [R]: for how many of them each stands, if not all are predicted.
    prefixes, graph: for a PrefixDecoder, the prefixes that end at the positions, and the graphs of whole targets.
    stacks: for a CausalDecoder whose heads see them.
    links [k,3]: for a model that learns them: sentence, target position (without begin of sentence) and source
    position.
    """

    inputs: Tensor
    positions: Tensor
    gold: Tensor
    tokens: int
    counts: Tensor | None = None
    prefixes: Prefixes | None = None
    graph: Graph | None = None
    stacks: Stacks | None = None
    links: Tensor | None = None

    @property
    def real(self) -> Tensor:
        """Return where there is a token, no padding, begin or end of sentence, [B,t−1]; all are predicted."""
        real = torch.zeros(self.inputs.numel(), dtype=torch.bool, device=self.inputs.device)
        real[self.positions] = True
        return real.view_as(self.inputs)[:, 1:]


class Steps(Protocol):
    """A search over the decoder, one token a step."""

    def logits(self, prefixes: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return those of the next token, [B,K,T], after the ids [B,K,t] of all hypotheses, begin of sentence first.

        lengths [B,K]: how many of the ids count, if not all do.
        """

    def select(self, sentences: Tensor | None, hypotheses: Tensor | None) -> None:
        """Keep some rows of the B sentences and of the B·K hypotheses; None is all."""

    def grow(self, tokens: Tensor) -> None:
        """Give each hypothesis one more position, the begin of sentence first.

        tokens: what it adds to what the decoder reads, as in Graph.add, the rows being hypotheses, or in Stacks.grown.
        """


class WaitingSteps(Steps, Protocol):
    """A search whose hypotheses can wait for others."""

    def joined(self, held: Any, rows: Tensor) -> "WaitingSteps":
        """Return a search over some of these hypotheses and of those of `held`, which have waited for some steps.

        rows: hypotheses of these, followed by those of `held`, None for none; they may have several lengths. What both
        keep is shared, so one of these searches alone may go on.
        """


def one_vocabulary(network: Transformer, gold: Tensor) -> list[Classes]:
    """Return what the tokens [R] compete with: all others."""
    return [Classes(None, network.output_weight, network.output_bias, gold)]


class CausalDecoder(nn.Module):
    """No position sees a later one.

    heads: modules from Stacks of R targets and the positions that ask, [Q], to an edit of each layer: of some heads,
    which hides some of the positions up to the one that asks.
    tags: how many of the target vocabulary, the last ones, are said beside the next token and never read; share: of
    their loss in what is minimized.
    """

    def __init__(self, heads: Iterable[nn.Module] = (), tags: int = 0, share: float = 1.0) -> None:
        super().__init__()
        self.heads = nn.ModuleList(heads)
        self.tags, self.share = tags, share

    def forward(self, network: Transformer, target: TargetBatch, encoded: Tensor, source_bias: Tensor | None) -> Tensor:
        """Return the states that predict the tokens: encoded [B,n,d], source_bias [B,1,1,n] → [R,d]"""
        return self.read(network, target.inputs, target.stacks, encoded, source_bias).flatten(0, 1)[target.positions]

    def read(
        self,
        network: Transformer,
        inputs: Tensor,
        tree: Graph | Stacks | None,
        encoded: Tensor,
        source_bias: Tensor | None,
    ) -> Tensor:
        """Run over whole targets: inputs [B,t], tree: what the decoder reads of theirs → [B,t,d]"""
        edits = None
        if self.heads:
            assert isinstance(tree, Stacks)
            edits = self.edits(tree, torch.arange(inputs.shape[1], device=inputs.device), network.config.heads)
        return network.decode(network.embed(inputs), encoded, source_bias, edits)

    def edits(self, stacks: Stacks, queries: Tensor, heads: int) -> list[AttentionEdit | None]:
        """Return what each layer shows the positions `queries` [Q], None for all up to their own; layers that see the
        same share it."""
        by_layer = [sum(edits, PLAIN) for edits in zip(*(part(stacks, queries) for part in self.heads), strict=True)]
        known: dict[tuple[int, ...], AttentionEdit | None] = {(): None}
        for edit in by_layer:
            if (key := _key(edit)) not in known:
                known[key] = AttentionEdit(_joined(edit, queries, heads))
        return [known[_key(edit)] for edit in by_layer]

    def classes(self, network: Transformer, gold: Tensor) -> list[Classes]:
        """Return what the entries [R] compete with: tokens with tokens, and tags with tags."""
        if not self.tags:
            return one_vocabulary(network, gold)
        tokens = network.target_vocabulary - self.tags
        is_tag = gold >= tokens
        of_tokens, of_tags = (each.nonzero().squeeze(1) for each in (~is_tag, is_tag))
        weight, bias = network.output_weight, network.output_bias
        return [
            Classes(of_tokens, weight[:tokens], bias[:tokens], gold[of_tokens]),
            Classes(of_tags, weight[tokens:], bias[tokens:], gold[of_tags] - tokens, self.share),
        ]

    def start(self, network: Transformer, encoded: Tensor, source_bias: Tensor | None, beam: int) -> WaitingSteps:
        return CausalSteps(self, network, encoded, source_bias, beam)


def _key(edit: AttentionEdit) -> tuple[int, ...]:
    return tuple(map(id, edit.heads))


def _joined(edit: AttentionEdit, queries: Tensor, heads: int) -> Tensor:
    """Return one bias for all heads, [R,H,Q,m]: in one go they are faster than apart."""
    own_biases = [(list(own.heads), own.bias) for own in edit.heads if own.bias is not None]
    rows, _, _, length = own_biases[0][1].shape
    later = torch.arange(length, device=queries.device) > queries.unsqueeze(1)
    bias = torch.zeros(rows, heads, *later.shape, device=queries.device).masked_fill(later, float("-inf"))
    for own, hidden in own_biases:
        bias[:, own] += hidden
    return bias


class CausalSteps:
    """Keys and values of all positions of all hypotheses are kept where they arose, and each knows its own.

    places [B·K,t]: where the positions of a hypothesis are among the keys of its sentence, counted from 1; 0 where it
    has waited, and so has none.
    """

    def __init__(
        self, decoder: CausalDecoder, network: Transformer, encoded: Tensor, source_bias: Tensor | None, beam: int
    ) -> None:
        self.decoder, self.network, self.source_bias = decoder, network, source_bias
        self.caches = network.start(encoded)
        self.stacks = Stacks.empty(len(encoded) * beam, encoded.device) if decoder.heads else None
        self.places = torch.zeros(len(encoded) * beam, 0, dtype=torch.int64, device=encoded.device)
        self.keys = 0  # of each sentence

    def logits(self, prefixes: Tensor, lengths: Tensor | None = None) -> Tensor:
        batch, beam, _ = prefixes.shape
        tokens = prefixes[:, :, -1:] if lengths is None else prefixes.gather(2, lengths.unsqueeze(2) - 1)
        position = self.places.shape[1] if lengths is None else lengths - 1
        start = position.view(-1, 1) if isinstance(position, Tensor) else position
        states = self.network.embed(tokens.reshape(-1, 1), start).view(batch, beam, -1)
        return self.network.logits(self.states(states, position), without=self.decoder.tags)

    def states(self, embedded: Tensor, position: int | Tensor) -> Tensor:
        """Run over one more position of all hypotheses, which may differ, [B,K]: [B,K,d] → [B,K,d]"""
        (batch, beam, _), step = embedded.shape, self.places.shape[1]
        own = torch.arange(self.keys + 1, self.keys + 1 + beam, device=embedded.device).repeat(batch)
        self.places = torch.cat([self.places, own.unsqueeze(1)], dim=1)
        self.keys += beam
        edits: list[AttentionEdit | None] = [None] * len(self.caches)
        if self.stacks is not None:
            last = torch.tensor([step], device=embedded.device)
            edits = self.decoder.edits(self.stacks, last, self.network.config.heads)
        known = {id(edit): self._of_keys(edit, batch) for edit in edits}
        biases = [known[id(edit)] for edit in edits]
        return self.network.step(embedded, self.caches, self.source_bias, position, biases)

    def _of_keys(self, edit: AttentionEdit | None, batch: int) -> Tensor:
        """Return what an edit says of the positions of each hypothesis as a bias on all keys of its sentence, those of
        others hidden: [B,H or 1,K,m]"""
        rows, length = self.places.shape
        own = torch.zeros(1, 1, device=self.places.device) if edit is None or edit.bias is None else edit.bias[:, :, 0]
        own = own.expand(rows, -1, length)
        bias = torch.full((*own.shape[:2], 1 + self.keys), float("-inf"), device=own.device)
        bias.scatter_(2, self.places.unsqueeze(1).expand_as(own), own)
        return bias[:, :, 1:].unflatten(0, (batch, -1)).transpose(1, 2)

    def select(self, sentences: Tensor | None, hypotheses: Tensor | None) -> None:
        if sentences is not None:
            if self.source_bias is not None:
                self.source_bias = self.source_bias[sentences]
            for cache in self.caches:
                cache.select(sentences)
        if hypotheses is not None:
            self.places = self.places[hypotheses]
            if self.stacks is not None:
                self.stacks = self.stacks.select(hypotheses)

    def joined(self, held: "CausalSteps | None", rows: Tensor) -> "CausalSteps":
        other = held or self
        steps = copy(self)
        if self.stacks is not None and other.stacks is not None:
            steps.stacks = self.stacks.joined(other.stacks, rows)
        missing = self.places.shape[1] - other.places.shape[1]
        steps.places = joined_rows(self.places, other.places, rows, (0, missing))
        return steps

    def grow(self, tokens: Tensor) -> None:
        if self.stacks is not None:
            self.stacks = self.stacks.grown(tokens)


class PrefixDecoder(nn.Module):
    """All positions of a prefix see each other.

    inputs: modules on the decoder's input, from (states [N,d], a Graph for each length) to states.
    heads: modules from a Graph of R prefixes to a HeadEdit of every layer, without replacements.
    """

    def __init__(self, inputs: Iterable[nn.Module] = (), heads: Iterable[nn.Module] = ()) -> None:
        super().__init__()
        self.inputs, self.heads = nn.ModuleList(inputs), nn.ModuleList(heads)

    @property
    def reads_graphs(self) -> bool:
        return bool(self.inputs) or bool(self.heads)

    def forward(self, network: Transformer, target: TargetBatch, encoded: Tensor, source_bias: Tensor | None) -> Tensor:
        """Run as CausalDecoder does."""
        assert target.prefixes is not None
        states = F.embedding(target.prefixes.tokens, network.embed(target.inputs).flatten(0, 1))
        graphs = target.prefixes.cut(target.graph) if target.graph is not None else []
        memories = [layer.memory(encoded) for layer in network.decoder_layers]
        return self.run(network, states, target.prefixes, graphs, memories, source_bias)

    def read(
        self,
        network: Transformer,
        inputs: Tensor,
        tree: Graph | Stacks | None,
        encoded: Tensor,
        source_bias: Tensor | None,
    ) -> Tensor:
        """Run as CausalDecoder does, over the prefixes that are the whole targets, without padding."""
        states = network.embed(inputs)
        for part in self.inputs:
            states = part(states.flatten(0, 1), [tree]).view_as(states)
        return network.decode(states, encoded, source_bias, [self._context(tree)] * network.config.decoder_layers)

    def _context(self, graph: Graph | Stacks | None) -> AttentionEdit:
        """Return what the positions of prefixes see of each other."""
        return AttentionEdit(heads=tuple(part(graph) for part in self.heads))

    def classes(self, network: Transformer, gold: Tensor) -> list[Classes]:
        return one_vocabulary(network, gold)

    def start(self, network: Transformer, encoded: Tensor, source_bias: Tensor | None, beam: int) -> WaitingSteps:
        return PrefixSteps(self, network, encoded, source_bias, beam)

    def run(
        self,
        network: Transformer,
        states: Tensor,
        prefixes: Prefixes,
        graphs: Sequence[Graph],
        memories: Sequence[Memory],
        source_bias: Tensor | None,
    ) -> Tensor:
        """Return the state after each prefix; states [N,d]: all embeddings, memories: those of all layers → [R,d]"""
        for part in self.inputs:
            states = part(states, graphs)
        contexts = [self._context(graph) for graph in graphs] or [PLAIN] * len(prefixes.lengths)
        layers = network.decoder_layers
        for layer, memory in zip(layers[:-1], memories, strict=False):
            states = _attend_within(layer, states, prefixes, contexts)
            states = _attend_across(layer, states, memory, source_bias, prefixes.positions)
        states = _attend_from_last(layers[-1], states, prefixes, contexts)
        states = _attend_across(layers[-1], states, memories[-1], source_bias, prefixes.last_positions)
        decoded: Tensor = network.decoder_norm(states)
        return decoded


class PrefixSteps:
    """Cross keys and values are kept; the prefixes, which all have one length, are read anew at each step."""

    def __init__(
        self, decoder: PrefixDecoder, network: Transformer, encoded: Tensor, source_bias: Tensor | None, beam: int
    ) -> None:
        self.decoder, self.network, self.source_bias = decoder, network, source_bias
        self.memories = [layer.memory(encoded) for layer in network.decoder_layers]
        self.graph = Graph.empty(len(encoded) * beam, 0, encoded.device) if decoder.reads_graphs else None

    def logits(self, prefixes: Tensor, lengths: Tensor | None = None) -> Tensor:
        batch, beam, length = prefixes.shape
        network = self.network
        states = network.embed(prefixes.flatten(0, 1)).flatten(0, 1)
        if lengths is None:
            packed = Prefixes.of_a_beam(batch, beam, length, prefixes.device)
            graphs = [] if self.graph is None else [self.graph]
        else:
            packed = Prefixes.of_lengths(lengths, length)
            graphs = [] if self.graph is None else packed.cut(self.graph)
            states = F.embedding(packed.tokens, states)
        states = self.decoder.run(network, states, packed, graphs, self.memories, self.source_bias)
        if lengths is not None:
            states = torch.empty_like(states).index_copy_(0, packed.sentences, states)
        return network.logits(states).view(batch, beam, -1)

    def select(self, sentences: Tensor | None, hypotheses: Tensor | None) -> None:
        if sentences is not None:
            self.memories = [memory and (memory[0][sentences], memory[1][sentences]) for memory in self.memories]
            if self.source_bias is not None:
                self.source_bias = self.source_bias[sentences]
        if hypotheses is not None and self.graph is not None:
            self.graph = self.graph.select(hypotheses)

    def joined(self, held: "PrefixSteps | None", rows: Tensor) -> "PrefixSteps":
        steps = copy(self)
        other = held or self
        if self.graph is not None and other.graph is not None:
            steps.graph = self.graph.joined(other.graph, rows)
        return steps

    def grow(self, tokens: Tensor) -> None:
        if self.graph is not None:
            self.graph = self.graph.grown()
            self.graph.add(tokens)


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
    """query [R,Q,d], memory [R,m,2d]: keys and values → [R·Q,d]"""
    dropout = attention.dropout if attention.training else 0.0
    query, key, value = (split_heads(part, attention.heads) for part in (query, *memory.chunk(2, dim=-1)))
    return merge_heads(edited_attention(query, key, value, context, None, dropout)).flatten(0, 1)


def _attend_across(
    layer: DecoderLayer, states: Tensor, memory: Memory, source_bias: Tensor | None, grouping: Grouping
) -> Tensor:
    """Run rows [M,d] through attention to their sentences' sources and the feed-forward sublayer → [M,d]"""
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
    """Return what queries [M,d] find in the keys and values of their sentences → [M,d]"""
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
