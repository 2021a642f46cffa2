"""A loss by which attention learns links, and the posterior of attention given the predicted word.

The posterior is our own method, after Shankar & Sarawagi (2019), "Posterior Attention Models for Sequence to Sequence
Learning", ICLR. Attention is computed before the word y_i is known. Bayes' rule gives p(j | y_i) ∝ a_ij p(y_i | j). We
approximate log p(y_i | j) by the gain of log p(y_i) if the weights move towards j:

    r_ij ∝ a_ij exp(g_ij − Σ_k a_ik g_ik),   g_ij = Σ_h ∂ log p(y_i) / ∂ a^h_ij,   a the mean of the heads h

The exponent is clipped to [−10, 10]. r is the exact posterior if log p(y_i) is a linear function of the weights.

Shapes: B pairs, H heads, I target and J source positions; K source positions and leaks.
"""

import torch
from torch import Tensor

LARGEST_GAIN = 10.0


def guided_loss(weights: Tensor, links: Tensor) -> Tensor:
    """Return −Σ G log A: cross-entropy of attention with links, summed over target positions (Garg et al. 2019, eq. 4).

    weights A [B,I,J], rows sum to at most 1; links [k,3]: sentence, target position, source position. G is uniform over
    the links of a position; positions without links do not count.
    """
    sentence, target, source = links.unbind(dim=1)
    counts = torch.zeros(weights.shape[:2], device=weights.device)
    counts.index_put_((sentence, target), torch.ones_like(sentence, dtype=counts.dtype), accumulate=True)
    linked = weights.float()[sentence, target, source].clamp(min=torch.finfo(torch.float32).tiny)
    return -(linked.log() / counts[sentence, target]).sum()


def weights_of_words(weights: Tensor, words: Tensor) -> Tensor:
    """Return for each source subword the total weight of its word: weights [B,I,J], words [B,J] → [B,I,J]

    words: index of each subword's word, less than J; weights of padding must be zero.
    """
    index = words.unsqueeze(1).expand_as(weights)
    return torch.zeros_like(weights).scatter_add(2, index, weights).gather(2, index)


def first_order_posteriors(weights: Tensor, likelihood: Tensor) -> Tensor:
    """Return r [B,I,K], zero where a is zero.

    weights a^h [B,H,I,K]: with gradients; the weights of a position must not affect the predictions at others.
    likelihood: the sum of log p(y_i) over all words of the batch.
    """
    (gradient,) = torch.autograd.grad(likelihood, weights)
    prior, gain = weights.detach().mean(dim=1), gradient.sum(dim=1)
    gain = gain - (prior * gain).sum(dim=2, keepdim=True)
    raised = prior * gain.clamp(-LARGEST_GAIN, LARGEST_GAIN).exp()
    return raised / raised.sum(dim=2, keepdim=True)
