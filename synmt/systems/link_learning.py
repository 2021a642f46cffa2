"""What is trained for an aligner on translation models: a model that also learns links, or a part on top of one."""

from torch import nn

from synmt.nn.encoding import SourceBatch
from synmt.systems.linking import Forced, LinkIdea
from synmt.systems.translation import Loss, TargetBatch, TranslationModel


class LinkedTranslation(TranslationModel):
    """A translation model that learns the links of `target.links` too, as `idea` says, at decoder layer `layer`."""

    idea: LinkIdea
    layer: int

    def loss(
        self, source: SourceBatch, target: TargetBatch, smoothing: float = 0.0, word_dropout: float = 0.0
    ) -> Loss:
        encoded = self.encode(source, word_dropout)
        loss = self.decoding_loss(encoded, target, smoothing, word_dropout)
        links = self.idea.loss(Forced(self, None, self.layer, source, target, encoded))
        return Loss(loss.translation, loss.tokens, [*loss.others, links], loss.accuracies)


class PartOnTop(nn.Module):
    """A part that learns on top of a translation model, which stays as it is and runs without dropout.

    Parameters and state are those of the part alone.
    """

    def __init__(self, idea: LinkIdea, model: TranslationModel, part: nn.Module, layer: int) -> None:
        super().__init__()
        self.idea, self.part, self.layer = idea, part, layer
        self._below = [model.eval().requires_grad_(False)]  # in a list, since no submodule

    def loss(
        self, source: SourceBatch, target: TargetBatch, smoothing: float = 0.0, word_dropout: float = 0.0
    ) -> Loss:
        """What the idea gives to its part; smoothing and word dropout are those of translation."""
        forced = Forced.run(self._below[0], self.part, self.layer, source, target)
        return Loss(self.idea.loss(forced), target.tokens, [], {})
