"""A Recorder stores attention weights, and can stop a run after the last of them."""

import torch
from torch import nn

from synmt.nn.attention import CrossAttention, Edit, Recorder, SelfAttention


def test_recorded_cross_attention_is_the_one_used() -> None:
    torch.manual_seed(0)
    module = CrossAttention(8, heads=2, dropout=0.0).eval()
    states, encoded = torch.randn(3, 5, 8), torch.randn(3, 4, 8)
    bias = torch.zeros(3, 1, 1, 4)
    bias[1, :, :, 2:] = float("-inf")
    memory = module.memory(encoded)
    with Recorder([module]) as recorder:
        shown = module(states, memory, Edit(bias))
    (weights,) = recorder.weights
    assert torch.equal(recorder.inputs[0], states)
    assert weights[1, :, :, 2:].count_nonzero() == 0
    torch.testing.assert_close(weights.sum(dim=3), torch.ones(3, 2, 5))
    torch.testing.assert_close(module.out((weights @ memory[1]).transpose(1, 2).flatten(2)), shown)
    torch.testing.assert_close(module(states, memory, Edit(bias)), shown)


def test_a_stopped_run_ends_after_the_last_weights() -> None:
    torch.manual_seed(0)
    layers = nn.ModuleList(SelfAttention(8, heads=2, dropout=0.0) for _ in range(3)).eval()
    states = torch.randn(2, 4, 8)
    ran = []

    def run() -> None:
        inputs = states
        for number, layer in enumerate(layers):
            inputs = layer(inputs)
            ran.append(number)

    with Recorder(layers[:2]) as whole:
        run()
    assert ran == [0, 1, 2]
    with Recorder(layers[:2], stop=True) as stopped:
        run()
    assert ran == [0, 1, 2, 0]
    for each, other in zip(whole.weights, stopped.weights, strict=True):
        assert torch.equal(each, other)
    run()  # nothing is recorded outside the context
    assert len(stopped.weights) == 2
    assert ran == [0, 1, 2, 0, 0, 1, 2]
