import pytest
import torch

from synmt.nn import losses
from synmt.nn.losses import rows_of_a_chunk, smoothed_cross_entropy


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("chunk", [7, 1 << 20])
def test_value_and_gradients_equal_the_formula(smoothing: float, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The formula is (1−ε)·nll + ε/V·Σ_v −log p_v. Logits are computed all at once, or one row at a time."""
    monkeypatch.setattr(losses, "CHUNK_ELEMENTS", chunk)
    torch.manual_seed(0)
    tensors = [torch.randn(5, 4), torch.randn(7, 4), torch.randn(7)]
    gold = torch.tensor([0, 3, 6, 3, 1])
    mine = [tensor.clone().requires_grad_() for tensor in tensors]
    slow = [tensor.clone().requires_grad_() for tensor in tensors]
    loss = smoothed_cross_entropy(mine[0], mine[1], mine[2], gold, smoothing)
    log_p = (slow[0] @ slow[1].t() + slow[2]).log_softmax(dim=1)
    expected = -(1 - smoothing) * log_p.gather(1, gold[:, None]).sum() - smoothing / 7 * log_p.sum()
    torch.testing.assert_close(loss, expected)
    (3 * loss).backward()
    (3 * expected).backward()
    for a, b in zip(mine, slow, strict=True):
        torch.testing.assert_close(a.grad, b.grad)


@pytest.mark.parametrize("chunk", [7, 1 << 20])
def test_a_count_equals_repeated_tokens(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token with count 3 equals three tokens, even if logits are far apart; a token with count 0 adds nothing."""
    monkeypatch.setattr(losses, "CHUNK_ELEMENTS", chunk)
    torch.manual_seed(0)
    states, weight, bias = 100 * torch.randn(3, 4), torch.randn(7, 4), torch.randn(7)
    gold, counts = torch.tensor([0, 3, 6]), torch.tensor([1.0, 3.0, 0.0])

    def gradients(states: torch.Tensor, gold: torch.Tensor, counts: torch.Tensor | None) -> list[torch.Tensor]:
        given = [each.clone().requires_grad_() for each in (states, weight, bias)]
        loss = smoothed_cross_entropy(given[0], given[1], given[2], gold, 0.1, counts)
        return [loss, *torch.autograd.grad(loss, given)]

    times = counts.long()
    found = gradients(states, gold, counts)
    expected = gradients(states.repeat_interleave(times, dim=0), gold.repeat_interleave(times), None)
    expected[1] = torch.stack([expected[1][0], expected[1][1:].sum(dim=0), torch.zeros(4)])
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
    for each in gradients(states[:0], gold[:0], None):
        assert not each.any()


def test_outside_a_cpu_a_batch_is_one_chunk() -> None:
    """The batch has 4,096 tokens, the vocabulary 32,000."""
    assert rows_of_a_chunk(torch.empty(32_000, 1)) == 65
    assert rows_of_a_chunk(torch.empty(32_000, 1, device="meta")) > 4096


def test_the_loss_is_the_same_without_gradients() -> None:
    torch.manual_seed(0)
    states, weight, bias, gold = torch.randn(5, 4), torch.randn(7, 4), torch.randn(7), torch.arange(5)
    with_gradients = smoothed_cross_entropy(states.requires_grad_(), weight, bias, gold, 0.1)
    with torch.no_grad():
        torch.testing.assert_close(smoothed_cross_entropy(states, weight, bias, gold, 0.1), with_gradients.detach())


def test_without_gradients_logits_are_exact_in_every_precision() -> None:
    torch.manual_seed(0)
    states, weight, bias, gold = torch.randn(50, 64), torch.randn(70, 64), torch.randn(70), torch.arange(50)
    with torch.no_grad():
        exact = smoothed_cross_entropy(states, weight, bias, gold, 0.1)
        with torch.autocast("cpu", torch.bfloat16):
            assert smoothed_cross_entropy(states, weight, bias, gold, 0.1) == exact
    with torch.autocast("cpu", torch.bfloat16):
        learning = smoothed_cross_entropy(states.requires_grad_(), weight, bias, gold, 0.1)
    assert learning.detach() != exact
    assert float(learning.detach()) == pytest.approx(float(exact), rel=1e-2)
