"""The causal decoder: its layers run over a whole target in training, and token by token in a search.

The other decoder, whose positions see the whole prefix, is in synmt.nn.prefixes. Components change both by their hooks.

Shapes: B sentences, K hypotheses per sentence, R targets or hypotheses, t target positions, Q of them that are queries,
n source positions, P predictions, H heads, d width, T target vocabulary.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from synmt.nn.attention import PLAIN, Edit, Replacement, safe
from synmt.nn.config import TransformerConfig
from synmt.nn.encoding import Encoded
from synmt.nn.hooks import CROSS, SELF, Hooks, Part, SideRun, checked, edits, replacement, runs_of
from synmt.nn.transformer import Transformer


@dataclass(slots=True)
class TargetBatch:
    """A decoder's input, and the tokens that it must predict.

    inputs [B,t]: begin of sentence and the tokens, padded.
    positions [P]: the index, in the flattened [B·t] inputs, of the position from which each token is predicted.
    gold [P]: these tokens, including the end of sentence.
    tokens: the number of tokens and labels in the targets.
    counts [P]: the number of tokens that each prediction stands for, if only some are predicted.
    fields: of components, by name, each [B,t], padded as its Field says.
    labels: by field, the indices in positions from which a label is predicted, too, and these labels, from 0; [L] each.
    prefixes: for a decoder of prefixes, the Prefixes that end at the positions, in consecutive packs.
    links [k,3]: for models that learn links: sentence, target position (not counting begin of sentence), source
    position.
    """

    inputs: Tensor
    positions: Tensor
    gold: Tensor
    tokens: int
    counts: Tensor | None = None
    fields: dict[str, Tensor] = field(default_factory=dict)
    labels: Mapping[str, tuple[Tensor, Tensor]] = field(default_factory=dict)
    prefixes: Sequence[Any] = ()
    links: Tensor | None = None

    @property
    def real(self) -> Tensor:
        """Return where there is a token other than padding, begin or end, [B,t−1]. Every token must be predicted."""
        real = torch.zeros(self.inputs.numel(), dtype=torch.bool, device=self.inputs.device)
        real[self.positions] = True
        return real.view_as(self.inputs)[:, 1:]


class Steps:
    """A search with the decoder, one token per step.

    encoded: of the B sentences; fields: by name, the numbers at the positions of all B·K hypotheses, [B·K,t] int64;
    fillers: by name, the number at positions where a hypothesis paused.
    """

    def __init__(self, fillers: Mapping[str, int], rows: int, encoded: Encoded) -> None:
        self.encoded, self.fillers = encoded, fillers
        none = torch.zeros(rows, 0, dtype=torch.int64, device=encoded.states.device)
        self.fields = dict.fromkeys(fillers, none)

    def logits(self, prefixes: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return the logits of the next token, [B,K,T], given the ids [B,K,t] of all hypotheses, which start with
        begin of sentence. lengths [B,K]: how many of the ids count; None for all."""
        raise NotImplementedError

    def select(self, sentences: Tensor | None, hypotheses: Tensor | None) -> None:
        """Select some of the B sentences and of the B·K hypotheses; None selects all."""
        if sentences is not None:
            self.encoded = self.encoded.select(sentences)
        if hypotheses is not None:
            self.fields = {name: each[hypotheses] for name, each in self.fields.items()}

    def grow(self, hypotheses: Any) -> None:
        """Extend each hypothesis by one position, starting with begin of sentence, with the numbers of its state."""
        if self.fields:
            new = hypotheses.numbers(list(self.fields)).to(self.encoded.states.device)
            pairs = zip(self.fields.items(), new, strict=True)
            self.fields = {name: torch.cat([each, own.unsqueeze(1)], dim=1) for (name, each), own in pairs}

    def joined(self, held: Any, rows: Tensor) -> Self:
        """Return a search over some of these hypotheses and some of `held`, which have paused for some steps.

        rows: indices into the hypotheses of this search followed by the hypotheses of `held`, which may be None. Their
            lengths may differ. The searches share data, so only one of them may continue.
        """
        steps = copy(self)
        others = (held or self).fields
        steps.fields = {
            name: joined_rows(each, others[name], rows, self.fillers[name]) for name, each in self.fields.items()
        }
        return steps


class LabelHead(nn.Module):
    """The output layer of a field of labels. loss_weight: of their loss in the total."""

    def __init__(self, width: int, labels: int, loss_weight: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(labels, width))
        self.bias = nn.Parameter(torch.zeros(labels))
        self.loss_weight = loss_weight
        nn.init.normal_(self.weight, std=width**-0.5)


class Decoder(nn.Module):
    """What both decoders share.

    parts: the components that have hooks, by name.
    fillers: by name, the padding of the fields that a search extends, since a component reads them.
    heads: the output layers of fields of labels, by field.
    """

    def __init__(
        self,
        config: TransformerConfig,
        parts: nn.ModuleDict | None = None,
        fillers: Mapping[str, int] | None = None,
        heads: Mapping[str, LabelHead] | None = None,
    ) -> None:
        super().__init__()
        self.config, self.fillers = config, fillers or {}
        self.heads = nn.ModuleDict(heads or {})
        self.parts = parts if parts is not None else nn.ModuleDict()

    def start(self, network: Transformer, encoded: Encoded, beam: int) -> Steps:
        """Return a search for `beam` hypotheses per sentence."""
        raise NotImplementedError

    def read(self, network: Transformer, inputs: Tensor, fields: Mapping[str, Tensor], encoded: Encoded) -> Tensor:
        """Run over whole targets without losses: inputs [B,t], fields as in TargetBatch → [B,t,d]"""
        raise NotImplementedError

    def expanded(self, fields: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the fields of whole targets with those that components derive from them."""
        if not self.parts:
            return {}
        every = dict(fields)
        parts: list[Any] = list(self.parts.values())
        for part in parts:
            component = part.component
            if component.state_fields.fields.keys() <= fields.keys():
                every |= component.state_fields.derive(fields)
        return every

    def runs(
        self, fields: Mapping[str, Tensor], queries: Tensor, encoded: Encoded, sentences: Tensor, losses: bool = False
    ) -> list[SideRun]:
        """Return the runs of the components for the positions `queries` [Q] of targets; sentences: of each, [R].

        losses: whether components for training only take part.
        """
        every: list[Any] = list(self.parts.values())
        parts = [each for each in every if losses or not each.component.training_only]

        def new_run(part: Part, own: dict[str, Tensor]) -> SideRun:
            derived = {name: fields[name] for name in part.component.state_fields.derived if name in fields}
            return SideRun(part, own | derived, queries, source=encoded.source, sentences=sentences)

        return runs_of(parts, fields, new_run)


class CausalDecoder(Decoder):
    """A decoder in which no position sees a later one."""

    def forward(self, network: Transformer, target: TargetBatch, encoded: Encoded) -> tuple[Tensor, Hooks]:
        """Return the states that predict the tokens, [P,d], and the hooks of this run."""
        states, hooks = self._run(network, target.inputs, target.fields, encoded, losses=True)
        return states.flatten(0, 1)[target.positions], hooks

    def read(self, network: Transformer, inputs: Tensor, fields: Mapping[str, Tensor], encoded: Encoded) -> Tensor:
        """Run over whole targets without losses: inputs [B,t], fields as in TargetBatch → [B,t,d]"""
        return self._run(network, inputs, fields, encoded)[0]

    def _run(
        self, network: Transformer, inputs: Tensor, fields: Mapping[str, Tensor], encoded: Encoded, losses: bool = False
    ) -> tuple[Tensor, Hooks]:
        if not self.parts:
            return network.decode(network.embed(inputs), encoded.states, encoded.cross), Hooks([], [])
        rows, length = inputs.shape
        queries = torch.arange(length, device=inputs.device)
        sentences = torch.arange(rows, device=inputs.device)
        runs = self.runs(self.expanded(fields), queries, encoded, sentences, losses)
        hooks = Hooks(runs, causal_edits(runs, self.config, (rows, self.config.heads, length, length), queries))
        cross = cross_of_decoder(runs, self.config, (rows, self.config.heads, length), encoded)
        with hooks.recording([layer.attention for layer in network.decoder_layers]):
            states = hooks.after(0, network.embed(inputs, change=hooks.embed))
            states = network.decode(states, encoded.states, cross, hooks.edits, hooks.after)
        return states, hooks

    def start(self, network: Transformer, encoded: Encoded, beam: int) -> Steps:
        return CausalSteps(self, network, encoded, beam)


def causal_edits(
    runs: Sequence[SideRun],
    config: TransformerConfig,
    shape: tuple[int, int, int, int],
    queries: Tensor,
    replaced: Callable[..., Replacement] = replacement,
) -> list[Edit]:
    """Return the edit of each layer of self-attention, which hides later positions; PLAIN where it does nothing else.

    shape: R, H, Q and the number of positions.
    """
    later = torch.arange(shape[3], device=queries.device) > queries.unsqueeze(1)

    def finish(edit: Edit) -> Edit:
        if edit is PLAIN:
            return PLAIN
        bias = torch.zeros(1, 1, *later.shape, device=later.device) if edit.bias is None else edit.bias
        return safe(replace(edit, bias=bias.masked_fill(later, float("-inf"))))

    return edits(runs, SELF, config.decoder_layers, shape, finish, replaced=replaced)


def cross_of_decoder(
    runs: Sequence[SideRun],
    config: TransformerConfig,
    shape: tuple[int, int, int],
    encoded: Encoded,
    base: Sequence[Edit] | None = None,
    replaced: Callable[..., Replacement] = replacement,
    change: Callable[[Edit], Edit] = safe,
) -> Sequence[Edit]:
    """Return the edit of each layer's attention to the source, with those of the decoder's components.

    shape: R, H, Q; base: the edits without them.
    """
    base = encoded.cross if base is None else base
    if not any(run.has(hook) for run in runs for hook in CROSS.values()):
        return base
    return edits(runs, CROSS, config.decoder_layers, (*shape, encoded.states.shape[1]), change, base, replaced)


class CausalSteps(Steps):
    """A search that stores the keys and values of all hypotheses in the order in which they are computed.

    places [B·K,t]: for each position of a hypothesis, the index of its key among the keys of the sentence, counted from
    1; 0 for steps in which the hypothesis paused.
    history: for components that replace weights or change states, which see all earlier positions: the states [B·K,t,d]
    that their hook has seen in each layer.
    """

    def __init__(self, decoder: CausalDecoder, network: Transformer, encoded: Encoded, beam: int) -> None:
        rows = len(encoded.states) * beam
        super().__init__(decoder.fillers, rows, encoded)
        self.decoder, self.network = decoder, network
        self.caches = network.start(encoded.states)
        self.places = torch.zeros(rows, 0, dtype=torch.int64, device=encoded.states.device)
        self.history: dict[Any, Tensor] = {}
        self.keys = 0  # number of keys per sentence

    def logits(self, prefixes: Tensor, lengths: Tensor | None = None) -> Tensor:
        batch, beam, _ = prefixes.shape
        tokens = prefixes[:, :, -1:] if lengths is None else prefixes.gather(2, lengths.unsqueeze(2) - 1)
        position = self.places.shape[1] if lengths is None else lengths - 1
        start = position.view(-1, 1) if isinstance(position, Tensor) else position
        own = torch.arange(self.keys + 1, self.keys + 1 + beam, device=tokens.device).repeat(batch)
        self.places = torch.cat([self.places, own.unsqueeze(1)], dim=1)
        self.keys += beam
        if not self.decoder.parts:
            states = self.network.embed(tokens.reshape(-1, 1), start).view(batch, beam, -1)
            edits = [self._on_keys(PLAIN, batch)] * len(self.caches)
            states = self.network.step(states, self.caches, self.encoded.cross, position, edits)
            return self.network.logits(states)
        return self._logits_under_hooks(tokens, start, position)

    def _logits_under_hooks(self, tokens: Tensor, start: int | Tensor, position: int | Tensor) -> Tensor:
        batch, beam, _ = tokens.shape
        runs = self._runs(batch)
        edits, cross = self._edits(runs, batch), self._cross(runs, batch)
        states = self.network.embed(tokens.reshape(-1, 1), start, lambda vectors: self._changed(runs, "embed", vectors))
        states = self._changed(runs, "after", states, 0).view(batch, beam, -1)

        def after(layer: int, states: Tensor) -> Tensor:
            return self._changed(runs, "after", states.flatten(0, 1).unsqueeze(1), layer).view_as(states)

        change = after if any(run.own.layers_after for run in runs) else None
        states = self.network.step(states, self.caches, cross, position, edits, change)
        return self.network.logits(states)

    def _runs(self, batch: int) -> list[SideRun]:
        rows, length = self.places.shape
        last = torch.tensor([length - 1], device=self.places.device)
        sentences = torch.arange(batch, device=self.places.device).repeat_interleave(rows // batch)
        return self.decoder.runs(self.decoder.expanded(self.fields), last, self.encoded, sentences)

    def _changed(self, runs: Sequence[SideRun], hook: str, states: Tensor, *layer: int) -> Tensor:
        """Return states [R,1,d] as the components change them."""
        for run in runs:
            if run.has(hook) and (not layer or layer[0] in run.own.layers_after):
                seen = self._seen((run.own.name, hook, *layer), states)
                states = checked(run, hook, run.call(hook, *layer, seen), states.shape)
        return states

    def _seen(self, key: Any, states: Tensor) -> Tensor:
        """Return the states [R,t,d] of all positions that a hook has seen, the last ones [R,1,d] included."""
        before = self.history.get(key)
        missing = self.places.shape[1] - 1 - (0 if before is None else before.shape[1])
        if before is None:
            before = states.new_zeros(len(states), 0, states.shape[2])
        self.history[key] = torch.cat([F.pad(before, (0, 0, 0, missing)), states], dim=1)
        return self.history[key]

    def _edits(self, runs: Sequence[SideRun], batch: int) -> list[Edit]:
        rows, length = self.places.shape
        queries = torch.tensor([length - 1], device=self.places.device)

        def replaced(run: SideRun, hook: str, layer: int, shape: Sequence[int]) -> Replacement:
            heads = run.own.heads[layer]

            def weights(inputs: Tensor) -> Tensor:
                seen = self._seen((run.own.name, hook, layer), inputs.flatten(0, 1).unsqueeze(1))
                found = checked(run, hook, run.call(hook, layer, seen), (rows, len(heads), 1, length))
                return self._of_keys(found[:, :, 0].expand(rows, -1, length), 0.0, batch)

            return Replacement(heads, weights)

        shape = rows, self.network.config.heads, 1, length
        found = causal_edits(runs, self.network.config, shape, queries, replaced)
        made = {id(each): self._on_keys(each, batch) for each in found}
        return [made[id(each)] for each in found]

    def _on_keys(self, edit: Edit, batch: int) -> Edit:
        """Turn an edit on the positions of each hypothesis into one on all keys of its sentence; it hides the keys of
        other hypotheses."""
        rows, length = self.places.shape
        own = torch.zeros(1, 1, device=self.places.device) if edit.bias is None else edit.bias[:, :, 0]
        bias = self._of_keys(own.expand(rows, -1, length), float("-inf"), batch)
        scale = None if edit.scale is None else edit.scale[:, :, 0].expand(rows, -1, length)
        blind = None if edit.blind is None else edit.blind.expand(rows, -1, -1, -1)
        return Edit(
            bias,
            None if scale is None else self._of_keys(scale, 1.0, batch),
            edit.replaced,
            None if blind is None else blind.unflatten(0, (batch, -1)).squeeze(3).transpose(1, 2),
        )

    def _of_keys(self, own: Tensor, other: float, batch: int) -> Tensor:
        """Return values [B·K,H,t] at the keys of each hypothesis, and `other` at all other keys: [B,H,K,m]"""
        values = torch.full((*own.shape[:2], 1 + self.keys), other, dtype=own.dtype, device=own.device)
        values.scatter_(2, self.places.unsqueeze(1).expand_as(own), own)
        return values[:, :, 1:].unflatten(0, (batch, -1)).transpose(1, 2)

    def _cross(self, runs: Sequence[SideRun], batch: int) -> Sequence[Edit]:
        """Return the edits of attention to the source, [B,H,K,n], with one query per hypothesis."""
        rows, heads = len(self.places), self.network.config.heads

        def by_sentence(tensor: Tensor | None) -> Tensor | None:
            return (
                None
                if tensor is None
                else tensor.expand(rows, -1, -1, -1).unflatten(0, (batch, -1)).squeeze(3).transpose(1, 2)
            )

        def replaced(run: SideRun, hook: str, layer: int, shape: Sequence[int]) -> Replacement:
            own = run.own.heads[layer]

            def weights(inputs: Tensor) -> Tensor:
                found = run.call(hook, layer, inputs.flatten(0, 1).unsqueeze(1))
                whole = by_sentence(checked(run, hook, found, (rows, len(own), 1, shape[3])))
                assert whole is not None
                return whole

            return Replacement(own, weights)

        def change(edit: Edit) -> Edit:
            return Edit(by_sentence(edit.bias), by_sentence(edit.scale), edit.replaced)

        cross = self.encoded.cross
        none = [PLAIN] * len(self.caches)
        found = cross_of_decoder(runs, self.network.config, (rows, heads, 1), self.encoded, none, replaced, change)
        if found is none:
            return cross
        return [both(one, other) for one, other in zip(cross, found, strict=True)]

    def select(self, sentences: Tensor | None, hypotheses: Tensor | None) -> None:
        super().select(sentences, hypotheses)
        if sentences is not None:
            for cache in self.caches:
                cache.select(sentences)
        if hypotheses is not None:
            self.places = self.places[hypotheses]
            self.history = {key: states[hypotheses] for key, states in self.history.items()}

    def joined(self, held: "CausalSteps | None", rows: Tensor) -> Self:
        steps = super().joined(held, rows)
        others = held or self
        steps.places = joined_rows(self.places, others.places, rows)
        steps.history = {
            key: joined_rows(states.transpose(1, 2), others.history[key].transpose(1, 2), rows).transpose(1, 2)
            for key, states in self.history.items()
        }
        return steps


def both(first: Edit, second: Edit) -> Edit:
    """Return two edits of one attention as one."""
    bias = first.bias if second.bias is None else second.bias if first.bias is None else first.bias + second.bias
    scale = first.scale if second.scale is None else second.scale if first.scale is None else first.scale * second.scale
    return safe(Edit(bias, scale, first.replaced + second.replaced))


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


def joined_rows(own: Tensor, held: Tensor, rows: Tensor, value: float = 0.0) -> Tensor:
    """Return rows [R] of `own` [A,…,t] and of `held` [C,…,≤t], counting `held` after `own`: [R,…,t]

    value: the padding of rows of `held`.
    If few rows come from `held`, this is faster than concatenating first.
    """
    waits = rows >= len(own)
    joined = own[rows.masked_fill(waits, 0)]
    places = waits.nonzero().squeeze(1)
    if len(places):
        joined[places] = F.pad(held[rows[places] - len(own)], (0, own.shape[-1] - held.shape[-1]), value=value)
    return joined
