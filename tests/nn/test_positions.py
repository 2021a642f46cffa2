import math

import torch

from synmt.nn.positions import Sinusoids, sinusoids


def test_channels_by_hand() -> None:
    table = sinusoids(3, 4)
    by_hand = [[math.sin(p), math.cos(p), math.sin(p / 100), math.cos(p / 100)] for p in range(3)]
    torch.testing.assert_close(table, torch.tensor(by_hand))


def test_norm() -> None:
    torch.testing.assert_close(sinusoids(50, 64).norm(dim=1), torch.full((50,), math.sqrt(32)))


def test_vectors_are_made_for_the_sentences_that_come() -> None:
    """None with the model, whose width a stranger's config may have set; and a search may be the first to ask."""
    positions = Sinusoids(4)
    assert not len(positions.vectors)
    with torch.inference_mode():
        torch.testing.assert_close(positions(3, 1), sinusoids(3, 4)[1:])
    states = torch.zeros(2, 4, requires_grad=True)
    (states * 2 + positions(2)).sum().backward()
    assert states.grad is not None
    torch.testing.assert_close(positions(5000, 4999), sinusoids(5000, 4)[4999:])
    torch.testing.assert_close(positions.at(torch.tensor([[7, 0]])), sinusoids(8, 4)[torch.tensor([[7, 0]])])
