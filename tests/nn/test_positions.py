import math

import torch

from synmt.nn.positions import Rotation, Sinusoids, sinusoids


def test_channels_worked_by_hand() -> None:
    table = sinusoids(3, 4)
    by_hand = [[math.sin(p), math.cos(p), math.sin(p / 100), math.cos(p / 100)] for p in range(3)]
    torch.testing.assert_close(table, torch.tensor(by_hand))


def test_norm() -> None:
    torch.testing.assert_close(sinusoids(50, 64).norm(dim=1), torch.full((50,), math.sqrt(32)))


def test_vectors_are_computed_on_demand() -> None:
    """Making a model allocates no vectors, since a stranger's config may set a huge width. A search may be their first
    user."""
    positions = Sinusoids(4)
    assert not len(positions.vectors)
    with torch.inference_mode():
        torch.testing.assert_close(positions(3, 1), sinusoids(3, 4)[1:])
    states = torch.zeros(2, 4, requires_grad=True)
    (states * 2 + positions(2)).sum().backward()
    assert states.grad is not None
    torch.testing.assert_close(positions(5000, 4999), sinusoids(5000, 4)[4999:])
    torch.testing.assert_close(positions.at(torch.tensor([[7, 0]])), sinusoids(8, 4)[torch.tensor([[7, 0]])])


def test_rotations_are_products_of_complex_numbers() -> None:
    """Channels 2i and 2i+1 form a complex number, which is multiplied by exp(√−1 · p · 10000^(−2i/c))."""
    vectors = torch.randn(2, 5, 3, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    numbers = torch.view_as_complex(vectors.unflatten(-1, (4, 2)).contiguous())
    angles = torch.tensor([[(p + 2) * 10000 ** (-2 * i / 8) for i in range(4)] for p in range(5)], dtype=torch.float64)
    turns = torch.polar(torch.ones_like(angles), angles).unsqueeze(1)
    expected = torch.view_as_real(numbers * turns).flatten(-2)
    rotation = Rotation(8)
    torch.testing.assert_close(rotation(vectors, 2), expected, atol=1e-5, rtol=1e-5)
    places = torch.tensor([[2, 3, 4, 5, 6], [2, 3, 4, 5, 6]])
    torch.testing.assert_close(rotation(vectors, places), expected, atol=1e-5, rtol=1e-5)


def test_products_of_rotated_vectors_depend_on_their_distance() -> None:
    query, key = torch.randn(2, 1, 1, 1, 16, generator=torch.Generator().manual_seed(1))
    rotation = Rotation(16)
    products = [float((rotation(query, start) * rotation(key, start + 3)).sum()) for start in (0, 1, 50, 700)]
    torch.testing.assert_close(torch.tensor(products), torch.full((4,), products[0]), atol=1e-4, rtol=1e-4)
    assert abs(products[0] - float((rotation(query, 3) * rotation(key, 0)).sum())) > 0.01
