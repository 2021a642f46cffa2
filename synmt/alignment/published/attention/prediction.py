"""A layer on top of a frozen translation model that sees only the source and predicts each word again.

Zenkel, Wuebker & DeNero (2019), "Adding Interpretable Attention to Neural Translation Models Improves Word
Alignment". With the decoder's output s_i that predicts y_i, the encoder's output h_j and the embedding e_j of x_j:

    m_j = (h_j + e_j) / 2,   a_ij = (W_Q s_i)·(W_K m_j) / √d,   c_i = Σ_j softmax(a_i)_j W_V m_j
    p(y_i) = softmax(E LN(W_O c_i) + b)

Our own choices: the layer has a single head, whose logits a give the alignment; there is a norm before the output; E
and b are the model's.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from synmt.alignment.published.attention.forced import Forced
from synmt.nn.config import TransformerConfig

if TYPE_CHECKING:
    from torch import Tensor, nn


def prediction_layer(config: TransformerConfig) -> "nn.ModuleDict":
    """Return W_Q, W_K, W_V, W_O and LN."""
    from torch import nn

    from synmt.nn.transformer import reset_products

    width = config.width
    layer = nn.ModuleDict({name: nn.Linear(width, width) for name in ("query", "key", "value", "out")})
    layer["norm"] = nn.LayerNorm(width)
    reset_products(layer)
    return layer


class LayerPredictions:
    """The predictions of the layer for one batch. logits a [B,I,J]: before any step, finite at padding."""

    def __init__(self, forced: Forced) -> None:
        import torch
        from torch.nn.functional import embedding

        from synmt.nn.attention import attention_logits

        self.forced, self.layer = forced, forced.module
        network, target = forced.model.network, forced.target
        embedded = embedding(forced.source.ids, network.embedding) * network.config.width**0.5
        self.memory = (forced.encoded.states + embedded).float() / 2
        states = forced.states()[:, :-1].float()
        with torch.autocast(states.device.type, enabled=False):
            self.logits = attention_logits(self.layer.query(states), self.layer.key(self.memory))
        self.positions = target.real.flatten().nonzero().squeeze(1)
        self.words = target.inputs[:, 1:].flatten()[self.positions]

    def attention(self, logits: "Tensor") -> "Tensor":
        """Return the softmax over the source of logits [B,I,J]."""
        bias = self.forced.encoded.bias
        return (logits if bias is None else logits + bias[:, 0]).softmax(dim=2)

    def loss(self, logits: "Tensor") -> "Tensor":
        """Return Σ −log p(y_i) with these logits, in nats."""
        from synmt.nn.losses import smoothed_cross_entropy

        network, layer = self.forced.model.network, self.layer
        outputs = layer.norm(layer.out(self.attention(logits) @ layer.value(self.memory)))
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
