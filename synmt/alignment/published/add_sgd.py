"""`add-sgd`: a layer that sees only the source predicts each word again; its attention is optimized for that word.

Zenkel, Wuebker & DeNero (2019), "Adding Interpretable Attention to Neural Translation Models Improves Word
Alignment". The layer, on top of a frozen translation model, attends to the source with the logits a
(attention/prediction.py). It is trained like a translation model. To align, when y_i is known, `steps` steps of
gradient descent change the logits a_i to lower −log p(y_i); their softmax is the alignment.

We implemented this from a description of the paper, not from its text or code. The number of steps and their rate may
be our own choices, too.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from synmt.alignment.published.attention.method import AttentionMethod, Forced
from synmt.alignment.published.attention.prediction import LayerPredictions, descend, prediction_layer
from synmt.nn.config import TransformerConfig
from synmt.options import setting

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True)
class AddSgd(AttentionMethod):
    cites: ClassVar[tuple[str, ...]] = ("zenkel2019adding",)
    steps: int = setting(3, "steps of gradient descent on the logits of each word", most=1000)
    rate: float = setting(1.0, "their learning rate", most=1000)

    def module(self, config: TransformerConfig) -> "nn.ModuleDict":
        return prediction_layer(config)

    def loss(self, forced: Forced) -> "Tensor":
        prediction = LayerPredictions(forced)
        return prediction.loss(prediction.logits)

    def weights(self, forced: Forced) -> "Tensor":
        prediction = LayerPredictions(forced)
        return prediction.attention(descend(prediction.logits, prediction.loss, self.steps, self.rate))
