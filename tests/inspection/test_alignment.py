import csv
import json
from xml.etree import ElementTree

import numpy as np
import pytest

from synmt.api.alignment import WordLinks
from synmt.inspection.alignment import alignment_matrices, read_alignments
from synmt.inspection.matrix import as_tsv
from synmt.streams import BadInput, Line

WORDS = {"source": ["das", "Haus", "."], "target": ["the", "house"]}


def line(fields: object, source: str = "a.jsonl") -> Line:
    return Line(fields if isinstance(fields, str) else json.dumps(fields), source, 7)


def test_rows_are_target_words_and_columns_source_words() -> None:
    scores = [[0.9, 0.1], [0.2, 0.8], [0.0, 0.3]]
    (found,) = read_alignments([line({**WORDS, "links": [[0, 0], [1, 1]], "scores": scores})])
    (matrix,), legend = alignment_matrices([found], ["x/a.jsonl"])
    assert (matrix.title, matrix.rows, matrix.columns) == ("a.jsonl", WORDS["target"], WORDS["source"])
    np.testing.assert_allclose(matrix.values, np.array(scores).T)
    assert matrix.marks == [(0, 0), (1, 1)]
    assert (legend.low, legend.high) == (0, 1)
    matrices, _ = alignment_matrices([found, found], ["x/links", "y/links"])
    assert [each.title for each in matrices] == ["x/links", "y/links"]


def test_without_all_scores_the_scores_of_links_are_shown() -> None:
    (found,) = read_alignments([line({**WORDS, "links": [[2, 1, 0.25], [0, 0]]})])
    assert found.scores.tolist() == [[1, 0], [0, 0], [0, 0.25]]
    assert found.links == [(2, 1), (0, 0)]


def test_plain_links_use_the_words_of_another_file() -> None:
    gold, found = read_alignments([line("0-0 1p1", "gold"), line({**WORDS, "links": []})])
    assert (gold.source, gold.target) == (found.source, found.target) == (WORDS["source"], WORDS["target"])
    assert gold.links == [(0, 0), (1, 1)] and found.links == []
    _, scored = read_alignments([line({**WORDS, "links": []}), line("1-1 0-0:0.25")])
    assert scored.scores.tolist() == [[0.25, 0], [0, 1], [0, 0]]


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        (["0-0"], "a.jsonl:7: no file has words"),
        ([WORDS, "0-2"], "a.jsonl:7: link 0-2 for 3 source and 2 target words"),
        ([{**WORDS, "links": [[3, 0]]}], "a.jsonl:7: link 3-0 for 3 source and 2 target words"),
        ([{**WORDS, "links": [[-1, 0]]}], r"a.jsonl:7: \[-1, 0\] is not a link"),
        ([{**WORDS, "links": [[0]]}], "a.jsonl:7: "),
        ([{**WORDS, "links": 1}], "a.jsonl:7: "),
        ([{**WORDS, "scores": [[1, 0]]}], r"a.jsonl:7: scores are \[1, 2\] for 3 source and 2 target words"),
        ([{**WORDS, "scores": [[1, 0], [1], [0]]}], "a.jsonl:7: "),
        ([{"source": [], "target": ["a"]}], "a.jsonl:7: no words in source or target"),
        ([{**WORDS, "target": "ab"}], "a.jsonl:7: source and target must be lists of words"),
        ([{}], "a.jsonl:7: no file has words"),
        (["{"], "a.jsonl:7: "),
        ([WORDS, {**WORDS, "target": ["a", "b"]}], "a.jsonl:7: links of another target, .* at a.jsonl:7"),
    ],
)
def test_invalid_alignments_are_refused(lines: list[object], cause: str) -> None:
    with pytest.raises(BadInput, match=cause):
        read_alignments([line(fields) for fields in lines])


@pytest.mark.parametrize("score", [1e99, 1.1, -0.1, None])
def test_scores_outside_0_to_1_are_refused(score: float | None) -> None:
    for fields in ({"scores": [[1, 0], [0, 0], [0, score]]}, {"links": [[0, 0, 0.5], [2, 1, score]]}):
        with pytest.raises(BadInput, match=r"a\.jsonl:7: "):
            read_alignments([line({**WORDS, **fields})])


def test_words_stay_in_their_cells() -> None:
    """A reader of TSV without quotes gets one row per pair of words."""
    words = ['"', 'a"b', "c\td", "e\nf", "\u2028", "g"]
    (found,) = read_alignments([line({"source": words, "target": words[::-1], "links": [[0, 0, 1]]})])
    lines = as_tsv(*alignment_matrices([found], ['a"\tb']))
    header, *rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    assert len(rows) == len(words) ** 2 and {len(row) for row in rows} == {len(header)} == {6}
    assert [row[4] for row in rows[: len(words)]] == ['"', 'a"b', "c\\td", "e\\nf", "\\u2028", "g"]


@pytest.mark.parametrize("scores", [[["0.5"]], [["1_0"]], [[True]], [["nan"]], [[None]], 1, "0.5"])
def test_scores_are_numbers(scores: object) -> None:
    with pytest.raises(BadInput, match=r"a\.jsonl:7: "):
        read_alignments([line({"source": ["a"], "target": ["b"], "links": [], "scores": scores})])


def test_links_show_themselves() -> None:
    """Each word is written, sides from right to left run so, and a line is as faint as its link is unsure."""
    links = WordLinks(["the", "<b>"], ["הבית", "ה"], {(0, 1): 1.0, (1, 0): 0.5}, 0.75)
    svg = ElementTree.fromstring(links._repr_svg_())
    at = {node.text: float(node.get("x", 0)) for node in svg.iter() if node.get("x")}
    assert at["the"] < at["<b>"] and at["הבית"] > at["ה"]
    lines = [node for node in svg.iter() if node.get("class") == "link"]
    assert [line.get("opacity") for line in lines] == [None, "0.60"]
    assert [line.get("d") for line in lines] == [
        f"M{at['the']:.1f} 26L{at['ה']:.1f} 70", f"M{at['<b>']:.1f} 26L{at['הבית']:.1f} 70",
    ]  # fmt: skip
