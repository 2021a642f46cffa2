"""Trees in rows of text can be read back, and differences are those of arcs and brackets."""

import re
from collections import Counter
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.streams import BadInput, Line
from synmt.text.graphemes import columns
from synmt.trees.constituency import Tree, read_brackets, write_brackets
from synmt.trees.drawing import Differences, differences, picture, rows
from synmt.trees.formats import read_trees, write_conllu
from synmt.trees.record import UNATTACHED, ParseRecord, write_record
from tests.trees.strategies import dependency_records, trees

WORD_SIGNS = "╼┮┶┾"
SENTENCE = ["The", "dogs", "that", "bark"]


def record_of(heads: list[int], words: list[str] | None = None) -> ParseRecord:
    return ParseRecord(tokens=words or [f"w{n}" for n in range(len(heads))], heads=heads)


def heads_of(lines: list[str]) -> list[int]:
    """Return the heads that rows show: the line left of a word ends at a line up or down that leads to its head."""
    grid = [re.split(r" (?=\S+\Z)", line)[0].ljust(200) for line in lines]
    at = [next(place for place, sign in enumerate(line) if sign in WORD_SIGNS) for line in grid]
    found = []
    for row, line in enumerate(grid):
        place = at[row] - 1
        while place >= 0 and line[place] in "─┼":
            place -= 1
        if place < 0 or line[place] not in "╭├╰":
            found.append(0)
            continue
        above, below = row, row
        while above and line[place] in "├╰" and at[above] != place:
            above -= 1
            if grid[above][place] in "╭ ":
                break
        while below + 1 < len(grid) and line[place] in "├╭" and at[below] != place:
            below += 1
            if grid[below][place] in "╰ ":
                break
        (head,) = {each for each in (above, below) if at[each] == place}
        found.append(head + 1)
    return found


@given(dependency_records())
def test_the_heads_can_be_read_from_the_rows(record: ParseRecord) -> None:
    assert heads_of(list(rows([record_of(record.heads)]))) == record.heads


def test_arcs_that_cross_are_drawn_apart() -> None:
    words = ["A", "hearing", "is", "scheduled", "on", "the", "issue", "today", "."]
    assert list(rows([record_of([2, 4, 4, 0, 2, 7, 5, 4, 4], words)])) == [
        "  ╭─╼ A",
        "╭─┾ hearing",
        "├─┼─╼ is",
        "┾ │ scheduled",
        "│ ╰─┮ on",
        "│   │ ╭─╼ the",
        "│   ╰─┶ issue",
        "├─╼ today",
        "╰─╼ .",
    ]


def tree_of(lines: list[str]) -> Tree:
    """Return the tree that rows show: a node's parent is the last one before it that begins further left."""
    nodes, parents, path = list[str](), list[int](), list[tuple[int, int]]()
    for line in lines:
        for found in re.finditer(r"[^\s─┬│├╰]+", line):
            while path and path[-1][0] >= found.start() - 1:  # a word has a space before it, a label has none
                path.pop()
            parents.append(path[-1][1] if path else -1)
            path.append((found.start(), len(nodes)))
            nodes.append(found.group())
    return Tree(nodes, parents)


@given(trees(words=st.sampled_from(["a", "bb", ".", "NP"])))
def test_the_constituents_can_be_read_from_the_rows(tree: Tree) -> None:
    assert tree_of(list(rows([ParseRecord(tokens=tree.leaves(), tree=tree)]))) == tree


SCRIPTS = {
    "zh": "他 是 我 爸爸",
    "ar": "هو أبي الكبير .",
    "yo": "Ọmọ ń jẹ́ ẹ̀bà",
    "th": "นี่ คำ นี้ น้ำ",
    "fa": "می‌خواهم او را 👨‍👩‍👧",
}


@pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS)
def test_columns_are_straight_in_every_script(text: str) -> None:
    """The second tree begins in the same column of each row, and so does the part of speech."""
    words = text.split()
    record = ParseRecord(tokens=words, heads=[2, 0, 2, 3], upos=["X"] * 4, deprels=["y"] * 4)
    shown = list(rows([record, record], ["one", "other"]))
    assert len({columns(line[: line.index("y")]) for line in shown[1:]}) == 1
    assert len({columns(line[: line.rindex("X")]) for line in shown[1:]}) == 1


def test_words_from_right_to_left_are_isolated() -> None:
    (line,) = rows([ParseRecord(tokens=["أبي"], heads=[0])])
    assert line == "╼ \u2068أبي\u2069"


GOLD = ParseRecord(tokens=SENTENCE, heads=[2, 0, 4, 2], deprels=["det", "root", "nsubj", "acl"])
FOUND = ParseRecord(tokens=SENTENCE, heads=[2, 0, 2, 2], deprels=["det", "root", "obj", "advcl"])


def test_differences_are_marked_between_the_trees() -> None:
    assert differences(GOLD, FOUND) == Differences(frozenset({2}), frozenset({3}))
    header, *lines = rows([GOLD, FOUND], ["gold", "found"])
    assert header.split() == ["gold", "found"]
    assert ["≠" in line for line in lines] == [False, False, True, False]
    assert ["~" in line for line in lines] == [False, False, False, True]


def test_words_may_be_divided_in_other_ways() -> None:
    """A head is the same if it has the same characters; a word that the other record lacks has no such head."""
    joined = ParseRecord(tokens=["Thedogs", "that", "bark"], heads=[0, 3, 1], deprels=["root", "nsubj", "acl"])
    assert differences(joined, GOLD).heads == {0, 2}
    assert differences(GOLD, joined).heads == {0, 1, 3}
    assert differences(ParseRecord(tokens=["Les", "chiens"], heads=[2, 0]), GOLD) == Differences()
    assert list(rows([joined, GOLD]))[1].split() == ["≠", "┾", "dogs", "root"]


def test_other_labels_are_marked() -> None:
    gold, found = (
        ParseRecord(tokens=["a", "b", "c"], tree=read_brackets(text))
        for text in ("(S (NP (D a) (N b)) (V c))", "(S (D a) (VP (N b) (X c)))")
    )
    assert [line.split(" ≠ ")[0].strip() for line in rows([gold, found])] == [
        "S─┬─NP*─┬─D─── a", "│     ╰─N─── b", "╰─V*─── c",
    ]  # fmt: skip


@st.composite
def two_trees(draw: st.DrawFn) -> list[Tree]:
    """Draw two trees over the same words, which are numbers."""
    drawn = [draw(trees()) for _ in range(2)]
    count = min(len(tree.leaves()) for tree in drawn)
    found = []
    for tree in drawn:
        words = iter(range(len(tree)))
        nodes = [f"{next(words)}" if leaf else node for node, leaf in zip(tree.nodes, tree.is_leaf(), strict=True)]
        whole = Tree(nodes, tree.parents)
        last = whole.nodes.index(f"{count}") if count < len(tree.leaves()) else len(nodes)
        while last < len(nodes) and last - 1 == whole.parents[last]:  # a label without its word
            last -= 1
        found.append(Tree(nodes[:last], tree.parents[:last]))
    return found


@given(two_trees())
def test_nodes_that_differ_are_the_brackets_that_the_other_lacks(pair: list[Tree]) -> None:
    one, other = (ParseRecord(tokens=tree.leaves(), tree=tree) for tree in pair)
    own, others = map(slow_brackets, pair)
    marked = Counter(pair[0].nodes[node] for node in differences(one, other).nodes)
    assert marked == Counter(label for words, label in own if (words, label) not in others)


def slow_brackets(tree: Tree) -> list[tuple[str, str]]:
    """Return the words and label of each constituent, from its brackets."""
    found, opened = [], list[list[str]]()
    for token in re.findall(r"\(|\)|[^\s()]+", write_brackets(tree)):
        if token == "(":
            opened.append([])
        elif token == ")":
            label, *words = opened.pop()
            found.append((" ".join(words), label))
            if opened:
                opened[-1] += words
        else:
            opened[-1].append(token)
    return found


def test_a_picture_has_all_words_and_marks() -> None:
    svg = ElementTree.fromstring(picture([GOLD, FOUND], ["<gold>", "found"]))
    texts = [(node.text, node.get("class")) for node in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert [text for text, _ in texts].count("bark") == 2 and ("<gold>", "title") in texts
    assert [text for text, kind in texts if kind == "small off"] == ["nsubj", "acl", "obj", "advcl"]
    assert all(0 < float(node.get("x", 0)) < float(svg.get("width", 0)) for node in svg.iter() if node.get("x"))


def test_sentences_from_right_to_left_are_drawn_so() -> None:
    svg = ElementTree.fromstring(picture([ParseRecord(tokens=["هو", "أبي"], heads=[2, 0])]))
    at = {node.text: float(node.get("x", 0)) for node in svg.iter() if node.get("x")}
    assert at["هو"] > at["أبي"]


@given(dependency_records())
def test_records_show_themselves(record: ParseRecord) -> None:
    assert str(record._repr_svg_()).startswith("<svg")
    assert ParseRecord(tokens=["a"])._repr_svg_() is None


def read(text: str) -> list[ParseRecord]:
    return [record for _, record in read_trees(Line(line, "in", n) for n, line in enumerate(text.split("\n"), 1))]


@given(dependency_records())
def test_every_form_of_trees_is_read(record: ParseRecord) -> None:
    record.confidences = []
    for text in (write_record(record), write_conllu(record)):
        assert [each.heads for each in read(text)] == [record.heads]


def test_trees_have_syntactic_words_and_may_be_partial() -> None:
    rows_of_zum = [
        "1-2\tzum\t_\t_\t_\t_\t_\t_\t_\t_",
        "1\tzu\t_\t_\t_\t_\t3\tcase\t_\t_",
        "2\tdem\t_\t_\t_\t_\t_\t_\t_\t_",
    ]
    (record,) = read("\n".join([*rows_of_zum, "3\tHaus\t_\t_\t_\t_\t0\troot\t_\t_"]))
    assert (record.tokens, record.heads) == (["zu", "dem", "Haus"], [3, UNATTACHED, 0])
    assert [each.tokens for each in read("(S (X a)\n (X b))\n\n(S (X c))")] == [["a", "b"], ["c"]]
    with pytest.raises(BadInput, match="in:2: no trees: a file of trees has"):
        read("\nplain text")
