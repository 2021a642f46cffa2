"""The translation model: a source side and the target's word pieces on the Transformer core.

Shapes: B sentences, n source positions, t target positions, N real target tokens of a batch, d width.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from synmt.nn.config import TransformerConfig
from synmt.nn.encoding import EncoderPass, SourceBatch, combined, plain_pass, with_hidden_keys
from synmt.nn.losses import smoothed_cross_entropy
from synmt.nn.transformer import Transformer
from synmt.systems.source import SourceSide
from synmt.text.vocabulary import UNKNOWN, Vocabulary


@dataclass(slots=True)
class TargetBatch:
    """inputs [B,t]: begin of sentence and the tokens, padded; gold [N]: the tokens and end of sentence that the
    decoder must predict; positions [N]: where each stands in the flattened [B·t]; links [k,3] for a model that
    learns them: sentence, target position (without begin of sentence) and source position."""

    inputs: Tensor
    positions: Tensor
    gold: Tensor
    links: Tensor | None = None

    @property
    def real(self) -> Tensor:
        """Where there is a token and no padding, without begin and end of sentence, [B,t−1]."""
        real = torch.zeros(self.inputs.numel(), dtype=torch.bool, device=self.inputs.device)
        real[self.positions] = True
        return real.view_as(self.inputs)[:, 1:]


@dataclass(slots=True)
class EncodedSource:
    """states [B,n,d] of the encoder; the bias [B,1,1,n] that hides its padding, None if there is none; and what
    the source side's ideas did to this run of the encoder."""

    states: Tensor
    bias: Tensor | None
    ideas: EncoderPass


@dataclass(slots=True)
class Loss:
    """translation: label-smoothed cross-entropy summed over the batch's target tokens, the same for all systems;
    tokens: how many these are; others: the losses of the source side's ideas, also sums; accuracies: of their
    predictions, as in EncoderPass."""

    translation: Tensor
    tokens: int
    others: Sequence[Tensor]
    accuracies: Mapping[str, Callable[[], tuple[int, int]]]

    def total(self) -> Tensor:
        return sum(self.others, start=self.translation)


class TranslationModel(nn.Module):
    def __init__(self, config: TransformerConfig, side: SourceSide, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.network = Transformer(config, len(vocabulary), len(vocabulary.target))
        self.source_parts = source_parts(config, side, vocabulary)
        self.begin = vocabulary.begin

    def encode(self, source: SourceBatch, word_dropout: float = 0.0) -> EncodedSource:
        this = encoder_pass(self.source_parts, source, len(self.network.encoder))
        edits = with_hidden_keys(this.edits, source.padding)
        states = self.network.encode(drop_words(source.ids, word_dropout), edits, this.features)
        return EncodedSource(states, hiding_bias(source.padding), this)

    def loss(
        self, source: SourceBatch, target: TargetBatch, smoothing: float = 0.0, word_dropout: float = 0.0
    ) -> Loss:
        """Of a batch with N target tokens, in nats."""
        return self.decoding_loss(self.encode(source, word_dropout), target, smoothing, word_dropout)

    def decoding_loss(
        self, encoded: EncodedSource, target: TargetBatch, smoothing: float = 0.0, word_dropout: float = 0.0
    ) -> Loss:
        """The same of a source that is encoded already."""
        inputs = drop_words(target.inputs, word_dropout)
        states = self.network.decode(inputs, encoded.states, encoded.bias)
        real = states.flatten(0, 1)[target.positions]
        translation = smoothed_cross_entropy(
            real, self.network.output_weight, self.network.output_bias, target.gold, smoothing
        )
        return Loss(
            translation, len(target.gold), [loss() for loss in encoded.ideas.losses], encoded.ideas.accuracies
        )


def source_parts(config: TransformerConfig, side: SourceSide, vocabulary: Vocabulary) -> nn.ModuleDict:
    """What the ideas of a source side do to the encoder, by name."""
    parts = {name: idea.encoder_part(config, vocabulary.label_counts) for name, idea in side.ideas.items()}
    return nn.ModuleDict({name: part for name, part in parts.items() if part is not None})


def encoder_pass(parts: nn.ModuleDict, source: SourceBatch, layers: int) -> EncoderPass:
    """What they do to one run of an encoder with so many layers."""
    passes = [part(source) for part in parts.values()]
    return combined(passes) if passes else plain_pass(layers)


def hiding_bias(padding: Tensor | None) -> Tensor | None:
    """−inf on padded keys, [B,1,1,n]; padding [B,n] is True where there is no token."""
    if padding is None:
        return None
    zeros = torch.zeros(padding.shape, device=padding.device)
    return zeros.masked_fill(padding, float("-inf"))[:, None, None, :]


def drop_words(ids: Tensor, rate: float) -> Tensor:
    """Each token replaced by the unknown one with probability `rate`; structure is untouched."""
    if not rate:
        return ids
    return ids.masked_fill(torch.rand(ids.shape, device=ids.device) < rate, UNKNOWN)
