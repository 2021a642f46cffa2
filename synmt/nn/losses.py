"""Losses of a batch: label-smoothed cross-entropy, fused with the output projection, and the losses of components."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

CHUNK_ELEMENTS = 1 << 21  # logits in memory at a time: 8 MB in fp32, which fits a CPU's cache
GPU_CHUNK_ELEMENTS = 1 << 27  # 512 MB, so that a batch needs few kernels


@dataclass(slots=True)
class Loss:
    """Losses of a batch, in nats.

    translation: cross-entropy summed over the batch's target tokens and their labels, defined in the same way for all
    systems; an estimate if only some tokens are predicted.
    tokens: the number of these tokens and labels.
    total: the loss to minimize, also a sum over these tokens.
    components: the loss of each component that has one, by name, as a part of the total.
    accuracies: by the name of a component's prediction, a function that returns the numbers of correct predictions and
    of predictions.
    each [R]: the cross-entropy of each predicted token, in order, then of each label; empty when gradients are on.
    """

    translation: Tensor
    tokens: int
    total: Tensor
    accuracies: Mapping[str, Callable[[], tuple[int, int]]] = field(default_factory=dict)
    each: Tensor = field(default_factory=lambda: torch.empty(0))
    components: dict[str, Tensor] = field(default_factory=dict)


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Computes the gradient of the logits chunk by chunk in the forward pass, to avoid storing N×V logits."""

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

    For a token with count c and probabilities p = e/Σe, the gradient of the logits is c·(p − (1−ε)·gold − ε/V). The
    code only forms the matrix e − (1−ε)·Σe·gold. It applies the factors c/Σe to the other operand of each product, and
    the term ε/V as one row shared by all tokens.
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
    """Return how many states to multiply with output weights [V,d] at a time."""
    elements = CHUNK_ELEMENTS if weight.device.type == "cpu" else GPU_CHUNK_ELEMENTS
    return max(1, elements // weight.shape[0])


def smoothed_cross_entropy(
    states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float, counts: Tensor | None = None
) -> Tensor:
    """Return Σ over tokens of (1−ε)·(−log p_gold) + ε/V·Σ_v(−log p_v), in nats, fp32 (Szegedy et al. 2016, section 7).

    Under autocast, the products that give the logits use its precision if gradients are on, else fp32.

    states [N,d], weight [V,d], bias [V], targets [N] in 0…V−1, p = softmax(states · weightᵀ + bias).
    counts [N]: how many tokens each row stands for; None for one each.
    Call backward at most once per forward pass: it scales the stored gradients in place.
    """
    if torch.is_grad_enabled():
        loss: Tensor = _SmoothedCrossEntropy.apply(states, weight, bias, targets, smoothing, counts)
        return loss
    each = cross_entropies(states, weight, bias, targets, smoothing)
    return each.sum() if counts is None else each @ counts


def cross_entropies(states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float = 0.0) -> Tensor:
    """Return the loss of each token as in `smoothed_cross_entropy`, [N], without gradients.

    Logits are in fp32 even under autocast, as in a search.
    """
    rows = rows_of_a_chunk(weight)
    losses = []
    with torch.no_grad(), torch.autocast(states.device.type, enabled=False):
        for chunk, gold in zip(states.split(rows), targets.split(rows), strict=True):
            logits = torch.addmm(bias, chunk.to(bias.dtype), weight.t())
            losses.append(F.cross_entropy(logits, gold, label_smoothing=smoothing, reduction="none"))
    return torch.cat(losses)
