"""The encoder's input, worked out by hand."""

import pytest

from synmt.model.source import source_side
from synmt.trees.constituency import read_brackets
from synmt.trees.record import ParseRecord
from tests.tiny import segment

TREE = read_brackets("(S (NP (PRP He)) (VP (VBZ is) (NP (PRP$ my) (NN father))) (. .))")
RECORD = ParseRecord(tokens=TREE.leaves(), tree=TREE)


def tokens_of(system: str) -> list[str]:
    return source_side({system: {}}).features(RECORD, segment).tokens


def test_sequence() -> None:
    assert tokens_of("sequence") == ["He", "is", "my", "fat@@", "her", "."]


def test_linearized() -> None:
    shown = " ".join(token.strip() for token in tokens_of("linearized"))
    assert shown == "(S (NP (PRP He ) ) (VP (VBZ is ) (NP (PRP$ my ) (NN fat@@ her ) ) ) (. . ) )"


def test_mask() -> None:
    features = source_side({"mask": {}}).features(RECORD, segment)
    assert " ".join(token.strip() for token in features.tokens) == "S NP PRP He VP VBZ is NP PRP$ my NN fat@@ her . ."
    assert features.values["parents"].tolist() == [-1, 0, 1, 2, 0, 4, 5, 4, 7, 8, 7, 10, 10, 0, 13]
    assert features.values["ends"].tolist() == [15, 4, 4, 4, 13, 7, 7, 13, 10, 10, 13, 12, 13, 15, 15]


@pytest.mark.parametrize("system", ["linearized", "mask"])
def test_labels_differ_from_words_with_the_same_spelling(system: str) -> None:
    final_label, final_word = [token for token in tokens_of(system) if token.strip().lstrip("(") == "."]
    assert final_label != final_word


@pytest.mark.parametrize("system", ["sequence", "linearized", "mask"])
def test_only_subwords_count_for_the_length(system: str) -> None:
    assert source_side({system: {}}).features(RECORD, segment).words == 6


@pytest.mark.parametrize("system", ["linearized", "mask"])
def test_a_record_without_a_tree_gives_only_its_subwords(system: str) -> None:
    features = source_side({system: {}}).features(ParseRecord(tokens=["He", "father"]), segment)
    assert (features.tokens, features.words) == (["He", "fat@@", "her"], 3)
