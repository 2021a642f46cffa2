"""`bao`: bidirectional attention optimization: one alignment for which both directions predict their words.

Zenkel, Wuebker & DeNero (2020), "End-to-End Neural Word Alignment Outperforms GIZA++", ACL. The layers of `add-sgd`
on both models; but the logits that are optimized are one matrix, which each direction normalizes its own way:

    S = (a_xy + a_yxᵀ) / 2,   W_xy = softmax_j(S),   W_yx = softmax_i(S)ᵀ
    L(S) = −Σ_i log p(y_i | W_xy) − Σ_j log p(x_j | W_yx) + λ (C(W_xy) + C(W_yx))

C favours links whose neighbours are linked: with K a diagonal of 3×3 that sums to 1, or its mirror image,

    C(W) = −Σ_i log max_j (W ∗ K)_ij

Written after a description of the paper and not after its text or code: that S begins as the mean, the kernel K,
and the numbers of steps and their rate are ours. The queries see the words before y_i alone: with y_i in sight, a
layer that is trained to predict y_i could pass it on through the weights. The paper's full target context comes in
with `bao-guided`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from synmt.nn.config import TransformerConfig, setting
from synmt.systems.add_sgd import Reading
from synmt.systems.linking import Forced, LinkIdea

if TYPE_CHECKING:
    from torch import Tensor

    from synmt.nn.linking import PredictionLayer


@dataclass(frozen=True)
class Bao(LinkIdea):
    ties_pieces = True
    steps: int = setting(3, "steps of gradient descent on the logits of each pair")
    rate: float = setting(1.0, "their learning rate")
    contiguity: float = setting(1.0, "λ, the weight of the loss that favours linked neighbours")

    def part(self, config: TransformerConfig) -> "PredictionLayer":
        from synmt.nn.linking import PredictionLayer

        return PredictionLayer(config.width)

    def loss(self, forced: Forced) -> "Tensor":
        reading = Reading(forced)
        return reading.loss(reading.logits)

    def matrices(self, forward: Forced, backward: Forced) -> tuple["Tensor", "Tensor"]:
        from synmt.nn.linking import contiguity_loss, descend

        there, back = Reading(forward), Reading(backward)

        def loss(logits: "Tensor") -> "Tensor":
            total = there.loss(logits) + back.loss(logits.transpose(1, 2))
            for reading, own in ((there, logits), (back, logits.transpose(1, 2))):
                real = reading.forced.target.real
                weights = reading.attention(own) * real.unsqueeze(2)
                total = total + self.contiguity * contiguity_loss(weights, real)
            return total

        shared = descend((there.logits + back.logits.transpose(1, 2)) / 2, loss, self.steps, self.rate)
        return there.attention(shared), back.attention(shared.transpose(1, 2))
