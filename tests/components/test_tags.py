"""`tags`: words, and a tag for each that encodes the tree, compared with the definition."""

import pytest
import torch

from synmt.components.decoder.tags import read_tag
from synmt.components.output import Hypothesis
from synmt.data.corpus import Corpus
from synmt.model.source import source_side
from synmt.model.target import WORDS, target_side
from synmt.model.translation import TranslationModel
from synmt.search.beam import beam_search
from synmt.search.config import SearchConfig
from synmt.text.vocabulary import Vocabulary
from synmt.trees.arc_tokens import is_arc
from tests import tiny
from tests.components.slow_tags import slow_log_probabilities

CPU = torch.device("cpu")


def test_losses_match_the_definition() -> None:
    corpus, vocabulary = tiny.corpus("sequence", "tags")
    model = tiny.model("sequence", vocabulary, target="tags")
    with torch.no_grad():
        losses = model.loss(*corpus.batch([2, 0, 3, 1], CPU)).each.tolist()
    of_words, of_tags = [], []
    for index in (2, 0, 3, 1):
        gold, tags = corpus.targets[index]["ids"].tolist(), corpus.targets[index]["tag"].tolist()
        alone = model.encode(corpus.batch([index], CPU)[0])
        for known, (number, tag) in enumerate(zip(gold, tags, strict=True)):
            ids = [vocabulary.begin, *gold[:known]]
            of_words.append(-float(slow_log_probabilities(model, ids, alone, False)[number]))
            if tag:
                of_tags.append(-float(slow_log_probabilities(model, ids, alone, True)[tag - 1]))
    assert losses == pytest.approx([*of_words, *of_tags], abs=1e-5)


def test_words_equal_those_of_sequence() -> None:
    """With the same parameters, words have the same losses as in `sequence`, and beam search finds the same words."""
    corpus, vocabulary = tiny.corpus("sequence", "tags")
    model = tiny.model("sequence", vocabulary, target="tags")
    kept = [{name: row[name] for name in ("ids", "words")} for row in corpus.targets]
    words = Corpus(vocabulary, corpus.sources, kept, WORDS)
    plain = TranslationModel(tiny.CONFIG, source_side({"sequence": {}}), target_side({"sequence": {}}), vocabulary)
    of_words = {name: each for name, each in model.state_dict().items() if not name.startswith("decoder.heads")}
    plain.load_state_dict(of_words)
    with torch.no_grad():
        source, batch = corpus.batch([0, 1, 2, 3], CPU)
        losses = model.eval().loss(source, batch).each[: len(batch.gold)]
        torch.testing.assert_close(losses, plain.eval().loss(*words.batch([0, 1, 2, 3], CPU)).each)
    config = SearchConfig(beam=3, max_length_offset=2)
    ours, theirs = (beam_search(each, source, config) for each in (model, plain))
    assert [[each.ids for each in found] for found in ours] == [[each.ids for each in found] for found in theirs]


def test_a_translation_without_words_has_no_tags() -> None:
    """With `multitask`, a translation may consist of brackets."""
    corpus, vocabulary = tiny.corpus("sequence", "tags")
    model = tiny.model("sequence", vocabulary, target="tags")
    output = target_side({"tags": {}}).output(vocabulary)
    with torch.no_grad():
        encoded = model.encode(corpus.batch([0, 1], CPU)[0])
        for found in (
            [[Hypothesis([], -1.0, -1.0)], []],
            [[Hypothesis([], -1.0, -1.0)], [Hypothesis([2], -2.0, -2.0)]],
        ):
            (alone,), *_ = output.finished(model, encoded, "strict", found)
            assert (alone.ids, alone.log_probability) == ([], -1.0)


def test_the_share_applies_to_the_gradient() -> None:
    corpus, vocabulary = tiny.corpus("sequence", "tags")
    model = tiny.model("sequence", vocabulary, target="tags")
    batch = corpus.batch([2, 0, 3, 1], CPU)
    with torch.no_grad():
        each, words = model.loss(*batch).each, len(batch[1].gold)
    learning = model.loss(*batch)
    assert float(learning.translation.detach()) == pytest.approx(float(each.sum()), rel=1e-5)
    minimized = each[:words].sum() + 0.3 * each[words:].sum()
    assert float(learning.total.detach()) == pytest.approx(float(minimized), rel=1e-5)


def test_gradients_reach_every_parameter() -> None:
    corpus, vocabulary = tiny.corpus("mask", "tags")
    model = tiny.model("mask", vocabulary, target="tags").train()
    model.loss(*corpus.batch([2, 0, 3, 1], CPU), smoothing=0.1).total.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


def test_tags_are_labels_of_the_vocabulary() -> None:
    """A vocabulary without them is refused, such as that of a model whose tags were tokens."""
    _, vocabulary = tiny.corpus("sequence", "tags")
    side = target_side({"tags": {}})
    assert all(map(read_tag, vocabulary.labels["tag"])) and not any(map(is_arc, vocabulary.target))
    with pytest.raises(ValueError, match="the vocabulary has no labels of the field tag"):
        side.decoder(tiny.CONFIG, Vocabulary(vocabulary.target, vocabulary.source))


def test_invalid_options() -> None:
    for components, arcs, cause in (
        ({"tags": {}, "bitran": {}}, None, "tags.bitran cannot be combined, because one is causal"),
        ({"tags": {}, "compose": {}}, None, "tags.compose cannot be combined, because they write targets differently"),
        ({"tags": {}}, {"root_arc": True}, "tags writes no arcs, so split"),
    ):
        with pytest.raises(ValueError, match=cause):
            target_side(components, arcs)
