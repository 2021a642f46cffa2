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

from synmt.alignment.ideas.add_sgd import Prediction, descend, prediction_layer
from synmt.alignment.translation.idea import Forced, LinkIdea
from synmt.nn.config import TransformerConfig
from synmt.options import setting

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True)
class Bao(LinkIdea):
    ties_subwords = True
    steps: int = setting(3, "steps of gradient descent on the logits of each pair", most=1000)
    rate: float = setting(1.0, "their learning rate", most=1000)
    contiguity: float = setting(1.0, "λ, the weight of the loss that favours linked neighbours")

    def part(self, config: TransformerConfig) -> "nn.ModuleDict":
        return prediction_layer(config)

    def loss(self, forced: Forced) -> "Tensor":
        prediction = Prediction(forced)
        return prediction.loss(prediction.logits)

    def matrices(self, forward: Forced, backward: Forced) -> tuple["Tensor", "Tensor"]:
        of_y, of_x = Prediction(forward), Prediction(backward)

        def loss(logits: "Tensor") -> "Tensor":
            total = of_y.loss(logits) + of_x.loss(logits.transpose(1, 2))
            for prediction, own in ((of_y, logits), (of_x, logits.transpose(1, 2))):
                real = prediction.forced.target.real
                weights = prediction.attention(own) * real.unsqueeze(2)
                total = total + self.contiguity * contiguity_loss(weights, real)
            return total

        shared = descend((of_y.logits + of_x.logits.transpose(1, 2)) / 2, loss, self.steps, self.rate)
        return of_y.attention(shared), of_x.attention(shared.transpose(1, 2))


def contiguity_loss(weights: "Tensor", real: "Tensor") -> "Tensor":
    """Return −Σ_i log max_j (A ∗ K)_ij over real rows: small where neighbours are linked with neighbours.

    weights A [B,I,J], zero where padded; real [B,I]; K is the diagonal of 3×3, or its mirror image where that
    fits a row better.
    """
    import torch

    diagonal = torch.eye(3) / 3
    kernels = torch.stack([diagonal, diagonal.flip(1)]).unsqueeze(1).to(weights)
    smoothed = torch.nn.functional.conv2d(weights.unsqueeze(1), kernels, padding=1)
    best = smoothed.amax(dim=(1, 3)).clamp(min=torch.finfo(torch.float32).tiny)
    return -(best.log() * real).sum()
