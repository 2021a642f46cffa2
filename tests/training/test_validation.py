"""Validations compute in the precision of their training, and compare words, or characters in languages without
spaces."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from synmt.training.validation import score_of_text
from tests.training.runs import SHORT, run, write_corpus

MONKEY = "\u7334\u5b50\u5728\u6811\u4e0a\u5403\u9999\u8549\u548c\u82f9\u679c"
NEARLY = MONKEY[:-1] + "\u6811"  # another last character, and so no word between spaces in common


@pytest.mark.parametrize(("language", "least", "most"), [("de", 0, 0), ("ja", 80, 99), ("zh", 80, 99), ("th", 80, 99)])
def test_bleu_finds_what_is_common_without_spaces(language: str, least: float, most: float) -> None:
    assert least <= score_of_text("bleu", language, [NEARLY], [MONKEY]) <= most
    assert score_of_text("bleu", language, [MONKEY], [MONKEY]) == pytest.approx(100) or language == "de"


def test_chrf_is_a_score_too() -> None:
    assert score_of_text("chrf", "de", [MONKEY], [MONKEY]) == pytest.approx(100)
    assert 50 < score_of_text("chrf", "de", [NEARLY], [MONKEY]) < 100


@pytest.mark.parametrize("select", ["loss", "bleu"])
def test_a_validation_has_the_precision_of_its_training(
    select: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the loss, which differs a little between models that are the same; and in the search."""
    from synmt.decoding import translation

    data, losses, seen = write_corpus(tmp_path), [], list[bool]()
    search = translation.beam_search

    def noted(*arguments: Any) -> Any:
        seen.append(torch.is_autocast_enabled("cpu"))
        return search(*arguments)

    monkeypatch.setattr(translation, "beam_search", noted)
    for precision in ("auto", "fp32", "bf16"):
        still: Any = replace(SHORT, learning_rate=0.0, updates=1, precision=precision, select=select)
        folder = run(tmp_path / precision, data, config=still)
        header, row = (line.split("\t") for line in (folder.path / "log.tsv").read_text().splitlines())
        losses.append(float(row[header.index("valid_loss")]))
    assert losses[0] == losses[1] != losses[2] == pytest.approx(losses[1], rel=0.01)
    assert seen == ([] if select == "loss" else [False] * (len(seen) // 3 * 2) + [True] * (len(seen) // 3))
