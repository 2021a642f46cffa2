"""Validations compare words, or characters in languages without spaces."""

import pytest

from synmt.training.validation import score_of_text

MONKEY = "\u7334\u5b50\u5728\u6811\u4e0a\u5403\u9999\u8549\u548c\u82f9\u679c"
NEARLY = MONKEY[:-1] + "\u6811"  # another last character, and so no word between spaces in common


@pytest.mark.parametrize(("language", "least", "most"), [("de", 0, 0), ("ja", 80, 99), ("zh", 80, 99), ("th", 80, 99)])
def test_bleu_finds_what_is_common_without_spaces(language: str, least: float, most: float) -> None:
    assert least <= score_of_text("bleu", language, [NEARLY], [MONKEY]) <= most
    assert score_of_text("bleu", language, [MONKEY], [MONKEY]) == pytest.approx(100) or language == "de"


def test_chrf_is_a_score_too() -> None:
    assert score_of_text("chrf", "de", [MONKEY], [MONKEY]) == pytest.approx(100)
    assert 50 < score_of_text("chrf", "de", [NEARLY], [MONKEY]) < 100
