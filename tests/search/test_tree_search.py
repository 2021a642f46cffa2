"""A beam of words, compared with the slow search and with all possible translations."""

import math
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path

import pytest
import torch

from synmt.components.output import ArcOutput
from synmt.nn.config import Positions
from synmt.search.config import SearchConfig, TranslateConfig
from synmt.search.scores import ForcedPair, force, force_words
from synmt.search.translation import Translator
from synmt.search.tree_search import sums_over_strings, tree_search
from synmt.text.vocabulary import END
from synmt.trees.record import check_heads
from synmt.trees.transitions import Constraints, TransitionError, read_transitions
from tests import tiny
from tests.inspection.models import write_model
from tests.search.slow_search import SlowArcs
from tests.search.slow_tree_search import all_translations, slow_tree_search

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("target", "positions"), [*((each, "sinusoidal") for each in tiny.WAITING_SYSTEMS), ("transitions", "rotary")]
)
@pytest.mark.parametrize(("constraints", "end_bias"), [("strict", 1.0), ("none", -2.0), ("legal", 2.0)])
def test_cached_batches_find_the_results_of_the_slow_search(
    target: str, positions: Positions, constraints: Constraints, end_bias: float
) -> None:
    """Sentences end at different times, and hypotheses of different lengths are in one batch."""
    sources, vocabulary = tiny.sources_and_vocabulary("sequence", target)
    model = tiny.model("sequence", vocabulary, replace(tiny.CONFIG, positions=positions), target=target, seed=3)
    model.network.output_bias.data[END] = end_bias
    transitions = tiny.TARGET_SYSTEMS[target].output(vocabulary)
    assert isinstance(transitions, ArcOutput) and transitions.automaton
    config = SearchConfig(beam=2, max_length_offset=1, constraints=constraints, search="words")
    batch = sources.batch([0, 1, 2], vocabulary.padding, CPU)
    for index, found in enumerate(tree_search(model, batch, config, transitions)):
        alone = sources.batch([index], vocabulary.padding, CPU)
        expected = slow_tree_search(model, alone, config, SlowArcs(tiny.TARGET_SYSTEMS[target], vocabulary))
        assert [hypothesis.ids for hypothesis in found] == [hypothesis.ids for hypothesis in expected]
        assert [h.score for h in found] == pytest.approx([h.score for h in expected], abs=1e-4)
        assert [h.log_probability for h in found] == pytest.approx([h.log_probability for h in expected], abs=1e-4)


@pytest.mark.parametrize("target", ["transitions", "compose", "parent", "gcn, reference"])
def test_a_wide_beam_sums_over_all_trees(target: str) -> None:
    """The translations have at most two subwords, whose arcs come last, so that merging loses nothing."""
    sources, vocabulary = tiny.sources_and_vocabulary("sequence", target)
    model = tiny.model("sequence", vocabulary, target=target)
    transitions = tiny.TARGET_SYSTEMS[target].output(vocabulary)
    assert isinstance(transitions, ArcOutput) and transitions.automaton
    config = SearchConfig(beam=300, max_length_offset=0, search="words", alpha=0.0)
    batch = sources.batch([2], vocabulary.padding, CPU)
    assert int(batch.words[0]) == 2
    expected = all_translations(model, batch, config, SlowArcs(tiny.TARGET_SYSTEMS[target], vocabulary))
    (found,) = tree_search(model, batch, config, transitions)
    by_words = {
        tuple(number for number in [*each.ids, END] if transitions.automaton.tokens[number].kind & 67): each
        for each in found
    }
    assert len(found) == len(by_words) and by_words.keys() == expected.keys()
    for words, (total, best) in expected.items():
        assert by_words[words].score == pytest.approx(total, abs=1e-4)
        assert by_words[words].log_probability == pytest.approx(best, abs=1e-4)
    assert any(total > best + 1e-3 for total, best in expected.values())


@pytest.mark.parametrize("target", tiny.WAITING_SYSTEMS)
def test_the_trees_of_given_words_are_summed(target: str) -> None:
    """The sum is that of all strings with these words if the beam can hold them all, else less, in any batch."""
    sources, vocabulary = tiny.sources_and_vocabulary("sequence", target)
    model = tiny.model("sequence", vocabulary, target=target, seed=4)
    transitions = tiny.TARGET_SYSTEMS[target].output(vocabulary)
    assert isinstance(transitions, ArcOutput) and transitions.automaton
    config = SearchConfig(max_length_offset=0)
    batch = sources.batch([2], vocabulary.padding, CPU)
    expected = all_translations(model, batch, config, SlowArcs(tiny.TARGET_SYSTEMS[target], vocabulary))
    targets = sorted(expected, key=lambda words: (-len(words), words))[:: max(1, len(expected) // 6)]
    assert all(words[-1] == END for words in targets) and {len(words) for words in targets} > {3}
    wide, narrow = (
        [total for words in targets for total in sums_over_strings(model, batch, [words], trees, transitions)]
        for trees in (100, 1)
    )
    assert wide == pytest.approx([expected[words][0] for words in targets], abs=1e-4)
    assert all(few <= all_of_them + 1e-5 for few, all_of_them in zip(narrow, wide, strict=True))
    assert any(few < all_of_them - 1e-3 for few, all_of_them in zip(narrow, wide, strict=True))
    together = sources.batch([2] * len(targets), vocabulary.padding, CPU)
    assert sums_over_strings(model, together, targets, 3, transitions) == pytest.approx(
        [total for words in targets for total in sums_over_strings(model, batch, [words], 3, transitions)], abs=1e-4
    )


def test_the_sum_is_over_strings_not_trees(tmp_path: Path) -> None:
    """Three words have seven trees and eight strings, each with nine pairs of labels. The sum is over all 72
    strings."""
    folder = write_model(tmp_path / "model", "mask", "transitions")
    translator = Translator.open(folder, CPU, SearchConfig(), TranslateConfig())
    assert isinstance(translator.output, ArcOutput) and translator.output.automaton
    words, labels = ["er", "ist", "alt"], ["rel0", "rel1", "rel2"]
    strings, trees = [], set()
    for places in set(permutations(["WORD", "WORD", "WORD", "LEFT", "RIGHT", "LEFT", "RIGHT"], 5)):
        for left, right in product(labels, labels):
            following, names = iter(words), iter((left, right))
            entries = [next(following, "") if each == "WORD" else f" {each}-ARC:{next(names, '')}" for each in places]
            try:
                record = read_transitions(entries, translator.output.automaton.style)
            except TransitionError:
                continue
            if record.tokens == words:
                strings.append(entries)
                trees.add((tuple(record.heads), tuple(record.deprels)))
    assert (len(strings), len(trees)) == (8 * 9, 7 * 9)
    source = tiny.source_features("mask")[0]
    each = [found.total() for found in force(translator, [ForcedPair(source, one) for one in strings])]
    (summed,) = force_words(translator, [ForcedPair(source, words)], translator.output, 1000)
    assert summed.total() == pytest.approx(math.log(math.fsum(map(math.exp, each))), abs=1e-4)


@pytest.mark.parametrize("target", tiny.WAITING_SYSTEMS)
def test_the_result_is_a_tree_with_the_score_of_its_string(target: str, tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", "mask", target)
    translator = Translator.open(
        folder, CPU, SearchConfig(beam=3, max_length_offset=3, search="words"), TranslateConfig()
    )
    assert isinstance(translator.output, ArcOutput) and translator.output.automaton
    source = tiny.source_features("mask")[0]
    batch = tiny.sources_and_vocabulary("mask", target)[0].batch([0], folder.vocabulary.padding, CPU)
    (found,) = tree_search(translator.model, batch, translator.search, translator.output)
    for each in found:
        entries = folder.vocabulary.decode(each.ids)
        check_heads(read_transitions(entries, translator.output.automaton.style).heads)
        (forced,) = force(translator, [ForcedPair(source, entries)])
        assert each.log_probability == pytest.approx(forced.total(), abs=1e-4)
        words = 1 + sum(transition.kind & 3 > 0 for transition in map(translator.output.automaton.style.token, entries))
        assert each.score >= each.log_probability / translator.search.penalty(words) - 1e-6
    texts = [[each.text for each in best] for best in translator.translate([source])]
    assert len(texts[0]) == len(set(texts[0]))


def test_nan_gives_no_translation() -> None:
    sources, vocabulary = tiny.sources_and_vocabulary("sequence", "compose")
    model = tiny.model("sequence", vocabulary, target="compose")
    model.network.output_bias.data[:] = math.nan
    transitions = tiny.TARGET_SYSTEMS["compose"].output(vocabulary)
    assert isinstance(transitions, ArcOutput) and transitions.automaton
    batch = sources.batch([0, 1], vocabulary.padding, CPU)
    assert tree_search(model, batch, SearchConfig(search="words"), transitions) == [[], []]
    with pytest.raises(FloatingPointError, match="no string of these words has a probability"):
        sums_over_strings(model, batch, [[2, END], [2, END]], 3, transitions)
