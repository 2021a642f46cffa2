import msgspec
import pytest
from hypothesis import given

from synmt.trees.constituency import Tree, TreeError, read_brackets, write_brackets
from synmt.trees.linearization import bracket_tokens, label_tokens, preorder_tokens, relation_rows, write_mask_record
from tests.trees.strategies import trees

EXAMPLE = "(S (NP (PRP He)) (VP (VBZ is) (NP (PRP$ my) (NN father))) (. .))"


def read_back(tokens: list[str]) -> Tree:
    return read_brackets(" ".join(tokens))


def test_the_worked_example() -> None:
    tree = read_brackets(EXAMPLE)
    brackets = "(S (NP (PRP He ) ) (VP (VBZ is ) (NP (PRP$ my ) (NN father ) ) ) (. . ) )"
    assert " ".join(bracket_tokens(tree)) == brackets
    assert len(bracket_tokens(tree)) == 23
    assert " ".join(preorder_tokens(tree)) == "S NP PRP He VP VBZ is NP PRP$ my NN father . ."
    assert " ".join(label_tokens(tree)) == "(S (NP (PRP ) ) (VP (VBZ ) (NP (PRP$ ) (NN ) ) ) (. ) )"


@given(trees())
def test_bracket_tokens_can_be_read_back(tree: Tree) -> None:
    assert read_back(bracket_tokens(tree)) == tree


@given(trees())
def test_lengths_match_the_paper(tree: Tree) -> None:
    words = len(tree.leaves())
    phrases = len(tree) - words
    assert len(bracket_tokens(tree)) == words + 2 * phrases
    assert len(preorder_tokens(tree)) == words + phrases
    assert len(label_tokens(tree)) == 2 * phrases


@given(trees())
def test_tokens_are_not_empty_and_have_no_spaces(tree: Tree) -> None:
    for tokens in (bracket_tokens(tree), preorder_tokens(tree), label_tokens(tree)):
        assert " ".join(tokens).split(" ") == tokens
        assert all(tokens)


def test_words_with_brackets_are_escaped_and_unescaped() -> None:
    tree = Tree(["S", "-LRB-", "(", "NN", "a)[b", "-RRB-", ")"], [-1, 0, 1, 0, 3, 0, 5])
    tokens = bracket_tokens(tree)
    assert " ".join(tokens) == "(S (-LRB- -LRB- ) (NN a-RRB--LSB-b ) (-RRB- -RRB- ) )"
    assert read_back(tokens) == tree


def test_a_word_that_looks_like_a_label_stays_a_word() -> None:
    tree = read_brackets("(NP (NP NP) (. .))")
    assert tree.leaves() == ["NP", "."]
    assert read_back(bracket_tokens(tree)) == tree
    assert label_tokens(tree) == ["(NP", "(NP", ")", "(.", ")", ")"]


def test_a_tree_of_ten_thousand_levels() -> None:
    levels = 10_000
    tree = Tree([*["X"] * levels, "word"], [-1, *range(levels)])
    tokens = bracket_tokens(tree)
    assert tokens == [*["(X"] * levels, "word", *[")"] * levels]
    assert read_back(tokens) == tree


def test_a_node_without_a_label_has_no_preorder_token() -> None:
    tree = read_brackets("(S ( (A a) (B b)))")
    assert read_back(bracket_tokens(tree)) == tree
    with pytest.raises(TreeError, match="node 1 has no label"):
        preorder_tokens(tree)


@pytest.mark.parametrize("line", ["", "a", "(S", "(S a", "(S a ) )", "(S ) ", "(S a ) (S b )"])
def test_anything_but_one_tree_is_an_error(line: str) -> None:
    with pytest.raises(TreeError):
        read_brackets(line)


def test_nested_wrapping_brackets_without_a_label_are_removed() -> None:
    tree = read_brackets("( ( ( (S (X a)))))")
    assert (tree.nodes, tree.parents) == (["S", "X", "a"], [-1, 0, 1])
    assert read_brackets(write_brackets(read_brackets("( (  a b))"))) == read_brackets("( (  a b))")
    deep = read_brackets("(" * 10_000 + "(S a)" + ")" * 10_000)
    assert write_brackets(deep) == "(S a)"


@given(trees())
def test_a_mask_record_has_nodes_parents_and_relations(tree: Tree) -> None:
    line = write_mask_record(tree)
    assert "\n" not in line
    assert msgspec.json.decode(line) == {
        "tokens": tree.nodes,
        "parents": tree.parents,
        "relations": relation_rows(tree.parents),
    }
