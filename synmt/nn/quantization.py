"""Matrix products in int8 on a CPU.

Weights are rounded once, to integers from -64 to 64, with one scale per row. States are rounded at each product, to
integers from 0 to 255, with one scale and one zero point for the whole batch. A result therefore depends slightly on
the other sentences of the batch.

Weights stop at 64 because of CPUs without VNNI. Their instruction for products of 8-bit numbers (vpmaddubsw) adds two
neighbouring products in 16 bits and clips sums beyond 32,767. 2 · 255 · 64 = 32,640 fits; 2 · 255 · 127 would not. So
every CPU rounds to the same integers and computes the same integer products, with VNNI or without.
"""

import math
import warnings

import torch
from torch import Tensor, nn

from synmt.nn.transformer import Transformer

ENGINE = "onednn"  # faster than fbgemm with VNNI, as fast without
LARGEST = 64  # magnitude of a rounded weight


class Int8Linear(nn.Module):
    """x · Wᵀ + b, for a weight [T,d] and a bias [T]."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.in_features = weight.shape[1]
        # A smaller scale has no finite inverse in fp32, and would round its row to more than LARGEST.
        least = torch.finfo(torch.float32).tiny
        scales = (weight.abs().amax(dim=1).double() / LARGEST).clamp(min=least)
        zeros = torch.zeros(len(weight), dtype=torch.int64)
        engine = torch.backends.quantized.engine
        torch.backends.quantized.engine = ENGINE  # stored in the packed weight
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # PyTorch will replace its quantized tensors some day
                rounded = torch.quantize_per_channel(weight.float(), scales, zeros, 0, torch.qint8)
            self.packed = torch.ops.quantized.linear_prepack(rounded, bias.float())
        finally:
            torch.backends.quantized.engine = engine

    def forward(self, states: Tensor) -> Tensor:
        """[..,d] → [..,T]. Raises FloatingPointError if a state is infinite or NaN, since it cannot be rounded."""
        if not math.isfinite(states.sum()):
            raise FloatingPointError
        product: Tensor = torch.ops.quantized.linear_dynamic(states, self.packed)
        return product


@torch.inference_mode()
def quantize(network: Transformer) -> None:
    """Replace the products of encoder, decoder and output with int8 products. The network can then no longer train."""
    for module in list(network.modules()):
        for name, part in list(module.named_children()):
            if type(part) is nn.Linear:
                setattr(module, name, Int8Linear(part.weight, part.bias))
    network.output = Int8Linear(network.output_weight, network.output_bias)
