"""Data-parallel training with the processes that torchrun starts, or with one.

Gradients are summed over the processes and divided by the tokens of all. So any number of processes computes the same
gradient as one process with the same global batch.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from synmt.device import local_device
from synmt.streams import BadInput

LONGEST_WAIT = timedelta(days=1)  # for the first process, which validates alone; NCCL's own limit is minutes


@dataclass(frozen=True)
class Processes:
    """rank: the number of this process; process 0 writes files. size: the number of processes. device: its own."""

    rank: int
    size: int
    device: torch.device

    @property
    def first(self) -> bool:
        return self.rank == 0

    def sum(self, tensors: Iterable[Tensor]) -> None:
        """Replace each tensor by its sum over all processes, with one exchange for all tensors."""
        if self.size > 1:
            parts = list(tensors)
            flat = torch.cat([part.flatten() for part in parts])
            with _together():
                dist.all_reduce(flat)
            for part, summed in zip(parts, flat.split([part.numel() for part in parts]), strict=True):
                part.copy_(summed.view_as(part))

    def from_first(self, value: float) -> float:
        """Return the first process's value in every process."""
        if self.size > 1:
            shared = torch.tensor([value], dtype=torch.float64, device=self.device)
            with _together():
                dist.broadcast(shared, 0)
            return float(shared)
        return value

    def any(self, holds: bool) -> bool:
        """Return whether this holds in any process."""
        if self.size > 1:
            votes = torch.tensor(float(holds), device=self.device)
            self.sum([votes])
            return bool(votes)
        return holds

    def close(self) -> None:
        if self.size > 1:
            dist.destroy_process_group()


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
    with _together():
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=LONGEST_WAIT)
    return Processes(dist.get_rank(), size, device)


@contextmanager
def _together() -> Iterator[None]:
    """Raise BadInput if a joint operation fails because another process has ended."""
    try:
        yield
    except RuntimeError as error:
        raise BadInput(f"another process of this training run has ended: {str(error).splitlines()[0]}") from None
