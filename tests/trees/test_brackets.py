"""Words of bracketed trees, and trees without words or labels."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given

from synmt.trees.constituency import Tree, TreeError, escape, read_all_brackets, read_brackets, write_brackets
from synmt.trees.record import ParseRecord, record_of_brackets
from tests.cli.commands import shell, synmt
from tests.trees.strategies import WORDS, trees

TREES = Path(__file__).parents[2] / ".." / "shared" / "data" / "trees"


@given(trees())
def test_a_written_tree_is_read_back(tree: Tree) -> None:
    assert read_brackets(write_brackets(tree)) == tree


@given(WORDS.filter(lambda word: not set("()") & set(word) and not re.search(r"\s", word)))
def test_a_word_is_written_as_it_was_read(word: str) -> None:
    brackets = f"(S (X {word}) (NP (-NONE- *T*-1) (SYM qq\\*)))"
    assert write_brackets(read_brackets(brackets)) == brackets


@pytest.mark.parametrize(
    ("word", "written", "linearized"),
    [
        ("3/4", "3\\/4", "3/4"),
        ("*", "\\*", "*"),
        ("a)[b", "a-RRB--LSB-b", "a-RRB--LSB-b"),
        ("-LRB-", "\\-LRB-", "\\-LRB-"),
        ("\\/", "\\\\\\/", "\\\\/"),
        ("C:\\x", "C:\\x", "C:\\x"),
    ],
)
def test_brackets_slashes_and_asterisks_are_escaped(word: str, written: str, linearized: str) -> None:
    assert write_brackets(Tree(["X", word], [-1, 0])) == f"(X {written})"
    assert escape(word) == linearized
    assert read_brackets(f"(X {written})").leaves() == read_brackets(f"(X {linearized})").leaves() == [word]


def test_words_of_treebanks_are_raw_in_tokens_and_keep_their_spelling_in_trees() -> None:
    brackets = "(NP (CD 3\\/4) (SYM \\*) (-LRB- [) (NN and/or) (-RRB- -RSB-))"
    records = synmt("convert", "--input", "ptb", text=brackets).stdout
    assert json.loads(records)["tokens"] == ["3/4", "*", "[", "and/or", "]"]
    for options in (["--input", "records"], ["--input", "ptb", "--strip"], ["--input", "ptb"]):
        text = records if "records" in options else brackets
        assert synmt("convert", *options, "--format", "ptb", text=text).stdout == f"{brackets}\n"


@pytest.mark.parametrize("empty", ["(())", "()", "( ( ) )", "((()))"])
def test_the_empty_tree_is_an_empty_sentence(empty: str) -> None:
    assert record_of_brackets(empty) == record_of_brackets(f" {empty}") == ParseRecord()
    assert [tree.leaves() for tree in read_all_brackets(f"{empty} (A a) {empty}")] == [["a"]]
    done = synmt("convert", "--input", "ptb", text=f"{empty}\n(A a)\n")
    assert (done.stdout, done.stderr) == ('{}\n{"tokens":["a"],"tree":"(A a)"}\n', "")


@pytest.mark.parametrize("text", ["(S ())", "( () (A a))", "( (A a) ())", "(S)", "(TOP (S))", "(()"])
def test_a_node_without_children_is_no_empty_tree(text: str) -> None:
    with pytest.raises(TreeError):
        record_of_brackets(text)


@pytest.mark.parametrize("brackets", ["( (A a) (B b))", "((A a) (B b))", "( ( (A a) (B b)))", "(TOP (A a) (B b))"])
def test_an_unlabelled_top_node_that_branches_is_top(brackets: str, tmp_path: Path) -> None:
    (tmp_path / "one.ptb").write_text(f"{brackets}\n")
    done = shell(
        "synmt convert --input ptb --format ptb one.ptb; synmt convert --input ptb one.ptb > one; synmt linearize one;"
        " synmt linearize --format preorder one; synmt make-masks one | cut -c -31",
        tmp_path,
    )
    assert done.stderr == "" and done.stdout.splitlines() == [
        "(TOP (A a) (B b))", "(TOP (A a ) (B b ) )", "TOP A a B b", '{"tokens":["TOP","A","a","B","b'
    ]  # fmt: skip


@pytest.mark.skipif(not TREES.exists(), reason="needs the treebanks")
@pytest.mark.parametrize("name", ["gum.dev", "gum.test", "craft.dev"])
def test_trees_of_treebanks_come_back(name: str) -> None:
    """All but an unlabelled bracket around the tree, and white space."""
    for line in (TREES / f"{name}.ptb").read_text().strip("\n").split("\n"):
        tree = re.sub(" *([()]) *", r"\1", line).removeprefix("(" * line.startswith("( ("))
        written = write_brackets(read_brackets(line))
        assert written.replace(" (", "(") == tree.removesuffix(")" * line.startswith("( ("))
