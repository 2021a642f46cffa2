"""The translation model: a source side and a target side on the Transformer core.

Shapes: B sentences, n source positions, N target tokens of a batch that are predicted, d width.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from synmt.nn.config import TransformerConfig
from synmt.nn.decoders import TargetBatch
from synmt.nn.encoding import EncoderPass, SourceBatch, combined, plain_pass, with_hidden_keys
from synmt.nn.graphs import Graph
from synmt.nn.losses import smoothed_cross_entropy
from synmt.nn.transformer import Transformer
from synmt.systems.source import SourceSide
from synmt.systems.target import TargetSide
from synmt.text.vocabulary import UNKNOWN, Vocabulary


@dataclass(slots=True)
class EncodedSource:
    """states [B,n,d] of the encoder; the bias [B,1,1,n] that hides its padding, None if there is none; and what
    the source side's ideas did to this run of the encoder."""

    states: Tensor
    bias: Tensor | None
    ideas: EncoderPass


@dataclass(slots=True)
class Loss:
    """translation: label-smoothed cross-entropy summed over the batch's target tokens, the same for all systems, or
    its estimate from some of them; tokens: how many these are; others: the losses of the source side's ideas, also
    sums; accuracies: of their predictions, as in EncoderPass."""

    translation: Tensor
    tokens: int
    others: Sequence[Tensor]
    accuracies: Mapping[str, Callable[[], tuple[int, int]]]

    def total(self) -> Tensor:
        return sum(self.others, start=self.translation)


class TranslationModel(nn.Module):
    def __init__(
        self, config: TransformerConfig, side: SourceSide, target: TargetSide, vocabulary: Vocabulary
    ) -> None:
        super().__init__()
        self.network = Transformer(config, len(vocabulary), len(vocabulary.target))
        self.source_parts = source_parts(config, side, vocabulary)
        self.decoder = target.decoder(config, vocabulary)
        self.begin = vocabulary.begin

    def encode(self, source: SourceBatch, word_dropout: float = 0.0) -> EncodedSource:
        this = encoder_pass(self.source_parts, source, len(self.network.encoder))
        edits = with_hidden_keys(this.edits, source.padding)
        states = self.network.encode(drop_words(source.ids, word_dropout), edits, this.features)
        return EncodedSource(states, hiding_bias(source.padding), this)

    def source_attention(self, source: SourceBatch) -> list[Tensor]:
        """What each encoder layer attends to, [B,H,n,n] each, row = query."""
        this = encoder_pass(self.source_parts, source, len(self.network.encoder))
        return self.network.encoder_weights(source.ids, with_hidden_keys(this.edits, source.padding), this.features)

    def target_attention(self, source: SourceBatch, inputs: Tensor, graph: Graph | None) -> list[Tensor]:
        """What each decoder layer attends to within one target, [1,H,t,t] each, row = query.

        source: one sentence; inputs [1,t]: begin of sentence and tokens; graph: theirs, if the decoder reads it.
        """
        encoded = self.encode(source)
        return self.decoder.weights(self.network, inputs, graph, encoded.states, encoded.bias)

    def loss(
        self, source: SourceBatch, target: TargetBatch, smoothing: float = 0.0, word_dropout: float = 0.0
    ) -> Loss:
        """Of a batch with N predicted target tokens, in nats."""
        return self.decoding_loss(self.encode(source, word_dropout), target, smoothing, word_dropout)

    def decoding_loss(
        self, encoded: EncodedSource, target: TargetBatch, smoothing: float = 0.0, word_dropout: float = 0.0
    ) -> Loss:
        """The same of a source that is encoded already."""
        target = replace(target, inputs=drop_words(target.inputs, word_dropout))
        states = self.decoder(self.network, target, encoded.states, encoded.bias)
        network = self.network
        translation = smoothed_cross_entropy(
            states, network.output_weight, network.output_bias, target.gold, smoothing, target.counts
        )
        others = [loss() for loss in encoded.ideas.losses]
        return Loss(translation, target.tokens, others, encoded.ideas.accuracies)


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
