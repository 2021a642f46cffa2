"""`bao`: bidirectional attention optimization finds one alignment with which both directions predict their words.

Zenkel, Wuebker & DeNero (2020), "End-to-End Neural Word Alignment Outperforms GIZA++", ACL. A layer on top of each
frozen translation model sees only the source and predicts each word again, as in their paper of 2019
(attention/prediction.py), but the optimized logits are one matrix, which each direction
normalizes over its own side:

    S = (a_xy + a_yxᵀ) / 2,   W_xy = softmax_j(S),   W_yx = softmax_i(S)ᵀ
    L(S) = −Σ_i log p(y_i | W_xy) − Σ_j log p(x_j | W_yx) + λ (C(W_xy) + C(W_yx))

C favours links whose neighbours are linked. K is a 3×3 diagonal that sums to 1, or its mirror image:

    C(W) = −Σ_i log max_j (W ∗ K)_ij

We implemented this from a description of the paper, not from its text or code. Our own choices: S starts as the mean;
the kernel K; the number of steps and their rate. The queries see only the words before y_i: if they saw y_i, a layer
trained to predict y_i could pass it on through the weights. The paper's full target context belongs to the aligner
that learns from these links.
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
class Bao(AttentionMethod):
    cites: ClassVar[tuple[str, ...]] = ("zenkel2020end",)
    ties_subwords = True
    steps: int = setting(3, "steps of gradient descent on the logits of each pair", most=1000)
    rate: float = setting(1.0, "their learning rate", most=1000)
    contiguity: float = setting(1.0, "λ, the weight of the loss that favours linked neighbours")

    def module(self, config: TransformerConfig) -> "nn.ModuleDict":
        return prediction_layer(config)

    def loss(self, forced: Forced) -> "Tensor":
        prediction = LayerPredictions(forced)
        return prediction.loss(prediction.logits)

    def matrices(self, forward: Forced, backward: Forced) -> tuple["Tensor", "Tensor"]:
        of_y, of_x = LayerPredictions(forward), LayerPredictions(backward)

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
    """Return −Σ_i log max_j (A ∗ K)_ij over real rows. It is small if neighbours are linked with neighbours.

    weights A [B,I,J], zero at padding; real [B,I]; K is the 3×3 diagonal, or its mirror image if that fits a row
    better.
    """
    import torch

    diagonal = torch.eye(3) / 3
    kernels = torch.stack([diagonal, diagonal.flip(1)]).unsqueeze(1).to(weights)
    smoothed = torch.nn.functional.conv2d(weights.unsqueeze(1), kernels, padding=1)
    best = smoothed.amax(dim=(1, 3)).clamp(min=torch.finfo(torch.float32).tiny)
    return -(best.log() * real).sum()
