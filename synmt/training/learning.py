"""What the training loop asks of a model, of its folder and of its data."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn


class BatchLoss(Protocol):
    """translation: cross-entropy of the batch's predicted tokens, summed; tokens: how many these are."""

    @property
    def translation(self) -> Tensor: ...

    @property
    def tokens(self) -> int: ...

    def total(self) -> Tensor:
        """What is minimized, a sum over these tokens."""


class Learner(Protocol):
    """An nn.Module with a loss."""

    def loss(self, *batch: Any) -> BatchLoss:
        """Of a batch of its examples, label smoothing and word dropout."""


class Examples(Protocol):
    def __len__(self) -> int: ...

    def batch(self, indices: Sequence[int], vocabulary: Any, device: torch.device) -> tuple[Any, ...]: ...

    def parts(self, indices: Sequence[int]) -> list[list[int]]:
        """A batch as what is computed at a time."""

    def shuffled_batches(self, batch_tokens: int, seed: int, epoch: int) -> list[list[int]]:
        """Each example once; a function of seed and epoch alone."""


class LearnerFolder(Protocol):
    """Where a model is kept; new_model makes one that is a Learner, too."""

    @property
    def path(self) -> Path: ...

    @property
    def weights(self) -> Path: ...

    @property
    def vocabulary(self) -> Any: ...

    def new_model(self) -> nn.Module: ...
