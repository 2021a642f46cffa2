"""One update: its learning rate, the gradients of its batches, summed over processes, and a step of Adam."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from synmt.device import autocast
from synmt.model.config import BatchBy
from synmt.nn.losses import Loss
from synmt.nn.lowering import lowered
from synmt.streams import BadInput
from synmt.training.config import TrainingConfig
from synmt.training.distribution import Processes


class Examples(Protocol):
    """The interface of the data that the training loop needs."""

    def __len__(self) -> int: ...

    def batch(
        self, indices: Sequence[int], device: torch.device, random: torch.Generator | None = None
    ) -> tuple[Any, ...]:
        """Return the tensors of these examples; random: the generator, on the CPU, for anything random in them."""

    def parts(self, indices: Sequence[int]) -> list[list[int]]:
        """Split a batch into the parts that are computed one at a time."""

    def shuffled_batches(self, batch_tokens: int, seed: int, epoch: int, by: BatchBy = "tokens") -> Sequence[list[int]]:
        """Return batches with each example once. Their order depends only on the seed and the epoch."""


@dataclass(frozen=True)
class MicroBatch:
    """Examples to compute together. seed: for the random numbers that the model draws; batch: the tensors."""

    seed: int
    batch: tuple[Any, ...]


@dataclass(frozen=True)
class Update:
    """One update. number: from 1; sentences: of all processes; parts: of this process, if it has any."""

    number: int
    sentences: int
    parts: list[MicroBatch]


class Updater:
    """Makes updates with a new optimizer."""

    def __init__(self, model: nn.Module, corpus: Examples, config: TrainingConfig, processes: Processes) -> None:
        self.model, self.corpus = model, corpus
        self.config, self.processes = config, processes
        self.parameters = list(model.parameters())
        self.optimizer: Any = torch.optim.Adam(self.parameters, betas=(0.9, config.adam_beta2), fused=True)
        self.loss_module = processes.loss_module(model)

    @property
    def gradients(self) -> list[Tensor]:
        """Return the gradients of all parameters, zeros for those without any; with several processes, the means."""
        for parameter in self.parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        return [cast(Tensor, parameter.grad) for parameter in self.parameters]

    def step(self, batches: Sequence[Sequence[int]], number: int) -> Update:
        """Return update `number` (from 1), given the batches of all processes.

        Seeds depend only on the update and the place of the batch in it. So a resumed run draws the same random numbers
        as an uninterrupted one, and several processes the same as one.
        """
        size, rank, device = self.processes.size, self.processes.rank, self.processes.device
        made = []
        for place in range(rank, len(batches), size):
            parts = self.corpus.parts(batches[place])
            sequence = np.random.SeedSequence([self.config.seed, number, place])
            *seeds, own = (int(each >> np.uint64(1)) for each in sequence.generate_state(len(parts) + 1, np.uint64))
            random = torch.Generator().manual_seed(own)
            for seed, part in zip(seeds, parts, strict=True):
                made.append(MicroBatch(seed, self.corpus.batch(part, device, random)))
        return Update(number, sum(map(len, batches)), made)

    def __call__(self, step: Update, learning_rate: float) -> tuple[Tensor, int, Tensor]:
        """Make an update.

        Return, over all processes, the translation loss summed over target tokens, the number of these tokens, and the
        norm of the gradient before clipping. It is the gradient of the total loss per target token.
        """
        self.model.train()
        self.optimizer.zero_grad()
        *others, last = step.parts or [MicroBatch(0, ())]
        with self.processes.without_exchange(self.loss_module):
            learned = [self._add_gradient(part) for part in others]
        with self.processes.joint_work():
            learned.append(self._add_gradient(last))
        losses, counts = zip(*learned, strict=True)
        loss = torch.stack(losses).sum()
        tokens = self._sum_over_processes(loss, sum(counts))
        if not tokens:
            raise BadInput(f"update {step.number} has no target tokens to learn from")
        mean = tokens / self.processes.size  # tokens per process, since the gradients are means over the processes
        norm = torch.nn.utils.get_total_norm(self.gradients) / mean
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        self.optimizer.grad_scale = mean * self._excess(norm)  # Adam divides the gradients by it
        self.optimizer.step()
        return loss, tokens, norm

    def _excess(self, norm: Tensor) -> Tensor:
        """Return the number by which to divide a gradient of this norm to clip it, at least 1."""
        clip = self.config.clip
        return ((norm + 1e-6) / clip).clamp(min=1.0) if clip else torch.ones_like(norm)

    def _add_gradient(self, part: MicroBatch) -> tuple[Tensor, int]:
        """Add the gradient of these examples; return their translation loss and the number of their target tokens."""
        torch.manual_seed(part.seed)
        more = (self.config.label_smoothing, self.config.word_dropout) if part.batch else ()
        with autocast(self.processes.device, self.config.precision):
            loss: Loss = functional_call(self.loss_module, lowered(self.loss_module), (*part.batch, *more))
        loss.total.backward()
        return loss.translation.detach(), loss.tokens

    def _sum_over_processes(self, loss: Tensor, tokens: int) -> int:
        if self.processes.size == 1:
            return tokens
        counted = torch.tensor(float(tokens))  # on the CPU, so that reading it does not wait for a GPU
        self.processes.sum(counted)
        self.processes.sum(loss)
        return int(counted)


def learning_rate(
    update: int, peak: float, warmup: int, schedule: Literal["constant", "inverse-sqrt", "cosine"], total: int
) -> float:
    """Return the rate of update 1, 2, …: linear to `peak` at update `warmup`, then the schedule.

    inverse-sqrt: peak·√(warmup/update) (Vaswani et al. 2017); cosine: down to zero after update `total`
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
