import pytest
import torch

from synmt.nn.dropout import add_dropped, dropout, dropped_relu


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5])
def test_it_drops_the_given_share_and_keeps_the_mean(rate: float) -> None:
    torch.manual_seed(0)
    dropped = dropout(torch.ones(999, 333), rate, training=True)
    assert dropped.unique().tolist() == pytest.approx([0.0, 1 / (1 - rate)])
    assert (dropped == 0).float().mean().item() == pytest.approx(rate, abs=0.004)
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.01)


def test_neighbours_are_dropped_independently() -> None:
    """Four neighbours share one random number of 64 bits."""
    torch.manual_seed(0)
    kept = dropout(torch.ones(400_000), 0.5, training=True).view(-1, 4) > 0
    patterns = (kept * torch.tensor([1, 2, 4, 8])).sum(dim=1).bincount(minlength=16) / len(kept)
    assert patterns.min().item() == pytest.approx(1 / 16, abs=0.004)
    assert patterns.max().item() == pytest.approx(1 / 16, abs=0.004)


def test_it_does_nothing_outside_training() -> None:
    states = torch.randn(3, 5)
    assert dropout(states, 0.5, training=False) is states
    assert dropout(states, 0.0, training=True) is states


def test_the_gradient_flows_through_kept_elements() -> None:
    states = torch.randn(40, requires_grad=True)
    dropped = dropout(states, 0.5, training=True)
    dropped.sum().backward()
    assert states.grad is not None
    torch.testing.assert_close(states.grad * states, dropped.detach())


def test_a_sum_drops_the_same_elements_as_dropout() -> None:
    states, more = torch.randn(7, 9, requires_grad=True), torch.randn(7, 9, requires_grad=True)
    torch.manual_seed(3)
    found = add_dropped(states, more, 0.4)
    torch.manual_seed(3)
    expected = states + dropout(more, 0.4)
    torch.testing.assert_close(found, expected)
    for one, other in zip(
        *(torch.autograd.grad(each.square().sum(), [states, more]) for each in (found, expected)), strict=True
    ):
        torch.testing.assert_close(one, other)
    assert torch.equal(add_dropped(states, more, 0.4, training=False), states + more)


@pytest.mark.parametrize("training", [True, False])
def test_dropped_relu_equals_dropout_of_relu(training: bool) -> None:
    """dropped_relu equals dropout(relu), with the same gradient; it may overwrite its input."""
    states, weight = torch.randn(70, 9), torch.randn(70, 9)
    given = states.clone().requires_grad_(), states.clone().requires_grad_()
    torch.manual_seed(3)
    found = dropped_relu(given[0] * 1, 0.4, training)
    torch.manual_seed(3)
    expected = dropout(given[1].relu(), 0.4, training)
    torch.testing.assert_close(found, expected)
    gradients = (
        torch.autograd.grad((each * weight).sum(), of)[0] for each, of in zip((found, expected), given, strict=True)
    )
    torch.testing.assert_close(*gradients)
