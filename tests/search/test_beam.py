from dataclasses import replace
from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from synmt.data.corpus import Corpus
from synmt.nn.config import Positions
from synmt.nn.prefixes import PrefixPlan
from synmt.search.beam import beam_search, largest
from synmt.search.config import SearchConfig
from synmt.text.vocabulary import END, UNKNOWN
from synmt.trees.arc_tokens import is_arc
from synmt.trees.record import check_heads
from synmt.trees.transitions import Constraints, TransitionError, read_transitions
from tests import tiny
from tests.search.slow_search import slow_arcs, slow_beam_search

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("system", "beam", "end_bias"),
    [(system, 2, 2.0) for system in tiny.SYSTEMS]
    + [(system, beam, bias) for system in ("sequence", "mask+pascal") for beam in (1, 2, 4) for bias in (-0.5, 2.0)],
)
def test_cached_batches_find_the_results_of_the_slow_search(system: str, beam: int, end_bias: float) -> None:
    """If the end of sentence is unlikely, searches reach their length limit; if it is likely, they do not."""
    sources, vocabulary = tiny.sources_and_vocabulary(system)
    model = tiny.model(system, vocabulary)
    model.network.output_bias.data[END] = end_bias
    config = SearchConfig(beam=beam, max_length_offset=4)
    batch = sources.batch([0, 1, 2, 3], vocabulary.padding, CPU)
    for index, found in enumerate(beam_search(model, batch, config)):
        expected = slow_beam_search(model, sources.batch([index], vocabulary.padding, CPU), config)
        assert [hypothesis.ids for hypothesis in found] == [hypothesis.ids for hypothesis in expected]
        assert [h.score for h in found] == pytest.approx([h.score for h in expected], abs=1e-4)


@pytest.mark.parametrize("target", tiny.TARGET_SYSTEMS)
@pytest.mark.parametrize("constraints", ["none", "legal", "strict"])
def test_every_target_side_matches_the_slow_search(target: str, constraints: Constraints) -> None:
    """Trees grow during the search, and sentences end at different times."""
    sources, vocabulary = tiny.sources_and_vocabulary("sequence", target)
    model = tiny.model("sequence", vocabulary, target=target, seed=3)
    model.network.output_bias.data[END] = 1.0
    side = tiny.TARGET_SYSTEMS[target]
    transitions = side.output(vocabulary)
    config = SearchConfig(beam=2, max_length_offset=2, constraints=constraints)
    batch = sources.batch([0, 1, 2], vocabulary.padding, CPU)
    for index, found in enumerate(beam_search(model, batch, config, transitions)):
        alone = sources.batch([index], vocabulary.padding, CPU)
        expected = slow_beam_search(model, alone, config, slow_arcs(side, vocabulary))
        assert [hypothesis.ids for hypothesis in found] == [hypothesis.ids for hypothesis in expected]
        assert [h.score for h in found] == pytest.approx([h.score for h in expected], abs=1e-4)


@pytest.mark.parametrize(
    "bounds",
    [
        {"no_repeat": 1},
        {"no_repeat": 1, "min_length_ratio": 20.0, "max_length_offset": 30},
        {"no_repeat": 2, "max_length_ratio": 1.5},
        {"min_length_ratio": 1.2},
        {"min_length_ratio": 3.0, "max_length_ratio": 1.3, "no_repeat": 3},
        {"max_length_ratio": 0.1},
    ],
)
@pytest.mark.parametrize("target", ["sequence", "bitran"])
def test_bounds_match_the_slow_search(bounds: dict[str, float], target: str) -> None:
    sources, vocabulary = tiny.sources_and_vocabulary("sequence", target)
    model = tiny.model("sequence", vocabulary, target=target, seed=3)
    for end_bias in (-1.0, 3.0):
        model.network.output_bias.data[END] = end_bias
        config = SearchConfig(**{"beam": 3, "max_length_offset": 4, **bounds})  # type: ignore[arg-type]
        batch = sources.batch([0, 1, 2, 3], vocabulary.padding, CPU)
        for index, found in enumerate(beam_search(model, batch, config)):
            expected = slow_beam_search(model, sources.batch([index], vocabulary.padding, CPU), config)
            assert [hypothesis.ids for hypothesis in found] == [hypothesis.ids for hypothesis in expected]
            assert [h.score for h in found] == pytest.approx([h.score for h in expected], abs=1e-4)


@pytest.mark.parametrize("systems", [("sequence", "mask"), ("lisa", "sequence", "linearized")])
@pytest.mark.parametrize("target", ["sequence", "bitran"])
def test_ensembles_match_the_slow_search(systems: tuple[str, ...], target: str) -> None:
    """Each model has its own form of the sources, and its own source vocabulary."""
    models, batches = [], []
    for seed, system in enumerate(systems):
        sources, vocabulary = tiny.sources_and_vocabulary(system)
        models.append(tiny.model(system, vocabulary, target=target if seed else "sequence", seed=seed))
        models[-1].network.output_bias.data[END] = 1.0
        batches.append([sources.batch(rows, vocabulary.padding, CPU) for rows in ([0, 1, 2, 3], [0], [1], [2], [3])])
    config = SearchConfig(beam=3, max_length_offset=3)
    whole, *alone = zip(*batches, strict=True)
    others = list(zip(models[1:], whole[1:], strict=True))
    for found, (own, *forms) in zip(beam_search(models[0], whole[0], config, None, others), alone, strict=True):
        pairs = list(zip(models[1:], forms, strict=True))
        expected = slow_beam_search(models[0], own, config, None, pairs)
        assert [hypothesis.ids for hypothesis in found] == [hypothesis.ids for hypothesis in expected]
        assert [h.log_probability for h in found] == pytest.approx([h.log_probability for h in expected], abs=1e-4)


@pytest.mark.parametrize("target", tiny.TREE_SYSTEMS)
@pytest.mark.parametrize("end_bias", [-20.0, 0.0, 3.0])
@pytest.mark.parametrize("max_length_offset", [0, 3])
def test_strict_translations_are_trees(target: str, end_bias: float, max_length_offset: int) -> None:
    """This holds for random models, whether they tend to end early or never."""
    sources, vocabulary = tiny.sources_and_vocabulary("sequence", target)
    side = tiny.TARGET_SYSTEMS[target]
    transitions = side.output(vocabulary)
    config = SearchConfig(beam=3, max_length_offset=max_length_offset)
    batch = sources.batch([0, 1, 2, 3], vocabulary.padding, CPU)
    for seed in range(5):
        model = tiny.model("sequence", vocabulary, target=target, seed=seed)
        model.network.output_bias.data[END] = end_bias
        for sentence, hypotheses in enumerate(beam_search(model, batch, config, transitions)):
            assert hypotheses
            for hypothesis in hypotheses:
                entries = tiny.string_of(target, vocabulary.decode(hypothesis.ids), hypothesis.labels)
                record = read_transitions(entries, side.style)
                check_heads(record.heads)
                assert record.heads.count(0) == 1
                assert (
                    sum(not is_arc(entry) for entry in entries) <= sources.rows[sentence]["words"] + max_length_offset
                )


def test_without_constraints_a_string_may_not_be_a_tree() -> None:
    sources, vocabulary = tiny.sources_and_vocabulary("sequence", "parent")
    side = tiny.TARGET_SYSTEMS["parent"]
    config = SearchConfig(beam=3, constraints="none", max_length_offset=3)
    faults = 0
    for seed in range(5):
        model = tiny.model("sequence", vocabulary, target="parent", seed=seed)
        batch = sources.batch([0, 1, 2, 3], vocabulary.padding, CPU)
        for hypotheses in beam_search(model, batch, config, side.output(vocabulary)):
            for hypothesis in hypotheses:
                try:
                    read_transitions(vocabulary.decode(hypothesis.ids), side.style)
                except TransitionError:
                    faults += 1
    assert faults


def test_ratios_of_lengths_are_decimal() -> None:
    """In binary, 1.1 · 50 is more than 55, and 1.4 · 45 less than 63."""
    assert [SearchConfig(min_length_ratio=1.1).shortest(words) for words in (49, 50, 51)] == [54, 55, 57]
    assert [SearchConfig(max_length_ratio=1.4).longest(words) for words in (44, 45, 46)] == [61, 63, 64]


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


@pytest.mark.parametrize("target", tiny.TARGET_SYSTEMS)
@pytest.mark.parametrize("positions", get_args(Positions))
def test_log_probabilities_equal_those_of_training(target: str, positions: Positions) -> None:
    """This holds even if the search forbids what the model finds likely: unknown tokens, an early end, an arc."""
    side = tiny.TARGET_SYSTEMS[target]
    sources, vocabulary = tiny.sources_and_vocabulary("sequence", target)
    model = tiny.model("sequence", vocabulary, replace(tiny.CONFIG, positions=positions), target=target)
    model.network.output_bias.data[END] = 3.0 if side.linearization.trees == "apart" else 1.0
    model.network.output_bias.data[UNKNOWN] = 2.0
    arcs = side.output(vocabulary)
    ended = 0
    config = SearchConfig(max_length_offset=8)
    for hypothesis in beam_search(model, sources.batch([0], vocabulary.padding, CPU), config, arcs)[0]:
        limit = int(sources.rows[0]["words"]) + config.max_length_offset
        entries = [vocabulary.target[number] for number in hypothesis.ids]
        if len(entries) == limit:  # no end of sentence
            continue
        only = Corpus.empty(vocabulary, side, PrefixPlan(0, 10_000))
        labels = {name: ["", *hypothesis.labels] for name in side.labels}
        only.append(tiny.source_features("sequence")[0], entries, labels)
        loss = float(model.loss(*only.batch([0], CPU)).translation.detach())
        assert hypothesis.log_probability == pytest.approx(-loss, abs=1e-4)
        ended += 1
    assert ended


def test_the_length_limit_counts_words_not_nodes() -> None:
    sources, vocabulary = tiny.sources_and_vocabulary("mask")
    model = tiny.model("mask", vocabulary)
    model.network.output_bias.data[END] = -50.0
    found = beam_search(model, sources.batch([0], vocabulary.padding, CPU), SearchConfig(max_length_offset=2))
    assert {len(hypothesis.ids) for hypothesis in found[0]} == {sources.rows[0]["words"] + 2}


@given(st.integers(1, 3000), st.integers(1, 12), st.integers(0, 2**31))
def test_the_largest_values_come_in_order(length: int, count: int, seed: int) -> None:
    torch.manual_seed(seed)
    count = min(count, length)
    values = torch.randn(2, 3, length)
    values[torch.rand(2, 3, length) < 0.5] = float("-inf")
    found, places = largest(values, count)
    torch.testing.assert_close(found, values.gather(2, places))
    for row, best, own in zip(*(each.flatten(0, 1).tolist() for each in (values, found, places)), strict=True):
        assert best == sorted(row, reverse=True)[:count]
        assert len(set(own)) == count
