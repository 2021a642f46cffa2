"""What the training loop asks of a model and of its data."""

from collections.abc import Sequence
from typing import Any, Protocol

import torch

from synmt.nn.losses import Loss


class Learner(Protocol):
    """An nn.Module with a loss."""

    def loss(self, *batch: Any) -> Loss:
        """Return the losses of a batch of its examples, with label smoothing and word dropout as last arguments."""


class Examples(Protocol):
    def __len__(self) -> int: ...

    def batch(self, indices: Sequence[int], device: torch.device) -> tuple[Any, ...]:
        """Return the tensors of some examples."""

    def parts(self, indices: Sequence[int]) -> list[list[int]]:
        """Cut a batch into what is computed at a time."""

    def shuffled_batches(self, batch_tokens: int, seed: int, epoch: int) -> list[list[int]]:
        """Return each example once, in an order by seed and epoch alone."""
