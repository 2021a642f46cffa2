"""Trees that span several lines, compared with NLTK's printer."""

import re
from dataclasses import replace
from itertools import count

import nltk
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from synmt.streams import Line
from synmt.trees.constituency import Tree, read_brackets, write_brackets
from synmt.trees.formats import lines_of_trees
from synmt.trees.record import RecordError, read_record, read_words
from tests.trees.strategies import trees

TREES = st.lists(trees(max_nodes=12), max_size=5)


def lines(text: str) -> list[Line]:
    return [Line(line, "f", number) for number, line in zip(count(1), text.split("\n"), strict=False)]


@given(trees=TREES, margin=st.integers(1, 60), gap=st.sampled_from(["\n", "\n\n"]))
def test_printed_trees_are_read_as_one_line_each(trees: list[Tree], margin: int, gap: str) -> None:
    # NLTK splits at all white space, and ignores brackets after a backslash
    assume(not any(re.search(r"\s|\\", node) for tree in trees for node in tree.nodes))
    brackets = [write_brackets(tree) for tree in trees]
    printed = [nltk.Tree.fromstring(each).pformat(margin=margin) for each in brackets]
    found = list(lines_of_trees(lines(gap.join(printed))))
    assert [read_brackets(line.text) for line in found if line.text.strip()] == [
        read_brackets(each) for each in brackets
    ]
    if any("\n" in each for each in printed):
        assert all(line.text.strip() for line in found)


@given(
    texts=st.lists(
        st.one_of(trees(max_nodes=6).map(write_brackets), st.sampled_from(["", " ", " (A a)", "{", "(A", "b)"]))
    )
)
def test_trees_on_one_line_stay_on_one_line(texts: list[str]) -> None:
    """A line with an open bracket also stays a line if the next line starts with a bracket, and an indented line if it
    continues no tree."""
    given_lines = lines("\n".join(texts))
    found = list(lines_of_trees(given_lines))
    joined = [line for line in found if "\n" in line.text]
    assert all(line.text.startswith("(A\n") for line in joined)
    if "(A" not in texts:
        assert found == given_lines


def test_empty_lines_separate_trees_if_one_continues_on_another_line() -> None:
    texts = [" (A a)", "", "(B", "b)", "", "(C c)"]
    assert [line.text for line in lines_of_trees(lines("\n".join(texts)))] == [" (A a)", "(B\nb)", "(C c)"]
    assert [line.text for line in lines_of_trees(lines("\n".join(texts[:2])))] == [" (A a)", ""]


def test_a_tree_is_read_before_the_next_line_arrives() -> None:
    asked = []

    def slowly():  # type: ignore[no-untyped-def]
        for number, text in enumerate(["(A a)", "(B", " b)", "(C c)"], 1):
            asked.append(number)
            yield Line(text, "f", number, pauses=number == 1)

    found = lines_of_trees(slowly())
    assert (next(found).text, asked) == ("(A a)", [1])
    assert (next(found).text, asked) == ("(B\n b)", [1, 2, 3])


def test_a_pause_inside_a_tree_changes_nothing() -> None:
    given_lines = lines("(S\n  (A a))\n\n(B b)\n")
    paused = [replace(line, pauses=line.number == 1) for line in given_lines]
    assert [line.text for line in lines_of_trees(paused)] == [line.text for line in lines_of_trees(given_lines)]
    assert len(list(lines_of_trees(paused))) == 2


def test_words_of_text_and_records() -> None:
    lines = ["", " a  b ", "{ a", "{}", '{"tokens": ["a", "b"]}', '{ "tree": "(NP (DT the) (NN dog))"}']
    lines.append('{"text": "a b. "}')
    words = [[], ["a", "b"], ["{", "a"], [], ["a", "b"], ["the", "dog"], ["a", "b."]]
    assert [read_words(line) for line in lines] == words
    with pytest.raises(RecordError):
        read_words('{"tokens": 1}')


def test_an_empty_token_is_refused() -> None:
    """CoNLL-U and lines of tokens could not contain it."""
    with pytest.raises(RecordError, match="token 2 is empty"):
        read_record('{"tokens": ["a", ""], "heads": [0, 1], "deprels": ["root", "dep"]}')
