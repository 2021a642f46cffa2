"""Data-parallel training with the processes that torchrun starts, or with a single process.

Gradients are added over all processes and divided by their total number of tokens. So any number of processes computes
the same gradient as one process with the same global batch.
"""

import atexit
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from synmt.device import local_device
from synmt.nn.losses import Loss
from synmt.streams import BadInput

T = TypeVar("T")
LONGEST_WAIT = timedelta(days=1)  # for a host that prepares its pairs slowly; NCCL's own limit is minutes


@dataclass(frozen=True)
class Processes:
    """rank: the number of this process; process 0 writes files. size: the number of processes. device: this process's
    device."""

    rank: int
    size: int
    device: torch.device

    @property
    def first(self) -> bool:
        return self.rank == 0

    def loss_module(self, model: nn.Module) -> nn.Module:
        """Return a module that computes the losses of a model, and whose gradients are means over all processes.

        Gradients are exchanged while the backward pass still computes others. Components may leave parameters without a
        gradient in any update, so with several processes, each forward pass looks for such parameters.
        """
        module = LossModule(model, self.device)
        if self.size == 1:
            return module
        with _joint_work():
            return DistributedDataParallel(module, find_unused_parameters=True, gradient_as_bucket_view=True)

    def without_exchange(self, module: nn.Module) -> AbstractContextManager[None]:
        """Return a context in which a loss module adds up the gradients of this process only."""
        return module.no_sync() if isinstance(module, DistributedDataParallel) else nullcontext()

    def joint_work(self) -> AbstractContextManager[None]:
        """Return a context for joint work, which fails with BadInput if another process has ended."""
        return _joint_work() if self.size > 1 else nullcontext()

    def sum(self, tensor: Tensor) -> None:
        """Replace a tensor by its sum over all processes."""
        if self.size > 1:
            with _joint_work():
                dist.all_reduce(tensor)

    def divided(self, items: Iterable[T]) -> Iterator[tuple[bool, T]]:
        """Yield each item of work, and whether it is this process's own."""
        return ((number % self.size == self.rank, item) for number, item in enumerate(items))

    def gathered(self, own: T) -> list[T]:
        """Return the objects of all processes, in the order of ranks."""
        found = [own] * self.size
        if self.size > 1:
            with _joint_work():
                dist.all_gather_object(found, own)
        return found

    def from_first(self, value: float) -> float:
        """Return the first process's value in every process."""
        if self.size > 1:
            shared = torch.tensor([value], dtype=torch.float64)
            with _joint_work():
                dist.broadcast(shared, 0)
            return float(shared)
        return value

    def any(self, holds: bool) -> bool:
        """Return whether this holds in any process."""
        votes = torch.tensor(float(holds))
        self.sum(votes)
        return bool(votes)

    def close(self) -> None:
        if self.size > 1:
            dist.destroy_process_group()


class LossModule(nn.Module):
    """A model whose `forward` returns its losses, as DistributedDataParallel needs it; without a batch, they are 0."""

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        super().__init__()
        self.model: Any = model
        # DistributedDataParallel warns if it looks for parameters without a gradient and every one has a gradient.
        self.never_used = nn.Parameter(torch.zeros(1, device=device))

    def forward(self, *batch: Any) -> Loss:
        if batch:
            loss: Loss = self.model.loss(*batch)
            return loss
        nothing = 0 * self.never_used.sum()
        return Loss(nothing, 0, nothing)

    def named_buffers(self, *_: Any, **__: Any) -> Iterator[tuple[str, Tensor]]:
        """Return none: they are constants, which need no exchange."""
        return iter(())


@contextmanager
def joined_processes(device_name: str) -> Iterator[Processes]:
    """Join the processes that torchrun started, or yield this one alone. device_name: as for `local_device`."""
    precision = torch.get_float32_matmul_precision()
    processes = _join(device_name)
    try:
        yield processes
    finally:
        torch.set_float32_matmul_precision(precision)
        processes.close()


def _join(device_name: str) -> Processes:
    device = local_device(device_name)
    if device.type == "cuda":  # TF32: products of fp32 with 10 bits of each fraction, where bf16 has 7
        torch.set_float32_matmul_precision("high")
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        return Processes(0, 1, device)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    with _joint_work():
        # Counts and votes are on the CPU, where exchanging them does not wait for the GPU.
        dist.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo", timeout=LONGEST_WAIT)
    # DistributedDataParallel must not hold the last reference to the group, since its end may wait for itself.
    atexit.register(id, dist.group.WORLD)
    return Processes(dist.get_rank(), size, device)


@contextmanager
def _joint_work() -> Iterator[None]:
    """Raise BadInput if a joint operation fails because another process has ended."""
    try:
        yield
    except RuntimeError as error:
        if not isinstance(error, dist.DistError) and "gloo" not in str(error):
            raise
        raise BadInput(f"another process of this training run has ended: {str(error).splitlines()[0]}") from None
