"""Links as latent variables: each word comes from one source subword or from none, and which is summed out (idea.py).

Deng, Kim, Chiu, Guo & Rush (2018), "Latent Alignment and Variational Attention", NeurIPS; Shankar & Sarawagi (2019),
"Posterior Attention Models for Sequence to Sequence Learning", ICLR.

Shapes: B pairs, I target and J source subwords, d width, V rows of the table of embeddings.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Explained:
    """likelihood [B,I]: log p(y_i), anything where padded; prior W and posterior R [B,I,J]: where y_i comes from before
    it is known and after; the rest of a row is none."""

    likelihood: Tensor
    prior: Tensor
    posterior: Tensor


class Origins(nn.Module):
    """What a source subword, or none, becomes: p(y_i = v | j) = softmax_v(e_v · LN(A h_j)), and p(y_i = v | none)
    is the same of what the decoder asks the source with."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linked, self.unlinked = (nn.Sequential(nn.Linear(width, width), nn.LayerNorm(width)) for _ in range(2))

    def forward(
        self, prior: Tensor, encoded: Tensor, asked: Tensor, words: Tensor, table: Tensor, real: Tensor
    ) -> Explained:
        """prior W [B,I,J]; encoded h [B,J,d]; asked [B,I,d]; words y [B,I], less than V; table [V,d]; real [B,J]."""
        least = torch.finfo(torch.float32).tiny
        own = F.embedding(words, table)
        states, none = self.linked(encoded), self.unlinked(asked)
        linked = (own @ states.transpose(1, 2)).float() - _log_total(states, table).unsqueeze(1)
        unlinked = (own * none).sum(dim=2).float() - _log_total(none, table)
        prior = prior * real.unsqueeze(1)
        rest = (1 - prior.sum(dim=2)).clamp(min=least)
        joint = prior.clamp(min=least).log() + linked
        likelihood = torch.cat([joint, (rest.log() + unlinked).unsqueeze(2)], dim=2).logsumexp(dim=2)
        return Explained(likelihood, prior, (joint - likelihood.unsqueeze(2)).exp() * real.unsqueeze(1))


def _log_total(states: Tensor, table: Tensor) -> Tensor:
    """Return log Σ_v exp(e_v · states), in fp32."""
    return (states @ table.T).float().logsumexp(dim=-1)
