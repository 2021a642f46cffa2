"""What is trained for an aligner on translation models: a model that also learns links, or a part on top of one."""

from torch import nn

from synmt.alignment.translation.idea import Forced, LinkIdea
from synmt.model.config import ModelConfig
from synmt.model.folder import ModelFolder
from synmt.model.translation import TranslationModel
from synmt.nn.decoders import TargetBatch
from synmt.nn.encoding import SourceBatch
from synmt.nn.losses import Loss


class LinkedTranslation(TranslationModel):
    """A translation model that learns the links of `target.links` too, as an idea says, at its decoder layer."""

    def __init__(self, folder: ModelFolder[ModelConfig], idea: LinkIdea) -> None:
        config = folder.config
        super().__init__(config.network, config.source, config.target, folder.vocabulary)
        self.idea, self.layer = idea, idea.fixed_layer(config.network)

    def loss(self, source: SourceBatch, target: TargetBatch, smoothing: float = 0.0, word_dropout: float = 0.0) -> Loss:
        encoded = self.encode(source, word_dropout)
        loss = self.decoding_loss(encoded, target, smoothing, word_dropout)
        loss.total = loss.total + self.idea.loss(Forced(self, None, self.layer, source, target, encoded))
        return loss


class PartOnTop(nn.Module):
    """A part that learns on top of a translation model, which stays as it is and runs without dropout.

    Parameters and state are those of the part alone.
    """

    def __init__(self, idea: LinkIdea, model: TranslationModel, part: nn.Module, layer: int) -> None:
        super().__init__()
        self.idea, self.part, self.layer = idea, part, layer
        self._below = [model.eval().requires_grad_(False)]  # in a list, since no submodule

    def loss(self, source: SourceBatch, target: TargetBatch, smoothing: float = 0.0, word_dropout: float = 0.0) -> Loss:
        """Return what the idea gives to its part; smoothing and word dropout are those of translation."""
        loss = self.idea.loss(Forced.run(self._below[0], self.part, self.layer, source, target))
        return Loss(loss, target.tokens, loss)
