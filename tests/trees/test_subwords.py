import pytest
from hypothesis import given

from synmt.trees.constituency import Tree, TreeError, read_brackets, split_leaves
from tests.trees.strategies import WORDS, trees


def characters(word: str) -> list[str]:
    return [*(f"{character}@@" for character in word[:-1]), word[-1]]


PLAIN = WORDS.filter(lambda word: "@" not in word)


def test_subwords_are_children_of_the_preterminal() -> None:
    tree = read_brackets("(NP (PRP$ my) (NN father))")
    split = split_leaves(tree, lambda word: ["fa@@", "ther"] if word == "father" else [word])
    assert split == read_brackets("(NP (PRP$ my) (NN fa@@ ther))")


@given(trees(words=PLAIN))
def test_splitting_preserves_the_yield_and_the_labels(tree: Tree) -> None:
    split = split_leaves(tree, characters)
    split.check()
    assert split.leaves() == [subword for word in tree.leaves() for subword in characters(word)]
    labels, split_labels = (
        [node for node, leaf in zip(each.nodes, each.is_leaf(), strict=True) if not leaf] for each in (tree, split)
    )
    assert split_labels == labels


@given(trees())
def test_whole_words_change_nothing(tree: Tree) -> None:
    assert split_leaves(tree, lambda word: [word]) == tree


def test_a_single_word_cannot_have_subwords() -> None:
    assert split_leaves(Tree(["a"], [-1]), characters).nodes == ["a"]
    with pytest.raises(TreeError, match="no label above"):
        split_leaves(Tree(["ab"], [-1]), characters)
