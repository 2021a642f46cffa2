import pytest
import torch

from synmt.alignment.published.attention.weights import guided_loss, weights_of_words

LINKS = torch.tensor([[0, 0, 0], [0, 1, 1], [0, 1, 2]])  # 0-0 1-1 2-1, as source-target


def test_the_guided_loss_of_the_worked_example() -> None:
    """Example H of the specification: links 0-0, 1-1, 2-1 against two rows of attention."""
    attention = torch.tensor([[[0.7, 0.2, 0.1], [0.1, 0.5, 0.4]]])
    loss = guided_loss(attention, LINKS)
    assert float(loss) == pytest.approx(1.161394, abs=1e-6)
    assert float(loss) / 2 == pytest.approx(0.580697, abs=1e-6)


def test_its_gradient_is_attention_minus_links() -> None:
    """∂/∂logits of −Σ G log softmax(logits) is A − G in rows with links; other rows have no gradient."""
    torch.manual_seed(0)
    logits = torch.randn(1, 3, 3, requires_grad=True)
    guided_loss(logits.softmax(dim=2), LINKS).backward()
    wanted = logits.detach().softmax(dim=2) - torch.tensor([[[1.0, 0, 0], [0, 0.5, 0.5], [0, 0, 0]]])
    wanted[0, 2] = 0.0
    assert logits.grad is not None
    torch.testing.assert_close(logits.grad, wanted)


def test_subwords_get_the_weight_of_their_word() -> None:
    weights = torch.tensor([[[0.1, 0.2, 0.3, 0.4]], [[0.3, 0.6, 0.0, 0.0]]])
    words = torch.tensor([[0, 1, 1, 2], [0, 0, 3, 3]])  # the second sentence is a word of two subwords, and padding
    wanted = torch.tensor([[[0.1, 0.5, 0.5, 0.4]], [[0.9, 0.9, 0.0, 0.0]]])
    torch.testing.assert_close(weights_of_words(weights, words), wanted)


def test_without_links_the_loss_is_zero() -> None:
    assert float(guided_loss(torch.ones(1, 2, 2) / 2, torch.empty(0, 3, dtype=torch.long))) == 0.0
