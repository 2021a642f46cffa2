"""How many columns text takes in a terminal, and in which direction it runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.text.graphemes import columns, is_from_the_right

WIDTHS = {
    "": 0, "dog": 3, "Bäume": 5, "Ba\u0308ume": 5, "ẹ̀bà": 3, "Việt": 4, "Vie\u0323\u0302t": 4,
    "他是我爸爸": 10, "カタカナ": 8, "ｶﾀｶﾅ": 4, "Ａ": 2, "한국어": 6, "\u1112\u1161\u11ab": 2,
    "هو": 2, "می\u200cخواهم": 7, "בַּיִת": 3, "हिन्दी": 3, "น้ำ": 2, "คำ": 2, "ไทย": 3,
    "😀": 2, "👨\u200d👩\u200d👧": 2, "👍🏽": 2, "🇩🇪": 2, "❤️": 2, "❤": 1, "1️⃣": 2, "a😀b": 4, "…": 1, "—": 1,
}  # fmt: skip


@pytest.mark.parametrize("text", WIDTHS)
def test_columns_of_scripts(text: str) -> None:
    assert columns(text) == WIDTHS[text]


@given(st.text(st.characters(categories=["L", "Mn", "Mc", "Nd", "Po", "So"])))
def test_columns_are_those_of_wcwidth(text: str) -> None:
    wcwidth = pytest.importorskip("wcwidth")
    ours = [columns(each) for each in text]
    theirs = [wcwidth.wcwidth(each) for each in text]
    assert [(a, b) for a, b, each in zip(ours, theirs, text, strict=True) if a != b and b >= 0 and each.isalpha()] == []


FROM_THE_RIGHT = "هو أبي .", "הוא אבי .", "BBC قال إن أبي"
FROM_THE_LEFT = "the word أب means", "他 是", "28 .", ""


@pytest.mark.parametrize("text", [*FROM_THE_RIGHT, *FROM_THE_LEFT])
def test_the_direction_of_a_sentence(text: str) -> None:
    assert is_from_the_right(text.split()) == (text in FROM_THE_RIGHT)
