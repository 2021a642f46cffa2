import re
import struct
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest

from synmt.inspection.matrix import DPI, MOST_CELLS, Legend, Matrix, Picture, PictureForm, _grid, draw_matrices, picture
from synmt.streams import BadInput
from synmt.text.graphemes import label
from tests.conftest import Noted

LEGEND = Legend("query", "key", "weight", "Blues", 0.0, 1.0)
SVG = "{http://www.w3.org/2000/svg}"


def square(tokens: list[str], title: str = "head 1") -> Matrix:
    values = np.random.default_rng(0).random((len(tokens), len(tokens))).astype(np.float32)
    return Matrix(title, tokens, tokens, values, marks=[(0, 0)])


def drawn(form: PictureForm, *matrices: Matrix) -> bytes:
    return picture(lambda figure: draw_matrices(figure, matrices, LEGEND), form)


def texts(svg: bytes) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_a_png_is_as_large_as_its_tokens_need() -> None:
    sizes = []
    for count in (20, 40):
        data = drawn("png", square(["token"] * count))
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        sizes.append(struct.unpack(">II", data[16:24]))
    assert all(count * 0.17 * DPI < length for count, size in zip((20, 40), sizes, strict=True) for length in size)
    assert sizes[1][0] - sizes[0][0] == pytest.approx(20 * 0.17 * DPI, abs=2)


def test_pdf_files_are_reproducible() -> None:
    first, second = (drawn("pdf", square(["a", "b"])) for _ in range(2))
    assert first == second and first.startswith(b"%PDF")


def test_an_svg_contains_its_tokens_as_text() -> None:
    tokens = ["PRP$", "$x$", "<script>alert(1)</script>", "a&b", "\"q'", "Übung", "我", "x\x01y", "\ufffe", "_^{"]
    shown = texts(drawn("svg", square(tokens, title="<b> $y$")))
    for token in tokens:
        assert shown.count(label(token)) == 2
    assert "<b> $y$" in shown
    assert {"query", "key", "weight"} <= set(shown)


def test_forty_labels_do_not_overlap() -> None:
    tokens = [f"token{number}" for number in range(40)]
    root = ElementTree.fromstring(drawn("svg", square(tokens)))
    labels = [node.attrib for node in root.iter(f"{SVG}text") if node.text in tokens]
    rows = [float(label["y"]) for label in labels if "y" in label]
    columns = [float(label["transform"].split("(")[1].split()[0]) for label in labels if "y" not in label]
    assert len(rows) == len(columns) == 40
    assert {label["style"].split(";")[0] for label in labels} == {"font-size: 7px"}
    assert min(np.diff(rows)) > 7 and min(np.diff(columns)) > 7


def test_drawing_is_reproducible_and_leaves_matplotlib_unchanged() -> None:
    before = dict(matplotlib.rcParams)
    for form in ("png", "svg"):
        assert drawn(form, square(["a", "b"])) == drawn(form, square(["a", "b"]))
    assert dict(matplotlib.rcParams) == before


def test_small_matrices_show_their_numbers() -> None:
    matrix = Matrix("", ["a", "b"], ["c", "d"], np.array([[0.25, 1], [0.5, -0.001]], np.float32))
    shown = texts(drawn("svg", matrix))
    assert {"0.25", "1.00", "0.50", "0.00"} <= set(shown)
    assert not any(re.fullmatch(r"\d\.\d\d", text) for text in texts(drawn("svg", square(["a"] * 13))))


def test_characters_that_no_font_has_are_reported_for_png(noted: Noted) -> None:
    drawn("svg", square(["\U00012000"]))
    assert noted() == ""
    drawn("png", square(["\U00012000"]))
    assert noted().startswith("no installed font has some of the characters")


def test_too_many_tokens_are_refused() -> None:
    with pytest.raises(BadInput, match=f"{MOST_CELLS + 1} tokens, but a picture can show {MOST_CELLS}"):
        drawn("svg", square(["a"] * (MOST_CELLS + 1)))


def test_a_png_with_too_many_dots_is_refused() -> None:
    with pytest.raises(BadInput, match=r"^a PNG of \d+ x \d+ dots is too large: use SVG or PDF$"):
        drawn("png", *[square(["a"] * MOST_CELLS)] * 64)


def test_panels_fill_their_rows_if_possible() -> None:
    assert [_grid(panels) for panels in (1, 2, 3, 4, 6, 8, 12, 16)] == [
        *((1, 1), (2, 1), (3, 1), (2, 2), (3, 2), (4, 2), (4, 3), (4, 4))
    ]


def test_labels_are_short_and_valid_xml() -> None:
    assert label(" NP") == "NP"
    assert label("x" * 50) == "x" * 23 + "…"
    assert label("a\u202eb\x00\ud800") == "a\ufffdb\ufffd\ufffd"


@pytest.mark.parametrize(("columns", "inches"), [(1, 3.3), (2, 6.9)])
@pytest.mark.parametrize("words", [5, 30])
def test_matrices_fill_the_columns_of_a_page(columns: int, inches: float, words: int) -> None:
    shown = [square(["word"] * words), square(["word"] * words)]
    figure = Picture(lambda figure: draw_matrices(figure, shown, LEGEND, columns)).figure()
    assert figure.get_size_inches()[0] == pytest.approx(inches)
    sizes = {float(each.get_fontsize()) for axes in figure.axes[:2] for each in axes.get_yticklabels()}
    assert min(sizes) > 4 and max(sizes) <= 7
