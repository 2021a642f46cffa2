import pytest
import torch
from torch import Tensor

from synmt.nn.attention import AttentionEdit, SelfAttention, attend, edited_attention, merge_heads, split_heads


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


def random_edit(kind: str) -> AttentionEdit:
    """For 2 sentences, 3 heads and 4 positions."""
    hiding = torch.zeros(2, 1, 1, 4)
    hiding[1, ..., 3] = float("-inf")
    parents = torch.randn(2, 4, 4).softmax(dim=-1)
    return {
        "plain": AttentionEdit(),
        "bias": AttentionEdit(bias=torch.randn(2, 3, 4, 4)),
        "scale": AttentionEdit(scale=torch.rand(2, 2, 4, 4), bias=hiding),
        "replace": AttentionEdit(bias=hiding, replace=lambda _: parents),
        "all": AttentionEdit(torch.rand(2, 2, 4, 4), torch.randn(2, 3, 4, 4) + hiding, lambda _: parents),
    }[kind]


@pytest.mark.parametrize("kind", ["plain", "bias", "scale", "replace", "all"])
def test_the_weights_on_show_are_those_at_work(kind: str) -> None:
    """They give the values that the layer gives, and for values of one channel each they are its output."""
    torch.manual_seed(0)
    module = SelfAttention(12, heads=3, dropout=0.5).eval()
    states, edit = torch.randn(2, 4, 12), random_edit(kind)
    weights = module.weights(states, edit)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 3, 4))
    value = split_heads(module.qkv(states).chunk(3, dim=-1)[2], 3)
    torch.testing.assert_close(module.out(merge_heads(weights @ value)), module(states, edit))
    query, key, _ = (split_heads(part, 3) for part in module.qkv(states).chunk(3, dim=-1))
    identity = torch.eye(4).expand(2, 3, 4, 4)
    torch.testing.assert_close(edited_attention(query, key, identity, edit, states, 0.0), weights)
