"""Forward–backward over the places that the subwords of a target come from, on tensors (see idea.py).

Shapes: B pairs of I target and J source subwords, padded; all in fp32.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

LEAST = -60.0  # log of the least likelihood beside the greatest of a subword


@dataclass(frozen=True, slots=True)
class Found:
    """links γ [B,I,J] and unlinked [B,I]: where each subword comes from, zero where padded; moves ξ [B,J,J]: how often
    one moves from j′ to j; likelihood [B]: log p(y | x)."""

    links: Tensor
    unlinked: Tensor
    moves: Tensor
    likelihood: Tensor


@dataclass(frozen=True, slots=True)
class Chains:
    """Targets in which each subword depends on where the one before comes from.

    linked [B,I,J]: log (1 − p₀) p(y_i | x_j), −inf where j is padded; unlinked [B,I]: log p₀ p(y_i | none); moves
    [B,J,J]: p(j | j′), and start [B,J]: p(j) of the first, both zero where j is padded; real [B,I].
    """

    linked: Tensor
    unlinked: Tensor
    moves: Tensor
    start: Tensor
    real: Tensor

    @torch.no_grad()
    def posteriors(self, surplus: Tensor | None = None) -> Found:
        """Return what the pairs say; surplus λ [B,I,J] is added to `linked`."""
        with torch.autocast(self.linked.device.type, enabled=False):
            return self._posteriors(surplus)

    def _posteriors(self, surplus: Tensor | None) -> Found:
        logs = self.linked if surplus is None else self.linked + surplus
        most = torch.maximum(logs.amax(dim=2), self.unlinked)
        likely = (logs - most.unsqueeze(2)).clamp(min=LEAST).exp() * self.real.unsqueeze(2)
        none = (self.unlinked - most).clamp(min=LEAST).exp().where(self.real, 1.0)  # where padded, one stays
        batch, length, size = likely.shape
        arrived, stayed = likely.new_empty(2, length, batch, size)
        scale = likely.new_empty(length, batch, 1)
        state = self.start
        for i in range(length):
            moved = _rows(state, self.moves) if i else state
            arrived[i], stayed[i] = moved * likely[:, i], state * none[:, i, None]
            state = arrived[i] + stayed[i]
            scale[i] = state.sum(dim=1, keepdim=True)
            arrived[i] /= scale[i]
            stayed[i] /= scale[i]
            state = state / scale[i]
        links, unlinked = torch.empty_like(likely), torch.empty_like(none)
        before, after = likely.new_zeros(2, batch, length, size)
        rest = torch.ones_like(self.start)
        for i in reversed(range(length)):
            links[:, i], unlinked[:, i] = arrived[i] * rest, (stayed[i] * rest).sum(dim=1)
            if i:
                before[:, i] = arrived[i - 1] + stayed[i - 1]
                after[:, i] = likely[:, i] * rest / scale[i]
                rest = _columns(self.moves, after[:, i]) + rest * none[:, i, None] / scale[i]
        moves = before.transpose(1, 2) @ after * self.moves
        likelihood = scale.log().sum(dim=(0, 2)) + (most * self.real).sum(dim=1)
        return Found(links, unlinked * self.real, moves, likelihood)


def agreed(forward: Chains, backward: Chains, steps: int) -> tuple[Found, Found]:
    """Return what both directions say once they have given way to each other; the likelihoods are those before."""
    there, back = first = forward.posteriors(), backward.posteriors()
    surplus = torch.zeros_like(forward.linked)
    for _ in range(steps):
        surplus = surplus + back.links.transpose(1, 2) - there.links
        there, back = forward.posteriors(surplus), backward.posteriors(-surplus.transpose(1, 2))
    return tuple(
        Found(each.links, each.unlinked, each.moves, before.likelihood)
        for each, before in zip((there, back), first, strict=True)
    )  # type: ignore[return-value]


def _rows(states: Tensor, table: Tensor) -> Tensor:
    """Return Σ_j′ states [B,J′] · table [B,J′,J]."""
    return torch.bmm(states.unsqueeze(1), table).squeeze(1)


def _columns(table: Tensor, states: Tensor) -> Tensor:
    """Return Σ_j table [B,J′,J] · states [B,J]."""
    return torch.bmm(table, states.unsqueeze(2)).squeeze(2)
