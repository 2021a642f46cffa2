import torch

from synmt.alignment.translation.optimized import descend


def test_descent_follows_the_gradient() -> None:
    start = torch.tensor([[3.0, -2.0]])
    end = descend(start, lambda logits: (logits**2).sum(), steps=2, rate=0.1)
    torch.testing.assert_close(end, start * 0.8**2)
    assert not end.requires_grad
