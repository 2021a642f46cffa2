"""What aligners put on top of a translation model: losses and layers over its states. Tensors only.

Shapes: B sentences, I target positions, J source positions, d width, H heads, c = d/H, V target vocabulary.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from synmt.nn.attention import attention_weights, split_heads

DIAGONAL = torch.eye(3) / 3


def guided_loss(weights: Tensor, links: Tensor) -> Tensor:
    """−Σ G log A: cross-entropy of attention with links, summed over target positions (Garg et al. 2019, eq. 4).

    weights A [B,I,J], rows sum to at most 1; links [k,3] of sentence, target and source position. G is uniform
    over the links of a position; a position without links is not in the sum.
    """
    sentence, target, source = links.unbind(dim=1)
    counts = torch.zeros(weights.shape[:2], device=weights.device)
    counts.index_put_((sentence, target), torch.ones_like(sentence, dtype=counts.dtype), accumulate=True)
    linked = weights.float()[sentence, target, source].clamp(min=torch.finfo(torch.float32).tiny)
    return -(linked.log() / counts[sentence, target]).sum()


def weights_of_words(weights: Tensor, words: Tensor) -> Tensor:
    """What the word of each source piece gets, all its pieces together: weights [B,I,J], words [B,J] → [B,I,J]

    words: the number of the word that a piece is of, less than J; where padded, the weights are zero.
    """
    index = words.unsqueeze(1).expand_as(weights)
    return torch.zeros_like(weights).scatter_add(2, index, weights).gather(2, index)


class AttentionHeads(nn.Module):
    """Heads that only attend: queries and keys, no values. Their mean is the alignment."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        _reset(self)

    def forward(self, states: Tensor, encoded: Tensor, bias: Tensor | None) -> Tensor:
        """states [B,I,d], encoded [B,J,d], bias [B,1,1,J] → [B,I,J] in fp32"""
        query, key = split_heads(self.query(states), self.heads), split_heads(self.key(encoded), self.heads)
        return attention_weights(query, key, bias).mean(dim=1)


class FullContextHeads(nn.Module):
    """The same with the whole target in sight: an unmasked self-attention over the states comes first."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.attention = AttentionHeads(width, heads)
        _reset(self)

    def forward(self, states: Tensor, target_bias: Tensor, encoded: Tensor, bias: Tensor | None) -> Tensor:
        """states [B,I,d], target_bias [B,1,1,I], encoded [B,J,d], bias [B,1,1,J] → [B,I,J] in fp32"""
        query, key, value = (split_heads(part, self.heads) for part in self.qkv(states).chunk(3, dim=-1))
        seen = attention_weights(query, key, target_bias) @ value.float()
        seen = seen.transpose(1, 2).flatten(2)
        weights: Tensor = self.attention(self.norm(states + self.out(seen)), encoded, bias)
        return weights


class PredictionLayer(nn.Module):
    """One head that sees nothing but the source, and whose output alone predicts the target words.

        a_ij = q_i · k_j / √d,   p(y_i) = softmax(E LN(W_O Σ_j softmax(a_i)_j v_j) + b)

    E and b: the output projection of the translation model.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.out = nn.Linear(width, width), nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        _reset(self)

    def logits(self, states: Tensor, memory: Tensor) -> Tensor:
        """a [B,I,J] in fp32 of the decoder's states [B,I,d] and the source's [B,J,d]."""
        with torch.autocast(states.device.type, enabled=False):
            return self.query(states.float()) @ self.key(memory.float()).transpose(1, 2) * memory.shape[-1] ** -0.5

    def outputs(self, weights: Tensor, memory: Tensor) -> Tensor:
        """What the words are predicted from: weights [B,I,J], memory [B,J,d] → [B,I,d]"""
        outputs: Tensor = self.norm(self.out(weights @ self.value(memory)))
        return outputs


def descend(logits: Tensor, loss: Callable[[Tensor], Tensor], steps: int, rate: float) -> Tensor:
    """The logits after gradient descent on the loss; whatever else the loss reads stays as it is."""
    with torch.enable_grad():
        for _ in range(steps):
            logits = logits.detach().requires_grad_()
            (gradient,) = torch.autograd.grad(loss(logits), logits)
            logits = logits - rate * gradient
    return logits.detach()


def contiguity_loss(weights: Tensor, real: Tensor) -> Tensor:
    """−Σ_i log max_j (A ∗ K)_ij over real rows: small where neighbours are linked with neighbours.

    weights A [B,I,J], zero where padded; real [B,I]; K is the diagonal of 3×3, or its mirror image where that
    fits a row better.
    """
    kernels = torch.stack([DIAGONAL, DIAGONAL.flip(1)]).unsqueeze(1).to(weights)
    smoothed = F.conv2d(weights.unsqueeze(1), kernels, padding=1)
    best = smoothed.amax(dim=(1, 3)).clamp(min=torch.finfo(torch.float32).tiny)
    return -(best.log() * real).sum()


def _reset(module: nn.Module) -> None:
    """Xavier normal for each product, zero biases, as in the Transformer."""
    for part in module.modules():
        if isinstance(part, nn.Linear):
            nn.init.xavier_normal_(part.weight)
            nn.init.zeros_(part.bias)
