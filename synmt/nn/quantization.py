"""Products of matrices in int8, on a CPU.

Dynamic quantization: weights are rounded to 8 bits once, each row with a scale of its own, and states at each product,
with one scale for all of them; so what comes out depends a little on what stands beside a sentence in a batch.
"""

import math
import warnings

import torch
from torch import Tensor, nn

from synmt.nn.transformer import Transformer

ENGINE = "onednn"  # which is faster than fbgemm here, and knows each processor's instructions for int8


class Int8Linear(nn.Module):
    """x · Wᵀ + b of a weight [T,d] and a bias [T]."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.in_features = weight.shape[1]
        scales = weight.abs().amax(dim=1).clamp(min=torch.finfo(torch.float32).tiny).double() / 127
        zeros = torch.zeros(len(weight), dtype=torch.int64)
        engine = torch.backends.quantized.engine
        torch.backends.quantized.engine = ENGINE  # of what is packed, for good
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # there will be other tensors of 8 bits
                rounded = torch.quantize_per_channel(weight.float(), scales, zeros, 0, torch.qint8)
            self.packed = torch.ops.quantized.linear_prepack(rounded, bias.float())
        finally:
            torch.backends.quantized.engine = engine

    def forward(self, states: Tensor) -> Tensor:
        """[..,d] → [..,T]. Raises FloatingPointError for states that are not finite, which cannot be rounded."""
        if not math.isfinite(states.sum()):
            raise FloatingPointError
        product: Tensor = torch.ops.quantized.linear_dynamic(states, self.packed)
        return product


@torch.inference_mode()
def quantize(network: Transformer) -> None:
    """Replace the products of encoder, decoder and output by those in int8. Then it translates, and learns no more."""
    for module in list(network.modules()):
        for name, part in list(module.named_children()):
            if type(part) is nn.Linear:
                setattr(module, name, Int8Linear(part.weight, part.bias))
    network.output = Int8Linear(network.output_weight, network.output_bias)
