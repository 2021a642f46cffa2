"""Attention that is optimized for the words of each pair: `add-sgd` and `bao`.

`add-sgd`: a layer that sees only the source predicts each word again; its attention is optimized for that word.

Zenkel, Wuebker & DeNero (2019), "Adding Interpretable Attention to Neural Translation Models Improves Word
Alignment". The layer is on top of a frozen translation model. With the decoder's output s_i that predicts y_i, the
encoder's output h_j and the embedding e_j of x_j:

    m_j = (h_j + e_j) / 2,   a_ij = (W_Q s_i)·(W_K m_j) / √d,   c_i = Σ_j softmax(a_i)_j W_V m_j
    p(y_i) = softmax(E LN(W_O c_i) + b)

It is trained like a translation model. To align, when y_i is known, `steps` steps of gradient descent change the logits
a_i to lower −log p(y_i); their softmax is the alignment.

We implemented this from a description of the paper, not from its text or code. Our own choices: the layer has a single
head, whose logits give the alignment; there is a norm before the output; E and b are the model's; perhaps also the
number of steps and their rate.

`bao`: bidirectional attention optimization: finds one alignment with which both directions predict their words.

Zenkel, Wuebker & DeNero (2020), "End-to-End Neural Word Alignment Outperforms GIZA++", ACL. Both models have the layer
of `add-sgd`, but the optimized logits are one matrix, which each direction normalizes over its own side:

    S = (a_xy + a_yxᵀ) / 2,   W_xy = softmax_j(S),   W_yx = softmax_i(S)ᵀ
    L(S) = −Σ_i log p(y_i | W_xy) − Σ_j log p(x_j | W_yx) + λ (C(W_xy) + C(W_yx))

C favours links whose neighbours are linked. K is a 3×3 diagonal that sums to 1, or its mirror image:

    C(W) = −Σ_i log max_j (W ∗ K)_ij

We implemented this from a description of the paper, not from its text or code. Our own choices: S starts as the mean;
the kernel K; the number of steps and their rate. The queries see only the words before y_i: if they saw y_i, a layer
trained to predict y_i could pass it on through the weights. The paper's full target context belongs to the aligner
that learns from these links (taught_heads.py).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from synmt.alignment.translation.idea import Forced, LinkIdea
from synmt.nn.config import TransformerConfig
from synmt.options import setting

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True)
class AddSgd(LinkIdea):
    cites: ClassVar[tuple[str, ...]] = ("zenkel2019adding",)
    steps: int = setting(3, "steps of gradient descent on the logits of each word", most=1000)
    rate: float = setting(1.0, "their learning rate", most=1000)

    def part(self, config: TransformerConfig) -> "nn.ModuleDict":
        return prediction_layer(config)

    def loss(self, forced: Forced) -> "Tensor":
        prediction = Prediction(forced)
        return prediction.loss(prediction.logits)

    def weights(self, forced: Forced) -> "Tensor":
        prediction = Prediction(forced)
        return prediction.attention(descend(prediction.logits, prediction.loss, self.steps, self.rate))


@dataclass(frozen=True)
class Bao(LinkIdea):
    cites: ClassVar[tuple[str, ...]] = ("zenkel2020end",)
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


def prediction_layer(config: TransformerConfig) -> "nn.ModuleDict":
    """Return W_Q, W_K, W_V, W_O and LN."""
    from torch import nn

    from synmt.nn.transformer import reset_products

    width = config.width
    layer = nn.ModuleDict({name: nn.Linear(width, width) for name in ("query", "key", "value", "out")})
    layer["norm"] = nn.LayerNorm(width)
    reset_products(layer)
    return layer


class Prediction:
    """The predictions of the layer for one batch. logits a [B,I,J]: before any step, finite at padding."""

    def __init__(self, forced: Forced) -> None:
        import torch
        from torch.nn.functional import embedding

        from synmt.nn.attention import attention_logits

        self.forced, self.part = forced, forced.part
        network, target = forced.model.network, forced.target
        embedded = embedding(forced.source.ids, network.embedding) * network.config.width**0.5
        self.memory = (forced.encoded.states + embedded).float() / 2
        states = forced.states()[:, :-1].float()
        with torch.autocast(states.device.type, enabled=False):
            self.logits = attention_logits(self.part.query(states), self.part.key(self.memory))
        self.positions = target.real.flatten().nonzero().squeeze(1)
        self.words = target.inputs[:, 1:].flatten()[self.positions]

    def attention(self, logits: "Tensor") -> "Tensor":
        """Return the softmax over the source of logits [B,I,J]."""
        bias = self.forced.encoded.bias
        return (logits if bias is None else logits + bias[:, 0]).softmax(dim=2)

    def loss(self, logits: "Tensor") -> "Tensor":
        """Return Σ −log p(y_i) with these logits, in nats."""
        from synmt.nn.losses import smoothed_cross_entropy

        network, part = self.forced.model.network, self.part
        outputs = part.norm(part.out(self.attention(logits) @ part.value(self.memory)))
        outputs = outputs.flatten(0, 1)[self.positions]
        return smoothed_cross_entropy(outputs, network.output_weight, network.output_bias, self.words, 0.0)


def descend(logits: "Tensor", loss: "Callable[[Tensor], Tensor]", steps: int, rate: float) -> "Tensor":
    """Return the logits after gradient descent on the loss. Nothing else changes."""
    import torch

    with torch.enable_grad():
        for _ in range(steps):
            logits = logits.detach().requires_grad_()
            (gradient,) = torch.autograd.grad(loss(logits), logits)
            logits = logits - rate * gradient
    return logits.detach()


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
