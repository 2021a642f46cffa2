"""The number of operations that training a model needs, and the rate of a device."""

from collections.abc import Callable

import torch

from synmt.nn.config import TransformerConfig

GIGA = 1e9
# Rate of dense bf16 products in GFLOP/s, by a part of the card's name, from NVIDIA's data sheets.
DATA_SHEETS = {"H100 PCIe": 756e3, "H100": 989e3, "H200": 989e3, "A100": 312e3, "L40S": 362e3, "L4": 121e3}


def training_flops(config: TransformerConfig, vocabulary: int, source: int, target: int) -> float:
    """Return the GFLOPs that a model needs for one pair of these lengths, forward and backward.

    Counts only matrix products, without padding and without positions hidden by causality. A product [a,b] · [b,c]
    takes 2abc operations, and its gradient takes two such products. vocabulary: number of tokens that the target side
    can generate.
    """
    width, wide = config.width, config.feedforward
    pairs = target * (target + 1) / 2
    feedforward, projection, attention = 2 * width * wide, width**2, 2 * width
    encoder = source * (4 * projection + feedforward) + attention * source**2
    decoder = target * (6 * projection + feedforward) + source * 2 * projection + attention * (pairs + source * target)
    products = config.encoder_layers * encoder + config.decoder_layers * decoder + target * width * vocabulary
    return 3 * 2 * products / GIGA


def product_of_matrices(device: torch.device) -> Callable[[], float]:
    """Return a function that computes matrix products in the precision of training on the device, the best that the
    device can do, and returns their GFLOPs."""
    size, times, kind = (1024, 4, torch.float32) if device.type == "cpu" else (8192, 50, torch.bfloat16)
    a, b = (torch.randn(size, size, device=device, dtype=kind) for _ in range(2))

    def work() -> float:
        for _ in range(times):
            torch.mm(a, b)
        return 2 * size**3 * times / GIGA

    return work


def data_sheet(device: torch.device) -> float | None:
    """Return the GFLOP/s in the data sheet of a GPU, if known."""
    if device.type == "cpu":
        return None
    name = torch.cuda.get_device_name(device)
    return next((rate for card, rate in DATA_SHEETS.items() if card in name), None)
