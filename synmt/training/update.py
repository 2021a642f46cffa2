"""One update: its learning rate, the gradients of its batches, summed over processes, and a step of Adam."""

import math
from collections.abc import Sequence
from typing import Any, Literal, Protocol, cast

import numpy as np
import torch
from torch import Tensor, nn

from synmt.device import autocast
from synmt.model.config import BatchBy
from synmt.nn.losses import Loss
from synmt.streams import BadInput
from synmt.training.config import TrainingConfig
from synmt.training.distribution import Processes


class Examples(Protocol):
    """What the training loop needs from its data."""

    def __len__(self) -> int: ...

    def batch(self, indices: Sequence[int], device: torch.device) -> tuple[Any, ...]:
        """Return the tensors of these examples."""

    def parts(self, indices: Sequence[int]) -> list[list[int]]:
        """Split a batch into the parts that are computed one at a time."""

    def shuffled_batches(self, batch_tokens: int, seed: int, epoch: int, by: BatchBy = "tokens") -> Sequence[list[int]]:
        """Return each example once. The order depends only on the seed and the epoch."""


class Updater:
    """Makes updates with a new optimizer."""

    def __init__(self, model: nn.Module, corpus: Examples, config: TrainingConfig, processes: Processes) -> None:
        self.model, self.corpus = model, corpus
        self.config, self.processes = config, processes
        self.parameters = list(model.parameters())
        self.optimizer: Any = torch.optim.Adam(self.parameters, betas=(0.9, config.adam_beta2), fused=True)

    @property
    def gradients(self) -> list[Tensor]:
        """Return the gradients of all parameters, zeros for those without any."""
        for parameter in self.parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        return [cast(Tensor, parameter.grad) for parameter in self.parameters]

    def __call__(
        self, batches: Sequence[Sequence[int]], update: int, learning_rate: float
    ) -> tuple[Tensor, int, Tensor]:
        """Make update number `update` (from 1) with the batches of this process, if it has any.

        Return, over all processes, the translation loss summed over target tokens, the number of these tokens, and the
        norm of the gradient before clipping. The gradient is that of the total loss per target token.
        """
        device = self.processes.device
        self.model.train()
        self.optimizer.zero_grad()
        loss, tokens = torch.zeros((), device=device), 0
        for place, indices in enumerate(batches):
            torch.manual_seed(self._seed(update, place * self.processes.size + self.processes.rank))
            for part in self.corpus.parts(indices):
                done = self._learn(part)
                loss += done.translation.detach()
                tokens += done.tokens
        tokens = self._sum_over_processes(loss, tokens)
        if not tokens:
            raise BadInput(f"update {update} has no target tokens to learn from")
        norm = torch.nn.utils.get_total_norm(self.gradients) / tokens
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        self.optimizer.grad_scale = tokens * self._excess(norm)  # Adam divides the gradients by it
        self.optimizer.step()
        return loss, tokens, norm

    def _excess(self, norm: Tensor) -> Tensor:
        """Return by what to divide a gradient of this norm to clip it, at least 1."""
        clip = self.config.clip
        return ((norm + 1e-6) / clip).clamp(min=1.0) if clip else torch.ones_like(norm)

    def _learn(self, indices: Sequence[int]) -> Loss:
        """Add the gradient of these examples."""
        model: Any = self.model
        batch = self.corpus.batch(indices, self.processes.device)
        with autocast(self.processes.device, self.config.precision):
            loss: Loss = model.loss(*batch, self.config.label_smoothing, self.config.word_dropout)
        loss.total.backward()
        return loss

    def _seed(self, update: int, place: int) -> int:
        """Return a seed that depends only on the update and the batch's place in it.

        So a resumed run draws the same random numbers as an uninterrupted one, and several processes the same as one.
        """
        sequence = np.random.SeedSequence([self.config.seed, update, place])
        return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))

    def _sum_over_processes(self, loss: Tensor, tokens: int) -> int:
        if self.processes.size == 1:
            return tokens
        counted = torch.tensor(float(tokens), device=loss.device)
        self.processes.sum([*self.gradients, loss, counted])
        return int(counted)


def learning_rate(
    update: int, peak: float, warmup: int, schedule: Literal["constant", "inverse-sqrt", "cosine"], total: int
) -> float:
    """Return the rate of update 1, 2, …: linear to `peak` at update `warmup`, then the schedule.

    inverse-sqrt: peak·√(warmup/update) (Vaswani et al. 2017); cosine: down to zero at update `total`
    (Loshchilov & Hutter 2017).
    """
    if update <= warmup:
        return peak * update / warmup
    if schedule == "inverse-sqrt":
        return peak * math.sqrt(max(1, warmup) / update)
    if schedule == "cosine":
        progress = min(1.0, (update - warmup) / max(1, total + 1 - warmup))
        return peak * 0.5 * (1.0 + math.cos(math.pi * progress))
    return peak
