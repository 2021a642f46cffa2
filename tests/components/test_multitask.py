"""Translating and parsing with one model."""

from pathlib import Path

import pytest
import torch
from hypothesis import given

from synmt.data.corpus import Corpus
from synmt.model.source import source_side
from synmt.nn.prefixes import PrefixPlan
from synmt.search.config import SearchConfig, TranslateConfig
from synmt.search.scores import log_probabilities
from synmt.search.translation import Translator
from synmt.trees.constituency import Tree, read_brackets
from synmt.trees.linearization import phrase_tokens
from synmt.trees.record import ParseRecord
from tests import tiny
from tests.inspection.models import write_model
from tests.tiny import segment
from tests.trees.strategies import trees

TREE = read_brackets("(ROOT (S (NP (PRP He)) (VP (VBZ is) (NP (PRP$ my) (NN father))) (. .)))")
RECORD = ParseRecord(tokens=TREE.leaves(), tree=TREE)


def test_a_tree_without_words_and_parts_of_speech() -> None:
    assert " ".join(phrase_tokens(TREE)) == "(ROOT (S (NP ) (VP (NP ) ) ) )"
    assert phrase_tokens(read_brackets("(NN rain)")) == []
    assert " ".join(phrase_tokens(read_brackets("(X (X (NN a)) (NN b) (Y (NN c)))"))) == "(X (X ) (Y ) )"
    untagged = read_brackets("(S (VP saw (NP (DT the) (NN cat))))")
    assert " ".join(phrase_tokens(untagged)) == "(S (VP (NP ) ) )"


def phrases(tree: Tree, node: int = 0) -> list[str]:
    """Return the brackets of a node and of the nodes below it, by recursion. Words and parts of speech have none."""
    leaf = tree.is_leaf()
    children = [child for child, parent in enumerate(tree.parents) if parent == node]
    if leaf[node] or (len(children) == 1 and leaf[children[0]]):
        return []
    return [f"({tree.nodes[node]}", *(token for child in children for token in phrases(tree, child)), ")"]


@given(trees())
def test_brackets_of_any_tree_are_balanced(tree: Tree) -> None:
    assert phrase_tokens(tree) == phrases(tree)


def test_each_task_is_marked_on_both_sides() -> None:
    side = source_side({"multitask": {}})
    for task in side.tasks:
        tokens = [token.strip() for token in side.features(RECORD, segment, task).tokens]
        assert tokens == [f"<{task}>", "He", "is", "my", "fat@@", "her", ".", f"<{task}>"]


def test_the_parse_is_a_target_of_structural_entries() -> None:
    side = source_side({"multitask": {}})
    target = side.tasks["parse"].target(RECORD, "parse")
    assert "".join(target) == " (ROOT (S (NP ) (VP (NP ) ) ) )"


def test_trees_are_needed_only_in_training() -> None:
    side = source_side({"multitask": {}})
    assert (side.needs(training=True), side.needs(training=False)) == ({"tree"}, set())
    assert side.features(ParseRecord(tokens=["a"]), segment).words == 1


@pytest.mark.parametrize("target", tiny.TARGET_SYSTEMS)
def test_a_model_with_any_decoder_parses(target: str, tmp_path: Path) -> None:
    """The probability of a parse is the same if the decoder reads all its entries at once, as in training."""
    folder = write_model(tmp_path, "multitask", target)
    search, task = SearchConfig(beam=2, max_length_offset=3), TranslateConfig(task="parse", format="jsonl")
    translator = Translator.open(folder, torch.device("cpu"), search, task)
    features = [translator.features(record) for record in tiny.records()]
    parses = [best for best, *_ in translator.translate(features)]
    assert {(each.heads, each.deprels, each.transitions) for each in parses} == {(None, None, None)}
    known = {entry.strip(): entry for entry in folder.vocabulary.target}
    for feature, parse in zip(features, parses, strict=True):
        corpus = Corpus.empty(folder.vocabulary, folder.config.target, PrefixPlan(0, 100))
        corpus.append(feature, [known[token] for token in parse.tokens])
        (forced,) = log_probabilities(translator, corpus, [0])
        longest = feature.words + 3
        assert len(parse.tokens) <= longest
        seen = forced[:-1] if len(parse.tokens) == longest else forced  # at its limit, a parse has no end
        assert sum(seen) == pytest.approx(parse.log_probability, abs=1e-4)
