"""What attention learns from links, and what it would be if it knew the word that it predicts.

The second is our own, after Shankar & Sarawagi (2019), "Posterior Attention Models for Sequence to Sequence Learning",
ICLR. Attention tells where a word y_i should come from before the word is known. Bayes' rule gives p(j | y_i) ∝ a_ij
p(y_i | j), and the gain of log p(y_i) from a step of the weights towards j approximates log p(y_i | j):

    r_ij ∝ a_ij exp(g_ij − Σ_k a_ik g_ik),   g_ij = Σ_h ∂ log p(y_i) / ∂ a^h_ij,   a the mean of the heads h

The exponent is kept between −10 and 10. r is the posterior where log p(y_i) is a linear function of the weights.

Shapes: B pairs, H heads, I target and J source positions; K source positions and leaks.
"""

import torch
from torch import Tensor

LARGEST_GAIN = 10.0


def guided_loss(weights: Tensor, links: Tensor) -> Tensor:
    """Return −Σ G log A: cross-entropy of attention with links, summed over target positions (Garg et al. 2019, eq. 4).

    weights A [B,I,J], rows sum to at most 1; links [k,3] of sentence, target and source position. G is uniform
    over the links of a position; a position without links is not in the sum.
    """
    sentence, target, source = links.unbind(dim=1)
    counts = torch.zeros(weights.shape[:2], device=weights.device)
    counts.index_put_((sentence, target), torch.ones_like(sentence, dtype=counts.dtype), accumulate=True)
    linked = weights.float()[sentence, target, source].clamp(min=torch.finfo(torch.float32).tiny)
    return -(linked.log() / counts[sentence, target]).sum()


def weights_of_words(weights: Tensor, words: Tensor) -> Tensor:
    """Return what the word of each source subword gets in all: weights [B,I,J], words [B,J] → [B,I,J]

    words: the number of the word that a subword is of, less than J; where padded, the weights are zero.
    """
    index = words.unsqueeze(1).expand_as(weights)
    return torch.zeros_like(weights).scatter_add(2, index, weights).gather(2, index)


def first_order_posteriors(weights: Tensor, likelihood: Tensor) -> Tensor:
    """Return r [B,I,K], zero where a does not attend.

    weights a^h [B,H,I,K]: of a run with gradients, in which a position has no part in what others predict; likelihood:
    the sum of log p(y_i) over all words of the batch.
    """
    (gradient,) = torch.autograd.grad(likelihood, weights)
    prior, gain = weights.detach().mean(dim=1), gradient.sum(dim=1)
    gain = gain - (prior * gain).sum(dim=2, keepdim=True)
    raised = prior * gain.clamp(-LARGEST_GAIN, LARGEST_GAIN).exp()
    return raised / raised.sum(dim=2, keepdim=True)
