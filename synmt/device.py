"""Where the network computes, and in which precision."""

import os
from typing import Literal

import torch
from torch import Tensor

from synmt.streams import BadInput

Precision = Literal["auto", "fp32", "bf16", "int8"]


def local_device(name: str) -> torch.device:
    """Open auto (a GPU where there is one), cpu, cuda (under torchrun the local rank's) or cuda:N. Raises BadInput."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and "LOCAL_RANK" in os.environ:
        name = f"cuda:{os.environ['LOCAL_RANK']}"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise BadInput(f"device {name}: {str(error).splitlines()[0]}") from None
    # cuDNN's attention plans anew for each shape, and nearly every batch has one of its own.
    torch.backends.cuda.enable_cudnn_sdp(False)
    return device


def sent(tensor: Tensor, device: torch.device) -> Tensor:
    """Return a tensor of the host on a device. A GPU takes it out of pinned memory when it comes to it, so that the
    host need not wait for what was asked before."""
    pinned = tensor.pin_memory() if device.type == "cuda" else tensor
    return pinned.to(device, non_blocking=True)


def autocast(device: torch.device, precision: Precision = "auto") -> torch.autocast:
    """Use bf16 for matrix products where it is asked for, or with `auto` on a GPU.

    Softmax, norms, biases, losses and parameters stay in fp32, and the logits of all that does not learn. With int8, so
    does all that is not quantized.
    """
    bf16 = precision == "bf16" or (precision == "auto" and device.type == "cuda")
    return torch.autocast(device.type, torch.bfloat16, enabled=bf16)
