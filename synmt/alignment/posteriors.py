"""What attention would be if it knew the word that it predicts (of our own, after Shankar & Sarawagi 2019).

Attention says where a word y_i should come from before the word is known. Bayes' rule gives p(j | y_i) ∝ a_ij p(y_i |
j), and the gain of log p(y_i) from a step of the weights towards j stands for p(y_i | j):

    r_ij ∝ a_ij exp(g_ij − Σ_k a_ik g_ik),   g_ij = Σ_h ∂ log p(y_i) / ∂ a^h_ij,   a the mean of the heads h

The exponent is kept between −10 and 10. r is the posterior where log p(y_i) is a linear function of the weights.

Shapes: B pairs, H heads, I target and K source positions, those of leaks among them.
"""

import torch
from torch import Tensor

LARGEST_GAIN = 10.0


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
