from pathlib import Path

import pytest

from synmt.alignment.pairs import read_pairs, with_known_links
from synmt.data.records import SentencePair, columns_of_pairs
from synmt.data.words import sides_of
from synmt.streams import BadInput, BadLines, Line, Note, OnError
from synmt.text.links import Link
from tests.alignment.words import pair

NOTHING: tuple[frozenset[str], frozenset[str]] = frozenset(), frozenset()
PAIRS = [pair(["a", "b"], ["c"]), pair([], ["d"]), pair(["e"], ["f", "g"])]


class KeptErrors(BadLines):
    """Collects the errors of all bad lines."""

    def __init__(self) -> None:
        super().__init__("blank")
        self.errors: list[BadInput] = []

    def add(self, error: BadInput) -> None:
        super().add(error)
        self.errors.append(error)


def read(*texts: str, bad: BadLines | None = None, faults: tuple[str, ...] = ()) -> list[SentencePair]:
    lines = [Line(text, "in", number) for number, text in enumerate(texts, 1)]
    lines += [Line("", "in", len(texts) + 1, fault) for fault in faults]
    bad = bad or BadLines()
    return list(read_pairs(columns_of_pairs(lines, bad), NOTHING, sides_of(("en", "de"), "none"), 5, bad))


def words(pairs: list[SentencePair]) -> list[tuple[str, str]]:
    return [(" ".join(each.source.tokens), " ".join(each.target.tokens)) for each in pairs]


def test_a_side_is_text_or_a_record() -> None:
    record = '{"tree": "(S (NP (PRP He)) (VP (VBZ is)))"}'
    assert words(read("Er ist\tHe is", "", "\t", " \t x")) == [("Er ist", "He is"), ("", ""), ("", ""), ("", "x")]
    assert words(read(f"Er ist\t{record}", "Er\t", "sie\t{}")) == [("Er ist", "He is"), ("Er", ""), ("sie", "")]


def test_three_bars_can_separate_the_sides() -> None:
    assert words(read("Er ist ||| He is", "Er ||| ist\tHe ||| is")) == [
        ("Er ist", "He is"),
        ("Er ||| ist", "He ||| is"),
    ]
    with pytest.raises(BadInput, match=r"in:1: expected .* found 3 columns"):
        read("a ||| b ||| c")


BAD = ["no tab", "two\ttabs\there"]
LONG = ["1 2 3 4 5 6\tx", "x\t1 2 3 4 5 6", "1 2 3 4 5 6\t1 2 3 4 5 6"]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (BAD[0], "in:2: expected `source TAB target` or `source ||| target`, found 1 column"),
        (BAD[1], "in:2: expected `source TAB target` or `source ||| target`, found 3 columns"),
    ],
)
def test_an_error_names_the_bad_line(text: str, cause: str) -> None:
    with pytest.raises(BadInput) as error:
        read("a\tb", text)
    assert str(error.value) == cause


def test_bad_lines_are_counted_once_and_give_empty_pairs() -> None:
    bad = KeptErrors()
    found = read(*BAD, "a\tb", bad=bad, faults=("NUL byte in a text line",))
    assert words(found) == [("", ""), ("", ""), ("a", "b"), ("", "")]
    assert [error.place for error in bad.errors] == ["in:1", "in:2", "in:4"]


@pytest.mark.parametrize("on_error", ["fail", "blank"])
def test_pairs_with_too_many_words_are_skipped_and_counted(on_error: OnError) -> None:
    bad = BadLines(on_error)
    assert words(read(*LONG, "1 2 3 4 5\tb", bad=bad)) == [("", "")] * 3 + [("1 2 3 4 5", "b")]
    assert bad.counts == {"pair of more than 5 words on a side": 3}
    with pytest.warns(Note, match="^3 pairs of more than 5 words on a side left empty$"):
        bad.report()


def known(folder: Path, *texts: str) -> list[tuple[set[Link], set[Link]]]:
    paths = []
    for number, text in enumerate(texts):
        (folder / f"links{number}").write_text(text)
        paths.append(str(folder / f"links{number}"))
    found = [each.links for each in with_known_links(PAIRS, paths)]
    assert all(set(links.values()) <= {1.0} for each in found for links in each)
    return [(set(each[0]), set(each[-1])) for each in found]


A3 = "# Sentence pair (1) x\nc\nNULL ({ }) a ({ }) b ({ 1 })\n# Sentence pair (2) x\nd\nNULL ({ })\n"
A3 += "# Sentence pair (3) x\nf g\nNULL ({ }) e ({ 1 2 })\n"
REVERSED = "# Sentence pair (1) x\na b\nNULL ({ }) c ({ 1 })\n# Sentence pair (2) x\n\nNULL ({ }) d ({ })\n"
REVERSED += "# Sentence pair (3) x\ne\nNULL ({ }) f ({ }) g ({ 1 })\n"


def test_one_file_gives_the_links_of_both_directions(tmp_path: Path) -> None:
    assert known(tmp_path, "0-0 1p0\n\n0-1\n") == [({(0, 0), (1, 0)},) * 2, (set(),) * 2, ({(0, 1)},) * 2]


def test_two_files_give_one_direction_each(tmp_path: Path) -> None:
    expected = [({(1, 0)}, {(0, 0)}), (set(), set()), ({(0, 0), (0, 1)}, {(0, 1)})]
    assert known(tmp_path, "1-0\n\n0-0 0-1\n", "0-0\n\n0-1\n") == expected
    assert known(tmp_path, A3, REVERSED) == expected


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("0-0\n\n", "links0: has links for only 2 of the sentence pairs"),
        ("0-0\n\n0-0\n0-0\n", "links0:4: links without a sentence pair: only 3 were given"),
        (
            "0-0\n\n0-2\n",
            "links0:3: link 0-2 for 1 source and 2 target words in bitext:1; do they belong to other words?",
        ),
        ("0-0\n1:1\n", "links0:2: '1:1' is not a link such as 3-4 or 3p4"),
        ("", "links0: has links for only 0 of the sentence pairs"),
    ],
)
def test_links_outside_the_pairs_are_errors(text: str, cause: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as error:
        known(tmp_path, text)
    assert str(error.value) == f"{tmp_path}/{cause}"
