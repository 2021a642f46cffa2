import pytest
import torch
from torch import Tensor

from synmt.nn.attention import (
    Edit,
    KeyCache,
    Recorder,
    Replacement,
    SelfAttention,
    attend,
    edited_attention,
    merge_heads,
    safe,
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


def random_edit(kind: str) -> Edit:
    """Return a random edit for 2 sentences, 3 heads and 4 positions."""
    hiding = torch.zeros(2, 1, 1, 4)
    hiding[1, ..., 3] = float("-inf")
    parents = torch.randn(2, 2, 4, 4).softmax(dim=-1)
    nothing = torch.zeros(2, 3, 4, 4)
    nothing[0, 1, 2] = float("-inf")
    return {
        "plain": Edit(),
        "bias": Edit(torch.randn(2, 3, 4, 4)),
        "scale": Edit(hiding, torch.rand(2, 3, 4, 4)),
        "replaced": Edit(hiding, replaced=(Replacement((2, 0), lambda _: parents),)),
        "blind": safe(Edit(nothing)),
        "all": safe(Edit(hiding + nothing, torch.rand(2, 1, 4, 4), (Replacement((2, 0), lambda _: parents),))),
    }[kind]


@pytest.mark.parametrize("kind", ["plain", "bias", "scale", "replaced", "blind", "all"])
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
    expected = torch.ones(2, 3, 4)
    if kind in ("blind", "all"):
        expected[0, 1, 2] = 0
    torch.testing.assert_close(weights.sum(dim=-1), expected)
    value = split_heads(module.qkv(states).chunk(3, dim=-1)[2], 3)
    torch.testing.assert_close(module.out(merge_heads(weights @ value)), module(states, edit))
    query, key, _ = (split_heads(part, 3) for part in module.qkv(states).chunk(3, dim=-1))
    identity = torch.eye(4).expand(2, 3, 4, 4)
    torch.testing.assert_close(edited_attention(query, key, identity, edit, states, 0.0), weights)


@pytest.mark.parametrize("rate", [0.0, 0.5])
@pytest.mark.parametrize("kind", ["blind", "all"])
def test_a_query_that_sees_no_key_is_safe(kind: str, rate: float) -> None:
    """Its output is 0 and its gradients are finite, with and without dropout."""
    torch.manual_seed(0)
    inputs = [torch.randn(2, 3, 4, 8, requires_grad=True) for _ in range(3)]
    found = edited_attention(inputs[0], inputs[1], inputs[2], random_edit(kind), torch.zeros(2, 4, 24), rate)
    assert not found[0, 1, 2].any()
    found.square().sum().backward()
    assert all(each.grad is not None and each.grad.isfinite().all() for each in inputs)


def test_attention_under_an_edit_equals_its_definition() -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 4, 5, 8).unbind(0)
    bias, scale, weights = torch.randn(2, 1, 5, 5), torch.rand(2, 4, 5, 5), torch.randn(2, 1, 5, 5).softmax(dim=-1)
    edit = Edit(bias, scale, (Replacement((1,), lambda _: weights),))
    found = edited_attention(query, key, value, edit, torch.zeros(2, 5, 32), 0.0)
    logits = query @ key.transpose(-1, -2) / 8**0.5 * scale + bias
    expected = logits.softmax(dim=-1)
    expected[:, 1] = weights[:, 0]
    torch.testing.assert_close(found, expected @ value)


def test_a_recorder_can_stop_after_the_last_weights() -> None:
    torch.manual_seed(0)
    modules = [SelfAttention(8, heads=2, dropout=0.0) for _ in range(3)]
    with Recorder(modules[:2], stop=True) as recorder:
        states = torch.randn(1, 3, 8)
        for number, module in enumerate(modules):
            states = module(states)
            assert number < 1, "nothing is computed after the last weights"
    assert [weights.shape for weights in recorder.weights] == [(1, 2, 3, 3)] * 2
    assert all(module.recorders == () for module in modules)


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
