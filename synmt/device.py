"""The device and the precision of the network's computation."""

import os
from typing import Literal

import torch
from torch import Tensor

from synmt.streams import BadInput

Precision = Literal["auto", "fp32", "bf16", "int8"]


def local_device(name: str) -> torch.device:
    """Open auto (a GPU if there is one), cpu, cuda (under torchrun, the GPU of the local rank) or cuda:N. Raises
    BadInput."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and "LOCAL_RANK" in os.environ:
        name = f"cuda:{os.environ['LOCAL_RANK']}"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise BadInput(f"device {name}: {str(error).splitlines()[0]}") from None
    # cuDNN's attention makes a new plan for each shape, and nearly every batch has its own shape.
    torch.backends.cuda.enable_cudnn_sdp(False)
    return device


def sent(tensor: Tensor, device: torch.device) -> Tensor:
    """Copy a tensor from the host to a device. For a GPU, the copy is asynchronous, from pinned memory, so the host
    does not wait for earlier work."""
    pinned = tensor.pin_memory() if device.type == "cuda" else tensor
    return pinned.to(device, non_blocking=True)


def autocast(device: torch.device, precision: Precision = "auto") -> torch.autocast:
    """Run matrix products in bf16 if it is requested, or on a GPU with `auto`.

    Softmax, norms, biases, losses, parameters, and all logits computed without gradients stay in fp32. With int8,
    everything that is not quantized does, too.
    """
    bf16 = precision == "bf16" or (precision == "auto" and device.type == "cuda")
    return torch.autocast(device.type, torch.bfloat16, enabled=bf16)
