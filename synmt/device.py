"""Where the network computes, and in which precision."""

import os
from typing import Literal

import torch

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
    return device


def autocast(device: torch.device, precision: Precision = "auto") -> torch.autocast:
    """Use bf16 for matrix products where it is asked for, or with `auto` on a GPU.

    Softmax, norms, biases, losses and parameters stay in fp32, and the logits of all that does not learn. With int8, so
    does all that is not quantized.
    """
    bf16 = precision == "bf16" or (precision == "auto" and device.type == "cuda")
    return torch.autocast(device.type, torch.bfloat16, enabled=bf16)
