"""The translation model: a source side and a target side on the Transformer core.

Shapes: B sentences, n source positions, N target tokens of a batch that are predicted, d width.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from synmt.components.contract import task_mark
from synmt.model.source import SourceSide
from synmt.model.target import TargetSide
from synmt.nn.config import TransformerConfig
from synmt.nn.decoders import TargetBatch
from synmt.nn.encoding import Encoded, SourceBatch, cross_edits, encoder_hooks, hiding_bias
from synmt.nn.hooks import Hooks, parts_of
from synmt.nn.losses import Loss, cross_entropies, smoothed_cross_entropy
from synmt.nn.transformer import Transformer
from synmt.text.vocabulary import UNKNOWN, Vocabulary

Count = Callable[[], tuple[int, int]]


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

    def encode(self, source: SourceBatch, word_dropout: float = 0.0) -> Encoded:
        network = self.network
        hooks = encoder_hooks(self.source_parts.values(), source, network.config)
        states = network.encode(drop_words(source.ids, word_dropout, self.marks), hooks)
        return Encoded(states, hiding_bias(source.padding), cross_edits(hooks, source, network.config), source, hooks)

    def loss(self, source: SourceBatch, target: TargetBatch, smoothing: float = 0.0, word_dropout: float = 0.0) -> Loss:
        """Return the losses of a batch with N predicted target tokens."""
        return self.decoding_loss(self.encode(source, word_dropout), target, smoothing, word_dropout)

    def decoding_loss(
        self, encoded: Encoded, target: TargetBatch, smoothing: float = 0.0, word_dropout: float = 0.0
    ) -> Loss:
        """Return the losses for an encoded source."""
        target = replace(target, inputs=drop_words(target.inputs, word_dropout))
        states, hooks = self.decoder(self.network, target, encoded)
        accuracies = joined_accuracies(encoded.hooks, hooks)
        network, counts = self.network, target.counts
        products = [(states, network.output_weight, network.output_bias, target.gold, smoothing, counts)]
        loss_weights = [1.0]
        for name, (places, gold) in target.labels.items():
            head: Any = self.decoder.heads[name]
            own = None if counts is None else counts[places]
            products.append((states[places], head.weight, head.bias, gold, smoothing, own))
            loss_weights.append(head.loss_weight)
        if torch.is_grad_enabled():
            losses = [smoothed_cross_entropy(*each) for each in products]
            total = torch.stack(
                [loss_weight * each for loss_weight, each in zip(loss_weights, losses, strict=True)]
            ).sum()
            translation = total if len(losses) == 1 else torch.stack(losses).sum().detach()
            loss = Loss(translation, target.tokens, total, accuracies)
        else:
            found = [cross_entropies(*product) for *product, _ in products]
            translation = torch.stack([_sum(each, own) for each, (*_, own) in zip(found, products, strict=True)]).sum()
            loss = Loss(translation, target.tokens, translation, accuracies, torch.cat(found))
        sides = encoded.hooks.losses(encoded.states), hooks.losses(states, target.positions)
        for name, own in (each for side in sides for each in side.items()):
            loss.total = loss.total + own
            loss.components[name] = loss.components[name] + own if name in loss.components else own
        return loss


def _sum(losses: Tensor, counts: Tensor | None) -> Tensor:
    return losses.sum() if counts is None else losses @ counts


def joined_accuracies(of_source: Hooks, of_target: Hooks) -> dict[str, Count]:
    """Return the accuracies of both sides, by name. Raises ValueError for a name that both use."""
    first, second = of_source.accuracies(), of_target.accuracies()
    if twice := first.keys() & second.keys():
        raise ValueError(f"two accuracies are called {', '.join(sorted(twice))}")
    return first | second


def source_parts(config: TransformerConfig, side: SourceSide, vocabulary: Vocabulary) -> nn.ModuleDict:
    """Return the components of an encoder that have hooks, with new parameters, by name."""
    return parts_of(side.components, config, lambda each: each.parameters(config, vocabulary.labels))


def drop_words(ids: Tensor, rate: float, kept: Sequence[int] = ()) -> Tensor:
    """Replace each token by the unknown token with probability `rate`, except kept tokens."""
    if not rate:
        return ids
    dropped = torch.rand(ids.shape, device=ids.device) < rate
    for mark in kept:
        dropped &= ids != mark
    return ids.masked_fill(dropped, UNKNOWN)
