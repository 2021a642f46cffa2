"""The translation model: a source side and a target side on the Transformer core.

Shapes: B sentences, n source positions, N target tokens of a batch that are predicted, d width.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor, nn

from synmt.ideas.source import task_mark
from synmt.model.source import SourceSide
from synmt.model.target import TargetSide
from synmt.nn.attention import PLAIN
from synmt.nn.config import TransformerConfig
from synmt.nn.decoders import TargetBatch
from synmt.nn.encoding import EncoderPass, SourceBatch, combined, hiding_bias, with_hidden_keys
from synmt.nn.losses import Classes, Loss, cross_entropies, joined_accuracies, smoothed_cross_entropy
from synmt.nn.transformer import Transformer
from synmt.text.vocabulary import UNKNOWN, Vocabulary


@dataclass(slots=True)
class EncodedSource:
    """The encoder's states, [B,n,d]; the bias that hides padding, [B,1,1,n], None without padding; and the changes that
    the source ideas made in this run of the encoder."""

    states: Tensor
    bias: Tensor | None
    ideas: EncoderPass


class TranslationModel(nn.Module):
    def __init__(
        self, config: TransformerConfig, source: SourceSide, target: TargetSide, vocabulary: Vocabulary
    ) -> None:
        super().__init__()
        self.network = Transformer(config, len(vocabulary), len(vocabulary.target))
        self.source_parts = source_parts(config, source, vocabulary)
        self.decoder = target.decoder(config, vocabulary)
        self.begin = vocabulary.begin
        self.marks = [mark for mark in vocabulary.encode(map(task_mark, source.tasks)) if mark != UNKNOWN]

    def encode(self, source: SourceBatch, word_dropout: float = 0.0) -> EncodedSource:
        encoding = encoder_pass(self.source_parts, source, self.network.config.encoder_layers)
        edits = with_hidden_keys(encoding.edits, source.padding)
        ids = drop_words(source.ids, word_dropout, self.marks)
        states = self.network.encode(ids, edits, encoding.features)
        return EncodedSource(states, hiding_bias(source.padding), encoding)

    def loss(self, source: SourceBatch, target: TargetBatch, smoothing: float = 0.0, word_dropout: float = 0.0) -> Loss:
        """Return the losses of a batch with N predicted target tokens."""
        return self.decoding_loss(self.encode(source, word_dropout), target, smoothing, word_dropout)

    def decoding_loss(
        self, encoded: EncodedSource, target: TargetBatch, smoothing: float = 0.0, word_dropout: float = 0.0
    ) -> Loss:
        """Return the losses for an encoded source."""
        target = replace(target, inputs=drop_words(target.inputs, word_dropout))
        states, run = self.decoder(self.network, target, encoded.states, encoded.bias)
        accuracies = encoded.ideas.accuracies
        if run is not None:
            of_states = {name: partial(each, run.states) for name, each in run.accuracies.items()}
            accuracies = joined_accuracies(accuracies, of_states)
        kinds = self.decoder.classes(self.network, target)
        if torch.is_grad_enabled():
            losses = [_loss(kind, states, smoothing, target.counts) for kind in kinds]
            total = torch.stack([kind.share * each for kind, each in zip(kinds, losses, strict=True)]).sum()
            translation = total if len(kinds) == 1 else torch.stack(losses).sum().detach()
            loss = Loss(translation, target.tokens, total, accuracies)
        else:
            each = _losses(kinds, states, smoothing)
            translation = each.sum() if target.counts is None else each @ target.counts
            loss = Loss(translation, target.tokens, translation, accuracies, each)
        for other in encoded.ideas.losses:
            loss.total = loss.total + other()
        if run is not None:
            loss.total = sum((each(run.states) for each in run.losses), loss.total)
        return loss


def _loss(kind: Classes, states: Tensor, smoothing: float, counts: Tensor | None) -> Tensor:
    counts = None if counts is None else kind.of(counts)
    return smoothed_cross_entropy(kind.of(states), kind.weight, kind.bias, kind.gold, smoothing, counts)


def _losses(kinds: Sequence[Classes], states: Tensor, smoothing: float) -> Tensor:
    """Return the loss of each prediction, [N]."""
    losses = [cross_entropies(kind.of(states), kind.weight, kind.bias, kind.gold, smoothing) for kind in kinds]
    if len(kinds) == 1:
        return losses[0]
    each = torch.empty(len(states), device=states.device)
    for kind, found in zip(kinds, losses, strict=True):
        each[kind.places] = found
    return each


def source_parts(config: TransformerConfig, side: SourceSide, vocabulary: Vocabulary) -> nn.ModuleDict:
    """Return the modules of the source ideas, by name."""
    parts = {name: idea.encoder_part(config, vocabulary.labels) for name, idea in side.ideas.items()}
    return nn.ModuleDict({name: part for name, part in parts.items() if part is not None})


def encoder_pass(parts: nn.ModuleDict, source: SourceBatch, layers: int) -> EncoderPass:
    """Return the changes that the modules make in one run of an encoder."""
    passes = [part(source) for part in parts.values()]
    return combined(passes) if passes else EncoderPass([PLAIN] * layers)


def drop_words(ids: Tensor, rate: float, kept: Sequence[int] = ()) -> Tensor:
    """Replace each token by the unknown token with probability `rate`, except kept tokens."""
    if not rate:
        return ids
    dropped = torch.rand(ids.shape, device=ids.device) < rate
    for mark in kept:
        dropped &= ids != mark
    return ids.masked_fill(dropped, UNKNOWN)
