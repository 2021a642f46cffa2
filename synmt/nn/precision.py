"""Which precision matrix products run in. Softmax, norms, biases, losses and parameters stay in fp32."""

from typing import Literal

import torch

Precision = Literal["auto", "fp32", "bf16"]


def autocast(device: torch.device, precision: Precision = "auto") -> torch.autocast:
    """bf16 where it is asked for, or with `auto` on a GPU."""
    bf16 = precision == "bf16" or (precision == "auto" and device.type == "cuda")
    return torch.autocast(device.type, torch.bfloat16, enabled=bf16)
