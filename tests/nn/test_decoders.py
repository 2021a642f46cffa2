"""Decoders of whole prefixes, compared with one prefix at a time."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from synmt.data.corpus import Corpus
from synmt.ideas.target.arcs.graph import COLUMNS
from synmt.model.translation import TranslationModel
from synmt.nn.attention import PLAIN, AttentionEdit, HeadWatch, KeyCache, Recorder
from synmt.nn.config import TransformerConfig
from synmt.nn.decoders import CausalDecoder, DecoderPass, TargetBatch
from synmt.text.vocabulary import Vocabulary
from tests import tiny
from tests.nn.slow_decoder import Edge, slow_state

CPU = torch.device("cpu")
BATCH = [2, 0, 3, 1]  # targets of different lengths
POST_NORM, ROTARY = replace(tiny.CONFIG, norm="post"), replace(tiny.CONFIG, positions="rotary")


def edges_of(corpus: Corpus, index: int) -> list[Edge]:
    if not corpus.columns:
        return []
    return list(zip(*(corpus.columns[name][index].tolist() for name in COLUMNS), strict=True))


def model_of(target: str, vocabulary: Vocabulary, config: TransformerConfig = tiny.CONFIG) -> TranslationModel:
    return tiny.model("sequence", vocabulary, config, target=target)


@pytest.mark.parametrize("target", tiny.PREFIX_SYSTEMS)
@pytest.mark.parametrize("config", [tiny.CONFIG, POST_NORM, ROTARY, replace(tiny.CONFIG, decoder_layers=1)])
def test_packed_prefixes_equal_a_loop_over_prefixes(target: str, config: TransformerConfig) -> None:
    corpus, vocabulary = tiny.corpus("sequence", target)
    model = model_of(target, vocabulary, config)
    source, batch = corpus.batch(BATCH, CPU)
    encoded = model.encode(source)
    states, _ = model.decoder(model.network, batch, encoded.states, encoded.bias)
    expected = {}
    for row, index in enumerate(BATCH):
        alone = model.encode(corpus.batch([index], CPU)[0])
        ids = [vocabulary.begin, *corpus.targets[index].tolist()]
        for length in range(1, len(ids)):
            state = slow_state(model, ids[:length], edges_of(corpus, index), alone)
            expected[row * batch.inputs.shape[1] + length - 1] = state
    assert sorted(expected) == sorted(batch.positions.tolist())
    for position, state in zip(batch.positions.tolist(), states, strict=True):
        torch.testing.assert_close(state, expected[position], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("target", tiny.TARGET_SYSTEMS)
def test_later_tokens_change_no_earlier_prediction(target: str) -> None:
    """Neither a later token nor its arcs change an earlier prediction."""
    corpus, vocabulary = tiny.corpus("sequence", target)
    model = model_of(target, vocabulary)
    source, batch = corpus.batch([0], CPU)
    encoded = model.encode(source)
    states, _ = model.decoder(model.network, batch, encoded.states, encoded.bias)
    for changed in range(1, batch.inputs.shape[1]):
        other = corpus.batch([0], CPU)[1]
        other.inputs[0, changed:] = 2
        if "edge births" in other.columns:
            late = other.columns["edge births"] >= changed
            other.columns["edge labels"][late] = (other.columns["edge labels"][late] + 1) % 2
            other.columns["edge births"][late] = changed
        after, _ = model.decoder(model.network, other, encoded.states, encoded.bias)
        before_it = batch.positions < changed
        torch.testing.assert_close(after[before_it], states[before_it])
        assert not torch.allclose(after[~before_it], states[~before_it])


def test_with_one_layer_bitran_is_causal() -> None:
    for layers, same in ((1, True), (2, False)):
        config = replace(tiny.CONFIG, decoder_layers=layers)
        losses = []
        for target in ("sequence", "bitran"):
            corpus, vocabulary = tiny.corpus("sequence", target)
            losses.append(model_of(target, vocabulary, config).loss(*corpus.batch(BATCH, CPU)).translation)
        assert torch.allclose(losses[0], losses[1], atol=1e-4) == same


@pytest.mark.parametrize("target", tiny.PREFIX_SYSTEMS)
def test_gradients_reach_every_parameter(target: str) -> None:
    corpus, vocabulary = tiny.corpus("mask", target)
    model = tiny.model("mask", vocabulary, target=target).train()
    model.loss(*corpus.batch(BATCH, CPU), smoothing=0.1).total.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


@given(st.data(), st.sampled_from([1, 2, 3]), st.integers(1, 3))
def test_cached_hypotheses_equal_whole_prefixes(data: st.DataObject, beam: int, room: int) -> None:
    """A search with caches gives the same as decoding each whole prefix, whichever hypotheses continue and whichever
    sentences are done."""
    corpus, vocabulary = tiny.corpus("sequence")
    model = model_of("sequence", vocabulary)
    network, (source, _) = model.network, corpus.batch(BATCH, CPU)
    with torch.inference_mode(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(KeyCache, "CHUNK", room)
        encoded = model.encode(source)
        states, bias = encoded.states, encoded.bias
        assert bias is not None
        steps = model.decoder.start(network, states, bias, 1)
        prefixes = torch.full((len(BATCH), 1, 1), vocabulary.begin)
        for _ in range(5):
            each = (part.repeat_interleave(prefixes.shape[1], dim=0) for part in (states, bias))
            whole = model.decoder.read(network, prefixes.flatten(0, 1), {}, *each)[:, -1]
            torch.testing.assert_close(
                steps.logits(prefixes).flatten(0, 1), network.logits(whole), atol=1e-5, rtol=1e-5
            )
            count = prefixes.shape[1]
            kept = data.draw(st.lists(st.integers(0, len(states) - 1), min_size=1, unique=True))
            origins = [[row * count + data.draw(st.integers(0, count - 1)) for _ in range(beam)] for row in kept]
            tokens = torch.tensor(data.draw(st.lists(st.integers(2, 5), min_size=beam, max_size=beam)))
            steps.select(torch.tensor(kept), torch.tensor(origins).flatten())
            states, bias = states[kept], bias[kept]
            new = tokens.view(1, beam, 1).expand(len(kept), -1, -1)
            prefixes = torch.cat([prefixes.flatten(0, 1)[torch.tensor(origins)], new], dim=2)


class Watching(nn.Module):
    """Watches the first head of the second layer, and trains each position to attend to itself."""

    reads = ""

    def forward(self, nothing: None, queries: Tensor, target: TargetBatch | None = None) -> DecoderPass:
        self.watch = HeadWatch(0)
        run = DecoderPass([PLAIN, AttentionEdit(watches=(self.watch,))])
        if target is not None:
            run.losses.append(lambda states: -self.watch.logits().log_softmax(dim=2).diagonal(dim1=1, dim2=2).sum())
            run.accuracies["itself"] = lambda states: (int(states.isfinite().all()), 1)
        return run


@pytest.mark.parametrize("target", ["sequence", "transitions", "tags", "compose"])
def test_a_loss_can_watch_a_head_that_no_idea_owns(target: str) -> None:
    """The loss sees the weights that the layer uses, including hidden positions. Its gradients reach the layer, and
    translations stay the same."""
    corpus, vocabulary = tiny.corpus("sequence", target)
    model = model_of(target, vocabulary)
    assert isinstance(model.decoder, CausalDecoder)
    source, batch = corpus.batch(BATCH, CPU)
    plain = model.loss(source, batch)
    part = Watching()
    model.decoder = CausalDecoder(
        {**model.decoder.parts, "watching": part}, model.decoder.readings, model.decoder.unread, model.decoder.share
    )
    watched = model.loss(source, batch)
    torch.testing.assert_close(watched.translation, plain.translation)
    extra = -part.watch.logits().log_softmax(dim=2).diagonal(dim1=1, dim2=2).sum()
    torch.testing.assert_close(watched.total - plain.total, extra)
    assert [count() for count in watched.accuracies.values()] == [(1, 1)]
    encoded = model.encode(source)
    with Recorder([model.network.decoder_layers[1].attention]) as recorder:
        model.decoder(model.network, batch, encoded.states, encoded.bias)
    torch.testing.assert_close(part.watch.logits().softmax(dim=2), recorder.weights[0][:, 0])
    extra.backward()
    gradient = model.network.decoder_layers[1].attention.qkv.weight.grad
    assert gradient is not None and gradient.abs().sum() > 0


def test_accuracies_with_the_same_name_are_refused() -> None:
    corpus, vocabulary = tiny.corpus("sequence")
    model = model_of("sequence", vocabulary)
    model.decoder = CausalDecoder({"one": Watching(), "other": Watching()})
    with pytest.raises(ValueError, match="two accuracies are called itself"):
        model.loss(*corpus.batch(BATCH, CPU))
