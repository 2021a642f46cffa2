import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from synmt.alignment.guidance import guided_loss, weights_of_words
from synmt.alignment.ideas.add_sgd import descend
from synmt.alignment.ideas.bao import contiguity_loss
from synmt.nn.attention import CrossAttention

LINKS = torch.tensor([[0, 0, 0], [0, 1, 1], [0, 1, 2]])  # 0-0 1-1 2-1, as source-target


def test_the_guided_loss_of_the_worked_example() -> None:
    """Example H of the specification: links 0-0, 1-1, 2-1 against two rows of attention."""
    attention = torch.tensor([[[0.7, 0.2, 0.1], [0.1, 0.5, 0.4]]])
    loss = guided_loss(attention, LINKS)
    assert float(loss) == pytest.approx(1.161394, abs=1e-6)
    assert float(loss) / 2 == pytest.approx(0.580697, abs=1e-6)


def test_its_gradient_is_attention_minus_links() -> None:
    """∂/∂logits of −Σ G log softmax(logits) is A − G, in rows that have links; other rows have none."""
    torch.manual_seed(0)
    logits = torch.randn(1, 3, 3, requires_grad=True)
    guided_loss(logits.softmax(dim=2), LINKS).backward()
    wanted = logits.detach().softmax(dim=2) - torch.tensor([[[1.0, 0, 0], [0, 0.5, 0.5], [0, 0, 0]]])
    wanted[0, 2] = 0.0
    assert logits.grad is not None
    torch.testing.assert_close(logits.grad, wanted)


def test_pieces_get_the_weight_of_their_word() -> None:
    weights = torch.tensor([[[0.1, 0.2, 0.3, 0.4]], [[0.3, 0.6, 0.0, 0.0]]])
    words = torch.tensor([[0, 1, 1, 2], [0, 0, 3, 3]])  # the second sentence is one word of two pieces, and padding
    wanted = torch.tensor([[[0.1, 0.5, 0.5, 0.4]], [[0.9, 0.9, 0.0, 0.0]]])
    torch.testing.assert_close(weights_of_words(weights, words), wanted)


def test_no_links_are_no_loss() -> None:
    assert float(guided_loss(torch.ones(1, 2, 2) / 2, torch.empty(0, 3, dtype=torch.long))) == 0.0


def test_cross_attention_gives_the_weights_that_it_uses() -> None:
    torch.manual_seed(0)
    module = CrossAttention(8, heads=2, dropout=0.0).eval()
    states, encoded = torch.randn(3, 5, 8), torch.randn(3, 4, 8)
    bias = torch.zeros(3, 1, 1, 4)
    bias[1, :, :, 2:] = float("-inf")
    memory = module.memory(encoded)
    weights = module.head_weights(states, encoded, bias)
    assert weights[1, :, :, 2:].count_nonzero() == 0
    torch.testing.assert_close(weights.sum(dim=3), torch.ones(3, 2, 5))
    output = module.out((weights @ memory[1]).transpose(1, 2).flatten(2))
    torch.testing.assert_close(output, module(states, memory, bias))


def test_descent_goes_down() -> None:
    start = torch.tensor([[3.0, -2.0]])
    end = descend(start, lambda logits: (logits**2).sum(), steps=2, rate=0.1)
    torch.testing.assert_close(end, start * 0.8**2)
    assert not end.requires_grad


@given(st.integers(2, 6), st.booleans())
def test_contiguity_favours_runs(length: int, mirrored: bool) -> None:
    """A diagonal, or its mirror image, costs less than the same number of links apart from each other."""
    run = torch.eye(length)
    apart = torch.zeros(length, 3 * length)
    apart[torch.arange(length), 3 * torch.randperm(length)] = 1.0
    real = torch.ones(1, length, dtype=torch.bool)
    cost = contiguity_loss((run.flip(1) if mirrored else run).unsqueeze(0), real)
    assert float(cost) == pytest.approx(2 * math.log(1.5), abs=1e-5)  # both ends lack a neighbour
    assert float(contiguity_loss(apart.unsqueeze(0), real)) == pytest.approx(length * math.log(3), abs=1e-5)
