"""Laws that hold for every system."""

from dataclasses import replace
from typing import get_args

import pytest
import torch

from synmt.model.translation import TranslationModel
from synmt.nn.attention import Recorder, SelfAttention, merge_heads, split_heads
from synmt.nn.config import Positions
from synmt.nn.transformer import EncoderLayer
from synmt.text.vocabulary import UNKNOWN
from tests import tiny

CPU = torch.device("cpu")
pytestmark = pytest.mark.parametrize("system", tiny.SYSTEMS)


def encoded(model: TranslationModel, indices: list[int], system: str) -> torch.Tensor:
    sources, vocabulary = tiny.sources_and_vocabulary(system)
    return model.encode(sources.batch(indices, vocabulary.padding, CPU)).states


def test_padding_changes_nothing(system: str) -> None:
    sources, vocabulary = tiny.sources_and_vocabulary(system)
    model = tiny.model(system, vocabulary)
    together = encoded(model, [0, 1, 2, 3], system)
    for index, row in enumerate(sources.rows):
        alone = encoded(model, [index], system)
        torch.testing.assert_close(together[index, : len(row["ids"])], alone[0], atol=1e-5, rtol=1e-5)


def test_the_loss_of_a_batch_is_the_sum_over_its_sentences(system: str) -> None:
    data, vocabulary = tiny.corpus(system)
    model = tiny.model(system, vocabulary)
    together = model.loss(*data.batch([0, 1, 2, 3], CPU), smoothing=0.1).total
    alone = [model.loss(*data.batch([index], CPU), smoothing=0.1).total for index in range(4)]
    torch.testing.assert_close(together, torch.stack(alone).sum(), atol=1e-4, rtol=1e-5)


def test_later_target_tokens_change_no_earlier_state(system: str) -> None:
    data, vocabulary = tiny.corpus(system)
    model = tiny.model(system, vocabulary)
    source, target = data.batch([0], CPU)
    before = model.encode(source)
    states = model.network.decode(model.network.embed(target.inputs), before.states, before.cross)
    target.inputs[0, 3] = 4
    changed = model.network.decode(model.network.embed(target.inputs), before.states, before.cross)
    torch.testing.assert_close(states[:, :3], changed[:, :3])
    assert not torch.allclose(states[:, 3:], changed[:, 3:])


@pytest.mark.parametrize("positions", get_args(Positions))
def test_cached_steps_equal_the_whole_decoder(system: str, positions: Positions) -> None:
    data, vocabulary = tiny.corpus(system)
    model = tiny.model(system, vocabulary, replace(tiny.CONFIG, positions=positions))
    source, target = data.batch([0, 1, 3], CPU)
    source_states = model.encode(source)
    network = model.network
    states = network.decode(network.embed(target.inputs), source_states.states, source_states.cross)
    logits = network.logits(states)
    caches = network.start(source_states.states)
    for position in range(target.inputs.shape[1]):
        embedded = network.embed(target.inputs[:, position : position + 1], position)
        step = network.logits(network.step(embedded, caches, source_states.cross, position))
        torch.testing.assert_close(step[:, 0], logits[:, position], atol=1e-5, rtol=1e-5)


def test_source_only_tokens_are_never_generated(system: str) -> None:
    _, vocabulary = tiny.corpus(system)
    model = tiny.model(system, vocabulary)
    assert model.network.output_weight.shape[0] == len(vocabulary.target)
    assert len(vocabulary.target) < len(vocabulary)


def test_word_dropout_replaces_all_words_at_rate_1(system: str) -> None:
    """With rate 1, all tokens become unknown except the marks of the task, and the structure stays."""
    sources, vocabulary = tiny.sources_and_vocabulary(system)
    model = tiny.model(system, vocabulary)
    batch = sources.batch([0], vocabulary.padding, CPU)
    dropped = model.encode(batch, word_dropout=1.0).states
    known = {vocabulary.ids[mark] for mark in (" <translate>", " <parse>") if mark in vocabulary.ids}
    marks = torch.isin(batch.ids, torch.tensor(sorted(known), dtype=torch.int64))
    assert int(marks.sum()) == (2 if "multitask" in tiny.SYSTEMS[system] else 0)
    batch.ids[~marks] = UNKNOWN
    torch.testing.assert_close(dropped, model.encode(batch).states)


def test_the_recorded_attention_is_that_of_each_layer(system: str) -> None:
    sources, vocabulary = tiny.sources_and_vocabulary(system)
    model = tiny.model(system, vocabulary)
    batch = sources.batch([0, 1, 2, 3], vocabulary.padding, CPU)
    seen: list[tuple[SelfAttention, torch.Tensor, torch.Tensor]] = []
    layers = [layer for layer in model.network.encoder.layers if isinstance(layer, EncoderLayer)]
    for layer in layers:
        layer.attention.register_forward_hook(lambda module, given, out: seen.append((module, given[0], out)))
    model.encode(batch)
    plain = list(seen)
    with Recorder([layer.attention for layer in layers]) as recorder:
        recorded = model.encode(batch)
    torch.testing.assert_close(recorded.states, model.encode(batch).states, atol=1e-5, rtol=1e-5)
    for (module, states, output), weights in zip(plain, recorder.weights, strict=True):
        assert weights.shape == (4, tiny.CONFIG.heads, *batch.ids.shape[1:], *batch.ids.shape[1:])
        assert batch.padding is not None
        assert not weights[batch.padding[:, None, None, :].expand_as(weights)].any()
        value = split_heads(module.qkv(states).chunk(3, dim=-1)[2], tiny.CONFIG.heads)
        torch.testing.assert_close(module.out(merge_heads(weights @ value)), output)


def test_post_norm_changes_the_network(system: str) -> None:
    from dataclasses import replace

    _, vocabulary = tiny.corpus(system)
    post = tiny.model(system, vocabulary, replace(tiny.CONFIG, norm="post"))
    states = encoded(post, [0], system)
    # With post-norm, each layer ends in a norm with weight 1 and a bias, which is random here.
    last = post.network.encoder.layers[-1]
    assert isinstance(last, EncoderLayer)
    bias = last.feedforward_residual.norm.bias
    torch.testing.assert_close((states - bias).mean(dim=-1), torch.zeros(1, states.shape[1]), atol=1e-5, rtol=0)
