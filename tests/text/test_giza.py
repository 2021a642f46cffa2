import pytest

from synmt.streams import BadInput, Line
from synmt.text.links import read_a3

FILE = """# Sentence pair (1) source length 3 target length 3 alignment score : 1.2e-05
das kleine Haus
NULL ({ }) the ({ 1 }) very ({ }) house ({ 2 3 })
# Sentence pair (2) source length 1 target length 2 alignment score : 0.1
( {
NULL ({ 1 }) ({ ({ 2 })
"""


def read(text: str) -> list[frozenset[tuple[int, int]]]:
    lines = [Line(line, "a3", number) for number, line in enumerate(text.splitlines(), 1)]
    return [links for _, links, _ in read_a3(lines)]


def test_links_join_the_third_line_and_the_second() -> None:
    assert read(FILE) == [{(0, 0), (2, 1), (2, 2)}, {(0, 1)}]


def test_words_are_those_of_the_third_line_and_the_second() -> None:
    lines = [Line(line, "a3", number) for number, line in enumerate(FILE.splitlines(), 1)]
    assert [words for _, _, words in read_a3(lines)] == [
        (["the", "very", "house"], ["das", "kleine", "Haus"]),
        (["({"], ["(", "{"]),
    ]


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        ("pair (2)", "pair (3)", "a3:4: expected the line '# Sentence pair (2) …'"),
        ("NULL ({ }) ", "", "a3:3: expected words, NULL first,"),
        ("({ 2 3 })", "({ 2 4 })", "a3:3: a word number is too high for the line above"),
        ("({ 2 3 })", "({ 0 3 })", "a3:3: a word number is too high for the line above"),
        ("({ 2 3 })", f"({{ {'9' * 5000} }})", "a3:3: a word number is too high for the line above"),
        ("NULL ({ 1 }) ({ ({ 2 })\n", "", "a3:4: the A3 file ends inside a sentence pair"),
    ],
)
def test_errors_in_a3_files_name_the_line(old: str, new: str, cause: str) -> None:
    with pytest.raises(BadInput) as error:
        read(FILE.replace(old, new))
    assert str(error.value).startswith(cause)
