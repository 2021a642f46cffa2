"""Translating and parsing with one model."""

from synmt.model.source import source_side
from synmt.trees.constituency import read_brackets
from synmt.trees.linearization import phrase_tokens
from synmt.trees.record import ParseRecord
from tests.tiny import segment

TREE = read_brackets("(ROOT (S (NP (PRP He)) (VP (VBZ is) (NP (PRP$ my) (NN father))) (. .)))")
RECORD = ParseRecord(tokens=TREE.leaves(), tree=TREE)


def test_a_tree_without_words_and_their_tags() -> None:
    assert " ".join(phrase_tokens(TREE)) == "(ROOT (S (NP ) (VP (NP ) ) ) )"
    assert phrase_tokens(read_brackets("(NN rain)")) == []
    assert " ".join(phrase_tokens(read_brackets("(X (X (NN a)) (NN b) (Y (NN c)))"))) == "(X (X ) (Y ) )"


def test_each_task_is_marked_on_both_sides() -> None:
    side = source_side({"multitask": {}})
    for task in side.tasks:
        tokens = [token.strip() for token in side.features(RECORD, segment, task).tokens]
        assert tokens == [f"<{task}>", "He", "is", "my", "fat@@", "her", ".", f"<{task}>"]


def test_the_parse_is_a_target_of_structural_tokens() -> None:
    side = source_side({"multitask": {}})
    target = side.tasks["parse"].target(RECORD, "parse")
    assert "".join(target) == " (ROOT (S (NP ) (VP (NP ) ) ) )"


def test_trees_are_needed_in_training_alone() -> None:
    side = source_side({"multitask": {}})
    assert (side.needs(training=True), side.needs(training=False)) == ({"tree"}, set())
    assert side.features(ParseRecord(tokens=["a"]), segment).words == 1
