from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from synmt.alignment.published.mask_align.decoder import Sight, StaticDecoder
from synmt.nn.attention import CrossAttention, Edit, Recorder
from synmt.nn.config import TransformerConfig

CONFIG = TransformerConfig(
    width=16,
    feedforward=32,
    encoder_layers=1,
    decoder_layers=3,
    heads=2,
    cross_attention="last",
    dropout=0.0,
    attention_dropout=0.0,
    activation_dropout=0.0,
)


def random_decoder(causal: bool = False, **config: Any) -> StaticDecoder:
    torch.manual_seed(1)
    decoder = StaticDecoder(replace(CONFIG, **config), causal, leaky=True).eval()
    for parameter in decoder.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return decoder


def run(
    decoder: StaticDecoder, queries: Tensor, words: Tensor, padding: Tensor | None, encoded: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the states, and the mean weights of the last layer's attention to the source."""
    with Recorder([decoder.last_crossing]) as recorder:
        states = decoder(queries, words, padding, encoded, None)
    return states, recorder.weights[0].mean(dim=1)


def seen(padding: Tensor | None, length: int) -> list[list[list[int]]]:
    words = torch.zeros(1 if padding is None else len(padding), length, 4)
    return (Sight(padding, words).bias[:, 0] == 0).int().tolist()


def test_each_position_sees_all_other_words() -> None:
    padding = torch.tensor([[False, False, False, True]])
    assert seen(padding, 4) == [[[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0], [1, 1, 1, 0]]]
    assert seen(None, 2) == [[[0, 1], [1, 0]]]


def test_a_worked_leak() -> None:
    """The leak has the logit 0.3, the source has 1.2, −0.4 and 0.1; a further position is padding."""
    attention = CrossAttention(width=2, heads=1, dropout=0.0, leaky=True)
    assert attention.leak is not None
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.zero_()
        attention.query.bias[0] = 2**0.5  # the scale of a head with two channels
        attention.kv.weight[0, 0] = 1.0
        attention.leak[0, 0] = 0.3
    encoded = torch.tensor([[[1.2, 0.0], [-0.4, 0.0], [0.1, 0.0], [9.0, 0.0]]])
    bias = torch.tensor([0.0, 0.0, 0.0, float("-inf")]).view(1, 1, 1, 4)
    expected = torch.tensor([[[0.515109, 0.103999, 0.171465, 0.0]]])
    with Recorder([attention]) as recorder:
        attention(torch.zeros(1, 1, 2), attention.memory(encoded), Edit(bias))
    torch.testing.assert_close(recorder.weights[0][:, 0], expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("crosses", ["last", "all"])
def test_a_word_never_reaches_its_own_prediction(norm: str, crosses: str) -> None:
    decoder = random_decoder(norm=norm, cross_attention=crosses)
    queries, words, encoded = torch.randn(2, 5, 16), torch.randn(2, 5, 16), torch.randn(2, 4, 16)
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    states, weights = run(decoder, queries, words, padding, encoded)
    for position in range(5):
        changed = words.clone()
        changed[:, position] = torch.randn(2, 16)
        other_states, other_weights = run(decoder, queries, changed, padding, encoded)
        assert torch.equal(other_states[:, position], states[:, position])
        assert torch.equal(other_weights[:, position], weights[:, position])
        others = [i for i in range(5) if i != position]
        assert not torch.isclose(other_states[0, others], states[0, others]).all(dim=1).any()


def test_a_causal_position_sees_only_earlier_words() -> None:
    decoder = random_decoder(causal=True)
    words, encoded = torch.randn(1, 5, 16), torch.randn(1, 4, 16)
    states = decoder(words, words, None, encoded, None)
    changed = words.clone()
    changed[:, 2] = torch.randn(16)
    other = decoder(changed, changed, None, encoded, None)
    assert torch.equal(other[:, :2], states[:, :2])
    assert not torch.isclose(other[:, 2:], states[:, 2:]).all(dim=2).any()


def test_a_sentence_of_one_word_sees_nothing() -> None:
    """This holds alone or in a batch with longer sentences, and with a gradient."""
    decoder = random_decoder()
    words = torch.randn(2, 3, 16, requires_grad=True)
    queries, encoded = torch.randn(2, 3, 16), torch.randn(2, 4, 16)
    padding = torch.tensor([[False, True, True], [False, False, False]])
    states = decoder(queries, words, padding, encoded, None)
    states[0, 0].sum().backward(retain_graph=True)
    assert words.grad is not None and torch.equal(words.grad, torch.zeros_like(words))
    alone = decoder(queries[:1, :1], words[:1, :1], None, encoded[:1], None)
    torch.testing.assert_close(alone[0, 0], states[0, 0])
    states.sum().backward()
    assert words.grad.isfinite().all()


def test_weights_alone_equal_those_of_the_full_pass() -> None:
    decoder = random_decoder()
    queries, words, encoded = torch.randn(2, 5, 16), torch.randn(2, 5, 16), torch.randn(2, 4, 16)
    states, weights = run(decoder, queries, words, None, encoded)
    torch.testing.assert_close(decoder(queries, words, None, encoded, None), states)
    with Recorder([decoder.last_crossing], stop=True) as recorder:
        decoder(queries, words, None, encoded, None)
    torch.testing.assert_close(recorder.weights[0].mean(dim=1), weights)
    assert (weights.sum(dim=2) < 1).all()


def test_with_full_context_a_position_sees_its_own_word() -> None:
    decoder = random_decoder()
    queries, words, encoded = torch.randn(1, 3, 16), torch.randn(1, 3, 16), torch.randn(1, 4, 16)
    for length in (1, 3):
        changed = words.clone()
        changed[:, 0] = torch.randn(16)
        rows = queries[:, :length], words[:, :length], changed[:, :length]
        states, other = (decoder(rows[0], each, None, encoded, None, full=True) for each in rows[1:])
        assert not torch.isclose(other, states).all(dim=2).any()


def test_keys_and_values_of_all_layers_are_one_product() -> None:
    decoder = random_decoder()
    words = torch.randn(1, 5, 16)
    assert decoder.kv is not None
    for layer, memory in enumerate(decoder._memories(words)):
        assert memory is not None
        for kind, found in enumerate(memory):
            rows = slice((2 * layer + kind) * 16, (2 * layer + kind + 1) * 16)
            own = words @ decoder.kv.weight[rows].t() + decoder.kv.bias[rows]
            torch.testing.assert_close(found.transpose(1, 2).flatten(2), own)
