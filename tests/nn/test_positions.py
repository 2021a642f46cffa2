import math

import torch

from synmt.nn.positions import sinusoids


def test_channels_by_hand() -> None:
    table = sinusoids(3, 4)
    by_hand = [[math.sin(p), math.cos(p), math.sin(p / 100), math.cos(p / 100)] for p in range(3)]
    torch.testing.assert_close(table, torch.tensor(by_hand))


def test_norm() -> None:
    torch.testing.assert_close(sinusoids(50, 64).norm(dim=1), torch.full((50,), math.sqrt(32)))
