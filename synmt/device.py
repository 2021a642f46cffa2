"""The device of the network, and its precision."""

import os
import time
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import linear

from synmt.streams import BadInput, Message, WrongUsage

Precision = Literal["auto", "fp32", "bf16", "int8"]


def local_device(name: str) -> torch.device:
    """Open auto (a GPU if there is one), cpu, cuda (under torchrun, of the local rank) or cuda:N.

    Raises WrongUsage for a name that PyTorch does not know, and BadInput for a device that is not there.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and "LOCAL_RANK" in os.environ:
        name = f"cuda:{os.environ['LOCAL_RANK']}"
    try:
        known = torch.device(name)
    except RuntimeError:
        raise WrongUsage(Message("--device cannot be {!r}; use auto, cpu, cuda or cuda:N", name)) from None
    try:
        device = torch.empty(0, device=known).device  # with its number, even if the name has none
    except (RuntimeError, AssertionError) as error:
        raise BadInput(f"device {name}: {str(error).splitlines()[0]}") from None
    if device.type == "meta":
        raise BadInput(f"device {name}: computes nothing")
    # cuDNN's attention makes a plan for each shape, and nearly every batch has a new one.
    torch.backends.cuda.enable_cudnn_sdp(False)
    return device


def sent(tensor: Tensor, device: torch.device) -> Tensor:
    """Copy a tensor to a device. A GPU reads it from pinned memory, so the host does not wait for earlier work."""
    pinned = tensor.pin_memory() if device.type == "cuda" else tensor
    return pinned.to(device, non_blocking=True)


def autocast(device: torch.device, precision: Precision = "auto") -> torch.autocast:
    """Compute matrix products in bf16 if requested, or with `auto` on a GPU.

    Softmax, norms, biases, losses and parameters stay in fp32, and so do logits outside training. With int8, everything
    that is not quantized stays in fp32.
    """
    bf16 = precision == "bf16" or (precision == "auto" and device.type == "cuda")
    return torch.autocast(device.type, torch.bfloat16, enabled=bf16)


def bf16_slowdown(device: torch.device) -> float:
    """Return how many times as long a linear layer takes in bf16 as in fp32, measured on a CPU; 0 for a GPU."""
    if device.type != "cpu":
        return 0.0

    def least_seconds(kind: torch.dtype) -> float:
        states, weight = torch.ones(512, 256, dtype=kind), torch.ones(256, 256, dtype=kind)
        times = []
        for _ in range(4):
            begin = time.process_time()
            linear(states, weight)
            times.append(time.process_time() - begin)
        return min(times)

    return least_seconds(torch.bfloat16) / least_seconds(torch.float32)
