"""`tags`: a word and its arcs in one step, against the definition."""

import pytest
import torch

from synmt.model.target import target_side
from synmt.text.vocabulary import UNKNOWN
from synmt.trees.tags import read_tag
from tests import tiny
from tests.systems.slow_tags import slow_log_probabilities, slow_tagged_states

CPU = torch.device("cpu")


def test_the_states_and_losses_are_those_of_the_definition() -> None:
    corpus, vocabulary = tiny.corpus("sequence", "tags")
    model = tiny.model("sequence", vocabulary, target="tags")
    tags = {number for number, entry in enumerate(vocabulary.target) if read_tag(entry)}
    source, batch = corpus.batch([2, 0, 3, 1], CPU)
    encoded = model.encode(source)
    with torch.no_grad():
        states = model.decoder(model.network, batch, encoded.states, encoded.bias)
        losses = model.loss(source, batch).each
    place = 0
    for index in (2, 0, 3, 1):
        gold = corpus.targets[index].tolist()
        alone = model.encode(corpus.batch([index], CPU)[0])
        expected = slow_tagged_states(model, [vocabulary.begin, *gold[:-1]], tags, alone)
        torch.testing.assert_close(states[place : place + len(gold)], expected, atol=1e-5, rtol=1e-5)
        for state, number in zip(expected, gold, strict=True):
            found = slow_log_probabilities(model, state, tags, number in tags)[number]
            assert float(losses[place]) == pytest.approx(-float(found), abs=1e-5)
            place += 1


def test_gradients_reach_every_parameter() -> None:
    corpus, vocabulary = tiny.corpus("mask", "tags")
    model = tiny.model("mask", vocabulary, target="tags").train()
    learning = model.loss(*corpus.batch([2, 0, 3, 1], CPU), smoothing=0.1)
    learning.total.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
    with torch.no_grad():
        scored = model.loss(*corpus.batch([2, 0, 3, 1], CPU), smoothing=0.1)
    torch.testing.assert_close(scored.translation, learning.translation.detach())


def test_word_dropout_leaves_tags() -> None:
    corpus, vocabulary = tiny.corpus("sequence", "tags")
    model = tiny.model("sequence", vocabulary, target="tags")
    seen = []
    model.decoder.register_forward_pre_hook(lambda _, given: seen.append(given[1].inputs))
    source, batch = corpus.batch([2, 0, 3, 1], CPU)
    model.loss(source, batch, word_dropout=0.999999)
    is_tag = torch.tensor([read_tag(entry) is not None for entry in vocabulary.target] + [False] * 99)[batch.inputs]
    assert is_tag.any()
    assert torch.equal(seen[0], torch.where(is_tag, batch.inputs, UNKNOWN))


def test_what_cannot_be() -> None:
    for ideas, arcs in (({"tags": {}, "bitran": {}}, None), ({"tags": {}}, {"root_arc": True})):
        with pytest.raises(ValueError, match="tags stand alone, and have one spelling"):
            target_side(ideas, arcs)
