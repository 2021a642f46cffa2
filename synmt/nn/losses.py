"""Losses of a batch: label-smoothed cross-entropy, fused with the output projection, and what else is learned."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

CHUNK_ELEMENTS = 1 << 21  # logits held at a time: 8 MB in fp32, which a CPU's cache can serve
CHUNK_ELEMENTS_OF_A_GPU = 1 << 27  # 512 MB, for which a batch takes few kernels


@dataclass(slots=True)
class Loss:
    """Losses of a batch, in nats.

    translation: cross-entropy summed over the batch's target tokens, the same for all systems, or its estimate from
    some of them; tokens: how many these are; total: what is minimized, a sum over these tokens, too.
    accuracies: by name, how many predictions of an idea were right, and how many there were.
    each [R]: the cross-entropy of each token that is predicted, in their order; empty where a gradient is asked for.
    """

    translation: Tensor
    tokens: int
    total: Tensor
    accuracies: Mapping[str, Callable[[], tuple[int, int]]] = field(default_factory=dict)
    each: Tensor = field(default_factory=lambda: torch.empty(0))


@dataclass(frozen=True, slots=True)
class Classes:
    """What some predictions choose from.

    places: which of the R predictions, None for all; weight [C,d] and bias [C] give the logits; gold: what is right, in
    0…C−1.
    share: of their loss in what is minimized.
    """

    places: Tensor | None
    weight: Tensor
    bias: Tensor
    gold: Tensor
    share: float = 1.0

    def of(self, column: Tensor) -> Tensor:
        """Return what a column [R,…] says of these predictions."""
        return column if self.places is None else column[self.places]


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Computes the gradient of the logits chunk by chunk in the forward pass, so that N×V logits never exist."""

    @staticmethod
    def forward(
        context: Any,
        states: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        smoothing: float,
        counts: Tensor | None,
    ) -> Tensor:
        dtype = torch.get_autocast_dtype(states.device.type)
        if not torch.is_autocast_enabled(states.device.type):
            dtype = states.dtype
        with torch.autocast(states.device.type, enabled=False):
            loss, gradients = _loss_and_gradients(states.to(dtype), weight.to(dtype), bias, targets, smoothing, counts)
        context.save_for_backward(*(g.to(x.dtype) for g, x in zip(gradients, (states, weight, bias), strict=True)))
        return loss

    @staticmethod
    def backward(context: Any, *upstream: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None, None]:
        states, weight, bias = (gradient.mul_(upstream[0]) for gradient in context.saved_tensors)
        return states, weight, bias, None, None, None


def _loss_and_gradients(
    states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float, counts: Tensor | None
) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
    """Return the loss, and the gradients of states, weight and bias.

    Of a token with counts c and probabilities p = e/Σe, the gradient of the logits is c·(p − (1−ε)·gold − ε/V). Only
    e − (1−ε)·Σe·gold is ever a matrix: its rows are scaled by c/Σe on the other side of each product, and what ε/V
    adds to a product is one row for all tokens.
    """
    vocabulary = weight.shape[0]
    loss = states.new_zeros((), dtype=torch.float32)
    d_states = torch.empty_like(states)
    d_weight = torch.zeros_like(weight, dtype=torch.float32)
    d_bias = torch.zeros_like(bias, dtype=torch.float32)
    rows, bias = rows_of_a_chunk(weight), bias.to(states.dtype)
    room = states.new_empty(min(rows, len(states)), vocabulary)
    for start in range(0, len(states), rows):
        chunk, gold = states[start : start + rows], targets[start : start + rows].unsqueeze(1)
        logits = torch.addmm(bias, chunk, weight.t(), out=room[: len(chunk)]).float()
        largest = logits.amax(dim=1, keepdim=True)
        each = -(1.0 - smoothing) * logits.gather(1, gold)
        if smoothing:
            each -= smoothing * logits.mean(dim=1, keepdim=True)
        exponentials = logits.sub_(largest).exp_()
        total = exponentials.sum(dim=1, keepdim=True)
        each += largest + total.log()
        count = torch.ones_like(total) if counts is None else counts[start : start + rows].unsqueeze(1)
        loss += (each * count).sum()
        share = count / total
        gradient = exponentials.scatter_add_(1, gold, (smoothing - 1.0) * total)
        d_bias += gradient.t() @ share.squeeze(1)
        gradient = gradient.to(chunk.dtype)
        torch.mm(gradient, weight, out=d_states[start : start + rows]).mul_(share)
        d_weight += gradient.t() @ (chunk * share).to(chunk.dtype)
    if smoothing:
        of_all = states.new_ones(len(states)) if counts is None else counts.to(states.dtype)
        d_states -= smoothing / vocabulary * of_all.unsqueeze(1) * weight.sum(dim=0)
        d_weight -= smoothing / vocabulary * (of_all @ states)
        d_bias -= smoothing / vocabulary * of_all.sum()
    return loss, (d_states, d_weight, d_bias)


def rows_of_a_chunk(weight: Tensor) -> int:
    """Return how many states meet an output of weights [V,d] at a time."""
    elements = CHUNK_ELEMENTS if weight.device.type == "cpu" else CHUNK_ELEMENTS_OF_A_GPU
    return max(1, elements // weight.shape[0])


def smoothed_cross_entropy(
    states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float, counts: Tensor | None = None
) -> Tensor:
    """Return Σ over tokens of (1−ε)·(−log p_gold) + ε/V·Σ_v(−log p_v), in nats, fp32 (Szegedy et al. 2016, section 7).

    With autocast, the products that give the logits are in its precision where a gradient is asked for, else in fp32.

    states [N,d], weight [V,d], bias [V], targets [N] in 0…V−1, p = softmax(states · weightᵀ + bias).
    counts [N]: for how many tokens each of them stands, for itself alone if None.
    Only usable once per forward pass: its gradients are scaled in place.
    """
    if torch.is_grad_enabled():
        loss: Tensor = _SmoothedCrossEntropy.apply(states, weight, bias, targets, smoothing, counts)
        return loss
    each = cross_entropies(states, weight, bias, targets, smoothing)
    return each.sum() if counts is None else each @ counts


def cross_entropies(states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float = 0.0) -> Tensor:
    """Return the losses of `smoothed_cross_entropy` token by token, [N]; no gradient goes through them.

    Logits are in fp32 also with autocast, as in a search.
    """
    rows = rows_of_a_chunk(weight)
    losses = []
    with torch.no_grad(), torch.autocast(states.device.type, enabled=False):
        for chunk, gold in zip(states.split(rows), targets.split(rows), strict=True):
            logits = torch.addmm(bias, chunk.to(bias.dtype), weight.t())
            losses.append(F.cross_entropy(logits, gold, label_smoothing=smoothing, reduction="none"))
    return torch.cat(losses)
