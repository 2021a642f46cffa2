import pytest
import torch
from torch import Tensor

from synmt.nn.attention import SelfAttention, attend


def slow_attention(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
    logits = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5 + bias
    return logits.softmax(dim=-1) @ value


def test_equals_its_definition() -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 4, 5, 8).unbind(0)
    bias = torch.randn(2, 4, 5, 5)
    torch.testing.assert_close(attend(query, key, value, bias), slow_attention(query, key, value, bias))


def test_a_hidden_key_gets_nothing() -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 1, 1, 3, 4).unbind(0)
    bias = torch.tensor([0.0, float("-inf"), 0.0]).view(1, 1, 1, 3)
    before = attend(query, key, value, bias)
    value[:, :, 1] = 1e6
    torch.testing.assert_close(attend(query, key, value, bias), before)


@pytest.mark.parametrize("with_bias", [False, True])
def test_bf16_autocast_stays_close(with_bias: bool) -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 1, 2, 6, 8).unbind(0)
    bias = torch.randn(1, 2, 6, 6) if with_bias else None
    exact = attend(query, key, value, bias)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = attend(query.bfloat16(), key.bfloat16(), value.bfloat16(), bias)
    torch.testing.assert_close(rounded.float(), exact, atol=0.03, rtol=0.03)


def test_steps_with_a_cache_equal_causal_attention() -> None:
    torch.manual_seed(0)
    module = SelfAttention(8, heads=2, dropout=0.0).eval()
    states = torch.randn(3, 5, 8)
    cache = None
    outputs = []
    for position in range(5):
        output, cache = module.step(states[:, position : position + 1], cache)
        outputs.append(output)
    torch.testing.assert_close(torch.cat(outputs, dim=1), module(states, causal=True))
