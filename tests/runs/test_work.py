"""What a run makes of its data."""

from pathlib import Path

import pytest

from synmt.runs.file import Pair, RunFile
from synmt.runs.work import Workplace
from synmt.streams import BadInput


def test_both_sides_may_have_one_name(tmp_path: Path) -> None:
    for language in ("en", "de"):
        (tmp_path / language).mkdir()
        (tmp_path / language / "train").write_text(f"{language} 1\n{language} 2\n{language} 3\n")
    pair = Pair(tmp_path / "en" / "train", tmp_path / "de" / "train")
    place = Workplace(tmp_path, RunFile(pair, pair, {}, {}))
    (tmp_path / "data").mkdir()
    assert place.cut("source", pair.source, 2).read_text() == "en 1\nen 2\n"
    assert place.cut("target", pair.target, 2).read_text() == "de 1\nde 2\n"
    assert place.cut("target", pair.target, None) == pair.target
    with pytest.raises(BadInput, match="3 lines, and a size of the run is 4"):
        place.cut("source", pair.source, 4)
