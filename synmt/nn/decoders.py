"""The causal decoder: its layers run over a whole target in training, and token by token in a search.

Ideas contribute readings, which are tensors read from the targets, and modules that the decoder calls. The other
decoder, whose positions see the whole prefix, is in synmt.nn.prefixes.

Shapes: B sentences, K hypotheses per sentence, R targets or hypotheses, t target positions, Q of them that are queries,
n source positions, P predictions, H heads, d width, T target vocabulary.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from synmt.nn.attention import AttentionEdit, HeadEdit, one_or_both, per_layer
from synmt.nn.losses import Classes, joined_accuracies
from synmt.nn.transformer import Transformer


@dataclass(slots=True)
class TargetBatch:
    """A decoder's input, and the entries that it must predict.

    inputs [B,t]: begin of sentence and the tokens, padded.
    positions [P]: the index, in the flattened [B·t] inputs, of the position from which each entry is predicted.
    gold [P]: these entries, including the end of sentence. An entry that is never read, and the token after it, are
    predicted from the same position.
    tokens: the number of entries in the targets.
    counts [P]: the number of entries that each prediction stands for, if only some are predicted.
    unread: the indices in gold of the entries that are read, and of the entries that never are; None if all are read.
    columns: the data of readings and losses, by name, each [B,c] int64, padded with 0.
    prefixes: for a decoder of prefixes, the Prefixes that end at the positions, in consecutive packs.
    links [k,3]: for models that learn links: sentence, target position (not counting begin of sentence), source
    position.
    """

    inputs: Tensor
    positions: Tensor
    gold: Tensor
    tokens: int
    counts: Tensor | None = None
    unread: tuple[Tensor, Tensor] | None = None
    columns: dict[str, Tensor] = field(default_factory=dict)
    prefixes: Sequence[Any] = ()
    links: Tensor | None = None

    @property
    def real(self) -> Tensor:
        """Return where there is a token other than padding, begin or end, [B,t−1]. Every token must be predicted."""
        real = torch.zeros(self.inputs.numel(), dtype=torch.bool, device=self.inputs.device)
        real[self.positions] = True
        return real.view_as(self.inputs)[:, 1:]


@dataclass(slots=True)
class DecoderPass:
    """The changes that ideas make to one run of a causal decoder.

    edits: one per layer of self-attention, with watches, and edits of single heads that hide positions up to the query.
    Layers with the same edit share the object.
    inputs: added to the embedded tokens, [R,Q,d].
    losses: functions of the states [B,t,d] that entries are predicted from; each returns a loss summed over the batch.
    accuracies: by name, functions of the same states; each returns the numbers of correct predictions and of
    predictions.
    states: the states of a run over whole targets, set when it is done.
    """

    edits: list[AttentionEdit]
    inputs: Tensor | None = None
    losses: list[Callable[[Tensor], Tensor]] = field(default_factory=list)
    accuracies: dict[str, Callable[[Tensor], tuple[int, int]]] = field(default_factory=dict)
    states: Tensor = field(default_factory=lambda: torch.empty(0))


class Steps:
    """A search with the decoder, one token per step.

    source_bias [B,1,1,n]: hides padding; tensors: by the name of a reading, its tensors of all B·K hypotheses.
    """

    def __init__(self, readings: Sequence[Any], rows: int, source_bias: Tensor | None, device: torch.device) -> None:
        self.readings, self.source_bias = readings, source_bias
        self.tensors = {each.name: each.start(rows, device) for each in readings}

    def logits(self, prefixes: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return the logits of the next token, [B,K,T], given the ids [B,K,t] of all hypotheses, which start with
        begin of sentence. lengths [B,K]: how many of the ids count; None for all."""
        raise NotImplementedError

    def select(self, sentences: Tensor | None, hypotheses: Tensor | None) -> None:
        """Select some of the B sentences and of the B·K hypotheses; None selects all."""
        if sentences is not None and self.source_bias is not None:
            self.source_bias = self.source_bias[sentences]
        if hypotheses is not None:
            self.tensors = {name: each.select(hypotheses) for name, each in self.tensors.items()}

    def grow(self, hypotheses: Any) -> None:
        """Extend each hypothesis by one position, starting with begin of sentence, as in `Reading.grown`."""
        self.tensors = {each.name: each.grown(self.tensors[each.name], hypotheses) for each in self.readings}

    def joined(self, held: Any, rows: Tensor) -> Self:
        """Return a search over some of these hypotheses and some of `held`, which have paused for some steps.

        rows: indices into the hypotheses of this search followed by the hypotheses of `held`, which may be None. Their
        lengths may differ. The searches share data, so only one of them may continue.
        """
        steps = copy(self)
        others = (held or self).tensors
        steps.tensors = {name: each.joined(others[name], rows) for name, each in self.tensors.items()}
        return steps


def one_vocabulary(network: Transformer, gold: Tensor) -> list[Classes]:
    """Return one set of classes for all tokens [P]: the target vocabulary."""
    return [Classes(None, network.output_weight, network.output_bias, gold)]


class CausalDecoder(nn.Module):
    """A decoder in which no position sees a later one.

    readings: what the decoder reads from targets in addition to tokens, as synmt.ideas.target.Reading.
    parts: modules of ideas, by name. The decoder calls each with the tensors of the reading named by its attribute
    `reads` (None if that is ""), the positions of the queries, [Q], and the TargetBatch, which is None in a search.
    Each returns a DecoderPass. A module whose attribute `training_only` is true is called only in training.
    unread: the number of entries at the end of the target vocabulary that are predicted together with the next token
    and are never read.
    share: the weight of their loss in the total.
    """

    def __init__(
        self,
        parts: Mapping[str, nn.Module] | None = None,
        readings: Sequence[Any] = (),
        unread: int = 0,
        share: float = 1.0,
    ) -> None:
        super().__init__()
        self.parts, self.readings = nn.ModuleDict(parts), readings
        self.lasting = [each for each in self.parts.values() if not getattr(each, "training_only", False)]
        self.unread, self.share = unread, share

    def forward(
        self, network: Transformer, target: TargetBatch, encoded: Tensor, source_bias: Tensor | None
    ) -> tuple[Tensor, DecoderPass | None]:
        """Return the states that predict the entries, [P,d], and the changes that ideas made to the run, or None if
        there are none. encoded [B,n,d], source_bias [B,1,1,n].
        """
        states, run = self._run(network, target.inputs, target.columns, encoded, source_bias, target)
        return states.flatten(0, 1)[target.positions], run

    def read(
        self,
        network: Transformer,
        inputs: Tensor,
        columns: Mapping[str, Tensor],
        encoded: Tensor,
        source_bias: Tensor | None,
    ) -> Tensor:
        """Run over whole targets without losses: inputs [B,t], columns as in TargetBatch → [B,t,d]"""
        return self._run(network, inputs, columns, encoded, source_bias)[0]

    def _run(
        self,
        network: Transformer,
        inputs: Tensor,
        columns: Mapping[str, Tensor],
        encoded: Tensor,
        source_bias: Tensor | None,
        target: TargetBatch | None = None,
    ) -> tuple[Tensor, DecoderPass | None]:
        if not (self.lasting if target is None else self.parts):
            return network.decode(network.embed(inputs), encoded, source_bias), None
        length = inputs.shape[1]
        positions = torch.arange(length, device=inputs.device)
        tensors = {reading.name: reading.tensors(columns, length) for reading in self.readings}
        run = self.decoder_pass(tensors, positions, target)
        states = network.embed(inputs)
        if run.inputs is not None:
            states = states + run.inputs
        contexts = _contexts(run.edits, positions, network.config.heads)
        watches = [edit.watches for edit in run.edits]
        run.states = network.decode(states, encoded, source_bias, contexts, watches)
        return run.states, run

    def decoder_pass(
        self, tensors: Mapping[str, Any], queries: Tensor, target: TargetBatch | None = None
    ) -> DecoderPass:
        """Return the changes that ideas make at the positions `queries` [Q].

        Raises ValueError if two ideas edit the same head, and if two accuracies have the same name.
        """
        parts: Iterable[Any] = self.lasting if target is None else self.parts.values()
        passes: list[DecoderPass] = [part(tensors.get(part.reads), queries, target) for part in parts]
        first, *rest = passes
        for other in rest:
            first = DecoderPass(
                [one + another for one, another in zip(first.edits, other.edits, strict=True)],
                one_or_both(first.inputs, other.inputs, torch.add),
                [*first.losses, *other.losses],
                joined_accuracies(first.accuracies, other.accuracies),
            )
        return first

    def classes(self, network: Transformer, target: TargetBatch) -> list[Classes]:
        """Return the classes of the entries [P]: tokens compete only with tokens, and entries that are never read only
        with each other."""
        gold = target.gold
        if target.unread is None:
            return one_vocabulary(network, gold)
        tokens = network.target_vocabulary - self.unread
        of_tokens, of_unread = target.unread
        weight, bias = network.output_weight, network.output_bias
        return [
            Classes(of_tokens, weight[:tokens], bias[:tokens], gold[of_tokens]),
            Classes(of_unread, weight[tokens:], bias[tokens:], gold[of_unread] - tokens, self.share),
        ]

    def start(self, network: Transformer, encoded: Tensor, source_bias: Tensor | None, beam: int) -> Steps:
        return CausalSteps(self, network, encoded, source_bias, beam)


def _contexts(edits: Sequence[AttentionEdit], queries: Tensor, heads: int) -> list[AttentionEdit | None]:
    """Return each layer's edit at the positions `queries` [Q], None where it is plainly causal. Equal edits are
    shared."""
    known: dict[tuple[HeadEdit, ...], AttentionEdit | None] = {(): None}
    for edit in edits:
        if edit.heads not in known:
            known[edit.heads] = AttentionEdit(_joined(edit, queries, heads))
    return [known[edit.heads] for edit in edits]


def _joined(edit: AttentionEdit, queries: Tensor, heads: int) -> Tensor:
    """Return one bias for all heads, [R,H,Q,m]: attending with all heads at once is faster."""
    own_biases = [(list(own.heads), own.bias) for own in edit.heads if own.bias is not None]
    rows, _, _, length = own_biases[0][1].shape
    later = torch.arange(length, device=queries.device) > queries.unsqueeze(1)
    bias = torch.zeros(rows, heads, *later.shape, device=queries.device).masked_fill(later, float("-inf"))
    for own, hidden in own_biases:
        bias[:, own] += hidden
    return bias


class CausalSteps(Steps):
    """A search that stores the keys and values of all hypotheses in the order in which they are computed.

    places [B·K,t]: for each position of a hypothesis, the index of its key among the keys of the sentence, counted from
    1; 0 for steps in which the hypothesis paused.
    """

    def __init__(
        self, decoder: CausalDecoder, network: Transformer, encoded: Tensor, source_bias: Tensor | None, beam: int
    ) -> None:
        rows = len(encoded) * beam
        super().__init__(decoder.readings if decoder.lasting else (), rows, source_bias, encoded.device)
        self.decoder, self.network = decoder, network
        self.caches = network.start(encoded)
        self.places = torch.zeros(rows, 0, dtype=torch.int64, device=encoded.device)
        self.keys = 0  # number of keys per sentence

    def logits(self, prefixes: Tensor, lengths: Tensor | None = None) -> Tensor:
        batch, beam, _ = prefixes.shape
        tokens = prefixes[:, :, -1:] if lengths is None else prefixes.gather(2, lengths.unsqueeze(2) - 1)
        position = self.places.shape[1] if lengths is None else lengths - 1
        start = position.view(-1, 1) if isinstance(position, Tensor) else position
        states = self.network.embed(tokens.reshape(-1, 1), start).view(batch, beam, -1)
        return self.network.logits(self.states(states, position), without=self.decoder.unread)

    def states(self, embedded: Tensor, position: int | Tensor) -> Tensor:
        """Run the decoder over one more position of all hypotheses: [B,K,d] → [B,K,d]; positions [B,K] may differ."""
        (batch, beam, _), step = embedded.shape, self.places.shape[1]
        own = torch.arange(self.keys + 1, self.keys + 1 + beam, device=embedded.device).repeat(batch)
        self.places = torch.cat([self.places, own.unsqueeze(1)], dim=1)
        self.keys += beam
        edits: list[AttentionEdit | None] = [None] * len(self.caches)
        if self.decoder.lasting:
            last = torch.tensor([step], device=embedded.device)
            run = self.decoder.decoder_pass(self.tensors, last)
            edits = _contexts(run.edits, last, self.network.config.heads)
            if run.inputs is not None:
                embedded = embedded + run.inputs.view_as(embedded)
        biases = per_layer(edits, lambda edit: self._of_keys(edit, batch))
        return self.network.step(embedded, self.caches, self.source_bias, position, biases)

    def _of_keys(self, edit: AttentionEdit | None, batch: int) -> Tensor:
        """Turn an edit, whose bias is on the positions of each hypothesis, into a bias on all keys of its sentence that
        hides the keys of other hypotheses: [B,H or 1,K,m]"""
        rows, length = self.places.shape
        own = torch.zeros(1, 1, device=self.places.device) if edit is None or edit.bias is None else edit.bias[:, :, 0]
        own = own.expand(rows, -1, length)
        bias = torch.full((*own.shape[:2], 1 + self.keys), float("-inf"), device=own.device)
        bias.scatter_(2, self.places.unsqueeze(1).expand_as(own), own)
        return bias[:, :, 1:].unflatten(0, (batch, -1)).transpose(1, 2)

    def select(self, sentences: Tensor | None, hypotheses: Tensor | None) -> None:
        super().select(sentences, hypotheses)
        if sentences is not None:
            for cache in self.caches:
                cache.select(sentences)
        if hypotheses is not None:
            self.places = self.places[hypotheses]

    def joined(self, held: "CausalSteps | None", rows: Tensor) -> Self:
        steps = super().joined(held, rows)
        places = (held or self).places
        steps.places = joined_rows(self.places, places, rows, (0, self.places.shape[1] - places.shape[1]))
        return steps


class EnsembleSteps:
    """A search by the mean of the members' probabilities of the next token, as in fairseq (Ott et al. 2019).

    The mean is a distribution, so each result has a probability. Marian averages log-probabilities instead, which would
    have to be normalized for that. members: the steps of each model, with its id of begin of sentence. All models share
    one target vocabulary.
    """

    def __init__(self, members: Sequence[tuple[Steps, int]]) -> None:
        self.members = members

    def logits(self, prefixes: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return log-probabilities, [B,K,T]."""
        found = []
        for steps, begin in self.members:
            own = prefixes.clone()
            own[:, :, 0] = begin
            found.append(steps.logits(own, lengths).float().log_softmax(dim=2))
        return torch.stack(found).logsumexp(dim=0) - math.log(len(found))

    def select(self, sentences: Tensor | None, hypotheses: Tensor | None) -> None:
        for steps, _ in self.members:
            steps.select(sentences, hypotheses)

    def grow(self, hypotheses: Any) -> None:
        for steps, _ in self.members:
            steps.grow(hypotheses)


@dataclass(slots=True)
class Numbers:
    """One number per position of each target, [R,t] int64: the simplest reading."""

    values: Tensor

    @classmethod
    def empty(cls, rows: int, device: torch.device) -> "Numbers":
        return cls(torch.zeros(rows, 0, dtype=torch.int64, device=device))

    def grown(self, latest: Tensor) -> "Numbers":
        """Return the numbers extended by one position, [R]."""
        return Numbers(torch.cat([self.values, latest.to(self.values).unsqueeze(1)], dim=1))

    def select(self, rows: Tensor) -> "Numbers":
        return Numbers(self.values[rows])

    def joined(self, held: "Numbers", rows: Tensor) -> "Numbers":
        """Return rows [R] of these numbers and of `held`, as `joined_rows`; `held` lacks the last positions."""
        missing = self.values.shape[1] - held.values.shape[1]
        return Numbers(joined_rows(self.values, held.values, rows, (0, missing)))


def joined_rows(own: Tensor, held: Tensor, rows: Tensor, missing: Sequence[int], value: float = 0.0) -> Tensor:
    """Return rows [R] of `own` [A,…] and of `held` [C,…], counting `held` after `own`, padded with a value: [R,…]

    missing: the padding of rows of `held`, as in `torch.nn.functional.pad`. If few rows come from `held`, this is
    faster than concatenating first.
    """
    waits = rows >= len(own)
    joined = own[rows.masked_fill(waits, 0)]
    places = waits.nonzero().squeeze(1)
    if len(places):
        joined[places] = F.pad(held[rows[places] - len(own)], list(missing), value=value)
    return joined
