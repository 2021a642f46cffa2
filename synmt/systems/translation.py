"""The translation model: a source side and the target's word pieces on the Transformer core.

Shapes: B sentences, n source positions, t target positions, N real target tokens of a batch, d width.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from synmt.nn.config import TransformerConfig
from synmt.nn.losses import smoothed_cross_entropy
from synmt.nn.transformer import Transformer
from synmt.systems.source import SourceBatch, SourceSide
from synmt.text.vocabulary import UNKNOWN, Vocabulary


@dataclass(slots=True)
class TargetBatch:
    """inputs [B,t]: begin of sentence and the tokens, padded; gold [N]: the tokens and end of sentence that the
    decoder must predict; positions [N]: where each stands in the flattened [B·t]."""

    inputs: Tensor
    positions: Tensor
    gold: Tensor


@dataclass(slots=True)
class EncodedSource:
    """states [B,n,d] of the encoder, and the bias [B,1,1,n] that hides its padding (None if there is none)."""

    states: Tensor
    bias: Tensor | None


class TranslationModel(nn.Module):
    def __init__(self, config: TransformerConfig, side: SourceSide, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.network = Transformer(config, len(vocabulary), len(vocabulary.target))
        self.attention_bias = side.attention_bias(config)
        self.begin = vocabulary.begin

    def encode(self, source: SourceBatch, word_dropout: float = 0.0) -> EncodedSource:
        hidden = None
        if source.padding is not None:
            hidden = torch.zeros(source.padding.shape, device=source.ids.device)
            hidden = hidden.masked_fill(source.padding, float("-inf"))[:, None, None, :]
        biases: Sequence[Tensor | None] = [hidden] * len(self.network.encoder)
        if self.attention_bias is not None:
            biases = _hide_keys(self.attention_bias(source), source.padding)
        ids = _drop_words(source.ids, word_dropout)
        return EncodedSource(self.network.encode(ids, biases), hidden)

    def loss(
        self, source: SourceBatch, target: TargetBatch, smoothing: float = 0.0, word_dropout: float = 0.0
    ) -> Tensor:
        """The label-smoothed cross-entropy summed over the batch's N target tokens, in nats."""
        encoded = self.encode(source, word_dropout)
        inputs = _drop_words(target.inputs, word_dropout)
        states = self.network.decode(inputs, encoded.states, encoded.bias)
        real = states.flatten(0, 1)[target.positions]
        return smoothed_cross_entropy(
            real, self.network.output_weight, self.network.output_bias, target.gold, smoothing
        )


def _hide_keys(biases: Sequence[Tensor], padding: Tensor | None) -> list[Tensor]:
    """Each bias [B,H,n,n] with −inf on padded keys; layers that shared a tensor still do."""
    if padding is None:
        return list(biases)
    padded = padding[:, None, None, :]
    filled = {id(bias): bias.masked_fill(padded, float("-inf")) for bias in biases}
    return [filled[id(bias)] for bias in biases]


def _drop_words(ids: Tensor, rate: float) -> Tensor:
    """Each token replaced by the unknown one with probability `rate`; structure is untouched."""
    if not rate:
        return ids
    return ids.masked_fill(torch.rand(ids.shape, device=ids.device) < rate, UNKNOWN)
