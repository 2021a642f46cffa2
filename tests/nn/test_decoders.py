"""Decoders of whole prefixes, compared with one prefix at a time."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from synmt.components.arcs import GRAPH, NEVER, graph
from synmt.data.corpus import Corpus
from synmt.model.translation import TranslationModel
from synmt.nn.attention import KeyCache
from synmt.nn.config import TransformerConfig
from synmt.text.vocabulary import Vocabulary
from tests import tiny
from tests.nn.slow_decoder import Edge, slow_state

CPU = torch.device("cpu")
BATCH = [2, 0, 3, 1]  # targets of different lengths
POST_NORM, ROTARY = replace(tiny.CONFIG, norm="post"), replace(tiny.CONFIG, positions="rotary")


def edges_of(corpus: Corpus, index: int) -> list[Edge]:
    row = corpus.targets[index]
    if not corpus.side.fields:
        return []
    found = graph({name: torch.tensor([row[name].tolist()]) for name in GRAPH})
    births, labels = found["births"][0], found["labels"][0]
    return [
        (parent, child, int(labels[child]), int(births[child, parent]))
        for child, parent in (births < NEVER).nonzero().tolist()
    ]


def model_of(target: str, vocabulary: Vocabulary, config: TransformerConfig = tiny.CONFIG) -> TranslationModel:
    return tiny.model("sequence", vocabulary, config, target=target)


@pytest.mark.parametrize("target", tiny.PREFIX_SYSTEMS)
@pytest.mark.parametrize("config", [tiny.CONFIG, POST_NORM, ROTARY, replace(tiny.CONFIG, decoder_layers=1)])
def test_packed_prefixes_equal_a_loop_over_prefixes(target: str, config: TransformerConfig) -> None:
    corpus, vocabulary = tiny.corpus("sequence", target)
    model = model_of(target, vocabulary, config)
    source, batch = corpus.batch(BATCH, CPU)
    encoded = model.encode(source)
    states, _ = model.decoder(model.network, batch, encoded)
    expected = {}
    for row, index in enumerate(BATCH):
        alone = model.encode(corpus.batch([index], CPU)[0])
        ids = [vocabulary.begin, *corpus.targets[index]["ids"].tolist()]
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
    states, _ = model.decoder(model.network, batch, encoded)
    for changed in range(1, batch.inputs.shape[1]):
        other = corpus.batch([0], CPU)[1]
        other.inputs[0, changed:] = 2
        for name, filler in model.decoder.fillers.items():
            other.fields[name][0, changed:] = filler
        after, _ = model.decoder(model.network, other, encoded)
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
        steps = model.decoder.start(network, encoded, 1)
        prefixes = torch.full((len(BATCH), 1, 1), vocabulary.begin)
        for _ in range(5):
            copies = torch.arange(len(encoded.states)).repeat_interleave(prefixes.shape[1])
            whole = model.decoder.read(network, prefixes.flatten(0, 1), {}, encoded.select(copies))[:, -1]
            torch.testing.assert_close(
                steps.logits(prefixes).flatten(0, 1), network.logits(whole), atol=1e-5, rtol=1e-5
            )
            count = prefixes.shape[1]
            kept = data.draw(st.lists(st.integers(0, len(encoded.states) - 1), min_size=1, unique=True))
            origins = [[row * count + data.draw(st.integers(0, count - 1)) for _ in range(beam)] for row in kept]
            tokens = torch.tensor(data.draw(st.lists(st.integers(2, 5), min_size=beam, max_size=beam)))
            steps.select(torch.tensor(kept), torch.tensor(origins).flatten())
            encoded = encoded.select(torch.tensor(kept))
            new = tokens.view(1, beam, 1).expand(len(kept), -1, -1)
            prefixes = torch.cat([prefixes.flatten(0, 1)[torch.tensor(origins)], new], dim=2)
