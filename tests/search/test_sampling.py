"""Random translations: their distribution, and that each depends only on its seed."""

from collections import Counter
from dataclasses import replace
from math import exp, sqrt

import pytest
import torch

from synmt.search.beam import beam_search
from synmt.search.config import SearchConfig
from synmt.text.vocabulary import END, UNKNOWN
from synmt.trees.transitions import read_transitions
from tests import tiny
from tests.search.slow_search import slow_beam_search

CPU = torch.device("cpu")
DRAW = SearchConfig(beam=1, sample=True, max_length_offset=4)


def drawn(count: int, config: SearchConfig, end_bias: float = 0.0) -> tuple[Counter[tuple[int, ...]], dict[int, float]]:
    """Return the samples for one sentence, and the probability of each first token by the scores of the slow search."""
    sources, vocabulary = tiny.sources_and_vocabulary("sequence")
    model = tiny.model("sequence", vocabulary)
    model.network.output_bias.data[END] = end_bias
    batch = sources.batch([0] * count, vocabulary.padding, CPU)
    found = beam_search(model, batch, config, seeds=range(count))
    one = replace(config, beam=len(vocabulary.target), sample=False, top_k=0, max_length_ratio=0.01)  # one token
    first = slow_beam_search(model, sources.batch([0], vocabulary.padding, CPU), one)
    assert all(len(each.ids) == 1 for each in first)
    return Counter(tuple(each.ids) for (each,) in found), {each.ids[0]: exp(each.log_probability) for each in first}


def test_tokens_are_sampled_in_proportion_to_their_probability() -> None:
    count = 3000
    found, probabilities = drawn(count, replace(DRAW, max_length_ratio=0.01))
    assert {len(ids) for ids in found} == {1}
    allowed = sum(p for token, p in probabilities.items() if token not in (END, UNKNOWN))
    for token, probability in probabilities.items():
        share = probability / allowed
        assert abs(found[(token,)] / count - share) < 5 * sqrt(share * (1 - share) / count)


def test_top_k_samples_only_the_likeliest() -> None:
    found, probabilities = drawn(200, replace(DRAW, max_length_ratio=0.01, top_k=2))
    best = sorted(probabilities, key=lambda token: -probabilities[token])
    assert {ids[0] for ids in found} == set([token for token in best if token not in (END, UNKNOWN)][:2])
    greedy, _ = drawn(5, replace(DRAW, top_k=1))
    sources, vocabulary = tiny.sources_and_vocabulary("sequence")
    model = tiny.model("sequence", vocabulary)
    model.network.output_bias.data[END] = 0.0
    searched = slow_beam_search(
        model, sources.batch([0], vocabulary.padding, CPU), SearchConfig(beam=1, max_length_offset=4)
    )
    assert list(greedy) == [tuple(searched[0].ids)]


@pytest.mark.parametrize("target", ["sequence", "transitions", "tags", "gcn"])
def test_samples_do_not_depend_on_other_sentences(target: str) -> None:
    sources, vocabulary = tiny.sources_and_vocabulary("sequence", target)
    model = tiny.model("sequence", vocabulary, target=target, seed=3)
    model.network.output_bias.data[END] = 1.0
    side = tiny.TARGET_SYSTEMS[target]
    arcs = side.output(vocabulary)
    seeds = [11, 12, 13, 14]
    batch = sources.batch([0, 1, 2, 0], vocabulary.padding, CPU)
    together = [each for (each,) in beam_search(model, batch, DRAW, arcs, seeds=seeds)]
    for place, sentence in enumerate([0, 1, 2, 0]):
        alone = sources.batch([sentence], vocabulary.padding, CPU)
        ((found,),) = beam_search(model, alone, DRAW, arcs, seeds=[seeds[place]])
        assert found.ids == together[place].ids
        assert found.log_probability == pytest.approx(together[place].log_probability, abs=1e-4)
        if side.linearization.trees:
            read_transitions(tiny.string_of(target, vocabulary.decode(found.ids), found.labels), side.style)
    assert together[0].ids != together[3].ids
