import pytest
import torch
from torch import Tensor

from synmt.nn.attention import (
    AttentionEdit,
    HeadEdit,
    KeyCache,
    Recorder,
    SelfAttention,
    attend,
    edited_attention,
    merge_heads,
    split_heads,
)
from synmt.nn.dropout import dropout


def slow_attention(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
    logits = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5 + bias
    return logits.softmax(dim=-1) @ value


@pytest.mark.parametrize("kind", ["none", "bias", "causal"])
def test_dropout_equals_dropout_of_the_weights(kind: str) -> None:
    """Values and gradients are the same, also for a bias that several heads and queries share."""
    torch.manual_seed(0)
    given = [torch.randn(2, 4, 5, 8, requires_grad=True) for _ in range(3)]
    upstream = torch.randn(2, 4, 5, 8)
    later = torch.full((5, 5), float("-inf")).triu(1)
    bias = torch.randn(2, 1, 1, 5, requires_grad=True) if kind == "bias" else None
    inputs = [*given, *([bias] if bias is not None else [])]
    torch.manual_seed(1)
    found = attend(given[0], given[1], given[2], bias, causal=kind == "causal", dropout=0.3)
    logits = given[0] @ given[1].transpose(-1, -2) / 8**0.5
    logits = logits if bias is None else logits + bias
    torch.manual_seed(1)
    weights = dropout((logits + later if kind == "causal" else logits).softmax(dim=-1), 0.3)
    expected = weights @ given[2]
    torch.testing.assert_close(found, expected)
    gradients = (torch.autograd.grad((each * upstream).sum(), inputs) for each in (found, expected))
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)


def test_attention_equals_its_definition() -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 4, 5, 8).unbind(0)
    bias = torch.randn(2, 4, 5, 5)
    torch.testing.assert_close(attend(query, key, value, bias), slow_attention(query, key, value, bias))


def test_hidden_keys_get_no_attention() -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 1, 1, 3, 4).unbind(0)
    bias = torch.tensor([0.0, float("-inf"), 0.0]).view(1, 1, 1, 3)
    before = attend(query, key, value, bias)
    value[:, :, 1] = 1e6
    torch.testing.assert_close(attend(query, key, value, bias), before)


@pytest.mark.parametrize("with_bias", [False, True])
def test_bf16_autocast_is_close(with_bias: bool) -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 1, 2, 6, 8).unbind(0)
    bias = torch.randn(1, 2, 6, 6) if with_bias else None
    exact = attend(query, key, value, bias)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = attend(query.bfloat16(), key.bfloat16(), value.bfloat16(), bias)
    torch.testing.assert_close(rounded.float(), exact, atol=0.03, rtol=0.03)


def test_cached_steps_equal_causal_attention() -> None:
    torch.manual_seed(0)
    module = SelfAttention(8, heads=2, dropout=0.0).eval()
    states = torch.randn(3, 5, 8)
    cache = KeyCache()
    outputs = [module.step(states[:, position : position + 1], cache, position) for position in range(5)]
    torch.testing.assert_close(torch.cat(outputs, dim=1), module(states, causal=True))


def random_edit(kind: str) -> AttentionEdit:
    """Return a random edit for 2 sentences, 3 heads and 4 positions."""
    hiding = torch.zeros(2, 1, 1, 4)
    hiding[1, ..., 3] = float("-inf")
    parents = torch.randn(2, 4, 4).softmax(dim=-1)
    return {
        "plain": AttentionEdit(),
        "bias": AttentionEdit(bias=torch.randn(2, 3, 4, 4)),
        "scale": AttentionEdit(hiding, (HeadEdit((1, 2), scale=torch.rand(2, 2, 4, 4)),)),
        "own bias": AttentionEdit(hiding, (HeadEdit((1,), bias=torch.randn(2, 1, 4, 4)),)),
        "replace": AttentionEdit(hiding, (HeadEdit((0,), replace=lambda _: parents),)),
        "apart": AttentionEdit(hiding, (HeadEdit((2, 0), scale=torch.rand(2, 2, 4, 4)),)),
        "all": AttentionEdit(
            torch.randn(2, 3, 4, 4) + hiding,
            (
                HeadEdit((2,), scale=torch.rand(2, 1, 4, 4)),
                HeadEdit((0,), replace=lambda _: parents),
                HeadEdit((1,), bias=torch.randn(2, 1, 4, 4)),
            ),
        ),
    }[kind]


@pytest.mark.parametrize("kind", ["plain", "bias", "scale", "own bias", "replace", "apart", "all"])
def test_the_recorded_weights_are_those_of_the_layer(kind: str) -> None:
    """Multiplied by the values, they give the layer's output; with the identity as values, the output is the
    weights."""
    torch.manual_seed(0)
    module = SelfAttention(12, heads=3, dropout=0.5).eval()
    states, edit = torch.randn(2, 4, 12), random_edit(kind)
    with Recorder([module]) as recorder:
        recorded = module(states, edit)
    (weights,) = recorder.weights
    torch.testing.assert_close(recorded, module(states, edit))
    assert recorder.inputs == [states]
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 3, 4))
    value = split_heads(module.qkv(states).chunk(3, dim=-1)[2], 3)
    torch.testing.assert_close(module.out(merge_heads(weights @ value)), module(states, edit))
    query, key, _ = (split_heads(part, 3) for part in module.qkv(states).chunk(3, dim=-1))
    identity = torch.eye(4).expand(2, 3, 4, 4)
    torch.testing.assert_close(edited_attention(query, key, identity, edit, states, 0.0), weights)


def test_each_head_follows_its_own_edit() -> None:
    """The test computes each head from the definition."""
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 4, 5, 8).unbind(0)
    shared, own, factors = torch.randn(2, 1, 5, 5), torch.randn(2, 1, 5, 5), torch.rand(2, 2, 5, 5)
    replacement = torch.randn(2, 5, 5).softmax(dim=-1)
    edits = HeadEdit((3, 0), scale=factors), HeadEdit((2,), bias=own), HeadEdit((1,), replace=lambda _: replacement)
    found = edited_attention(query, key, value, AttentionEdit(shared, edits), torch.zeros(2, 5, 32), 0.0)
    logits = query @ key.transpose(-1, -2) / 8**0.5
    expected = [
        (logits[:, 0] * factors[:, 1] + shared[:, 0]).softmax(dim=-1),
        replacement,
        (logits[:, 2] + own[:, 0] + shared[:, 0]).softmax(dim=-1),
        (logits[:, 3] * factors[:, 0] + shared[:, 0]).softmax(dim=-1),
    ]
    torch.testing.assert_close(found, torch.stack(expected, dim=1) @ value)


def test_a_head_has_one_owner() -> None:
    first, second = HeadEdit((0, 1), scale=torch.ones(1, 1, 2, 2)), HeadEdit((1,), bias=torch.zeros(1, 1, 2, 2))
    with pytest.raises(ValueError, match="two edits of one head"):
        AttentionEdit(heads=(first,)) + AttentionEdit(heads=(second,))
    query = torch.randn(1, 1, 2, 4)
    with pytest.raises(ValueError, match="edits head 1, but there are only 1"):
        edited_attention(query, query, query, AttentionEdit(heads=(second,)), None, 0.0)


def test_a_recorder_can_stop_after_the_last_weights() -> None:
    torch.manual_seed(0)
    modules = [SelfAttention(8, heads=2, dropout=0.0) for _ in range(3)]
    with Recorder(modules[:2], stop=True) as recorder:
        states = torch.randn(1, 3, 8)
        for number, module in enumerate(modules):
            states = module(states)
            assert number < 1, "nothing is computed after the last weights"
    assert [weights.shape for weights in recorder.weights] == [(1, 2, 3, 3)] * 2
    assert all(module.recorder is None for module in modules)


def test_dropout_preserves_the_mean() -> None:
    """The mean over many draws of dropout equals `attend` without dropout, with a bias and with a causal mask."""
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 1, 2, 4, 8)
    hidden = torch.zeros(1, 1, 1, 4)
    hidden[..., 2] = float("-inf")
    for bias, causal in ((hidden, False), (None, True)):
        many = [each.expand(20_000, -1, -1, -1) for each in (query, key, value)]
        drawn = attend(many[0], many[1], many[2], bias, causal, dropout=0.3)
        whole = attend(query, key, value, bias, causal)
        torch.testing.assert_close(drawn.mean(dim=0, keepdim=True), whole, atol=0.03, rtol=0)
        assert (drawn[0] != drawn[1]).any()
