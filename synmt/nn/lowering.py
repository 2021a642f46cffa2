"""The parameters of matrix products in the precision of autocast, cast many at a time.

Autocast itself casts each parameter, and each gradient, by an operation of its own, which a GPU must wait for.
"""

from typing import Any

import torch
from torch import Tensor, nn

from synmt.nn.transformer import Transformer

AT_ONCE = 16  # few enough that several processes exchange gradients while others are still computed


def lowered(model: nn.Module) -> dict[str, Tensor]:
    """Return the weights and biases of the linear layers of a model's Transformers by name, for `functional_call`; none
    if autocast is off."""
    parameters = {
        f"{name}.{part}.{each}": parameter
        for name, network in model.named_modules()
        if isinstance(network, Transformer)
        for part, layer in network.named_modules()
        if isinstance(layer, nn.Linear)
        for each, parameter in layer.named_parameters(recurse=False)
    }
    names, values = list(parameters), list(parameters.values())
    if not values or not torch.is_autocast_enabled(values[0].device.type):
        return {}
    dtype = torch.get_autocast_dtype(values[0].device.type)
    parts = (values[start : start + AT_ONCE] for start in range(0, len(values), AT_ONCE))
    return dict(zip(names, (each for part in parts for each in _Cast.apply(dtype, *part)), strict=True))


class _Cast(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, dtype: torch.dtype, *tensors: Tensor) -> tuple[Tensor, ...]:
        context.dtype = tensors[0].dtype
        return _cast(tensors, dtype)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return None, *_cast(gradients, context.dtype)


def _cast(tensors: tuple[Tensor, ...], dtype: torch.dtype) -> tuple[Tensor, ...]:
    found = tuple(torch.empty_like(each, dtype=dtype) for each in tensors)
    torch._foreach_copy_(found, tensors)
    return found
