"""Several models that search together.

Shapes: B sentences, K hypotheses of each, T target vocabulary, t positions.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from synmt.nn.decoders import Steps


class EnsembleSteps:
    """A search by the mean of the probabilities that all members give the next token, as in fairseq (Ott et al. 2019).

    So what is found has a probability, which the mean of logarithms (Marian's) would not give without one more sum.
    members: each with its own begin of sentence; the target vocabulary is one.
    """

    def __init__(self, members: Sequence[tuple[Steps, int]]) -> None:
        self.members = members

    def logits(self, prefixes: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return log-probabilities, [B,K,T]."""
        found = []
        for steps, begin in self.members:
            own = prefixes.clone()
            own[:, :, 0] = begin
            found.append(steps.logits(own, lengths).float().log_softmax(dim=2))
        return torch.stack(found).logsumexp(dim=0) - math.log(len(found))

    def select(self, sentences: Tensor | None, hypotheses: Tensor | None) -> None:
        for steps, _ in self.members:
            steps.select(sentences, hypotheses)

    def grow(self, hypotheses: Any) -> None:
        for steps, _ in self.members:
            steps.grow(hypotheses)
