import pytest
import torch

from synmt.decoding.beam import SearchConfig, beam_search
from synmt.text.vocabulary import END, UNKNOWN
from tests import tiny
from tests.decoding.slow_search import slow_beam_search

CPU = torch.device("cpu")


@pytest.mark.parametrize("system", tiny.SYSTEMS)
@pytest.mark.parametrize("beam", [1, 2, 4])
@pytest.mark.parametrize("end_bias", [-0.5, 2.0])
def test_a_batch_with_caches_finds_what_the_slow_search_finds(system: str, beam: int, end_bias: float) -> None:
    """With a dear end of sentence the searches run into their length limit, with a cheap one they do not."""
    sources, vocabulary = tiny.sources_and_vocabulary(system)
    model = tiny.model(system, vocabulary)
    model.network.output_bias.data[END] = end_bias
    config = SearchConfig(beam=beam, extra_length=4)
    batch = sources.batch([0, 1, 2, 3], vocabulary.padding, CPU)
    for index, found in enumerate(beam_search(model, batch, config)):
        expected = slow_beam_search(model, sources.batch([index], vocabulary.padding, CPU), config)
        assert [hypothesis.ids for hypothesis in found] == [hypothesis.ids for hypothesis in expected]
        assert [h.score for h in found] == pytest.approx([h.score for h in expected], abs=1e-4)


def test_length_penalties() -> None:
    gnmt = SearchConfig()
    assert [gnmt.penalty(length) for length in (1, 10, 20)] == pytest.approx([1, 1.732862, 2.354362], abs=1e-6)
    plain = SearchConfig(length_penalty="plain", alpha=1.0)
    assert plain.penalty(7) == 7
    assert SearchConfig(alpha=0.0).penalty(33) == 1


def test_neither_unknown_nor_empty_translations() -> None:
    sources, vocabulary = tiny.sources_and_vocabulary("sequence")
    model = tiny.model("sequence", vocabulary)
    model.network.output_bias.data[END] = 20.0
    model.network.output_bias.data[UNKNOWN] = 10.0
    found = beam_search(model, sources.batch([0, 1], vocabulary.padding, CPU), SearchConfig())
    for hypotheses in found:
        for hypothesis in hypotheses:
            assert hypothesis.ids
            assert UNKNOWN not in hypothesis.ids
            assert END not in hypothesis.ids


def test_the_limit_counts_words_not_nodes() -> None:
    sources, vocabulary = tiny.sources_and_vocabulary("mask")
    model = tiny.model("mask", vocabulary)
    model.network.output_bias.data[END] = -50.0
    found = beam_search(model, sources.batch([0], vocabulary.padding, CPU), SearchConfig(extra_length=2))
    assert {len(hypothesis.ids) for hypothesis in found[0]} == {sources.words[0] + 2}
