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


def test_data_that_has_changed_is_refused(tmp_path: Path) -> None:
    """But not a reference, on which no model depends, nor another test."""
    for name in ("train", "dev", "test", "other"):
        for language in ("en", "de"):
            (tmp_path / f"{name}.{language}").write_text(f"{name} {language}\n")
    pairs = {name: Pair(tmp_path / f"{name}.en", tmp_path / f"{name}.de") for name in ("train", "dev", "test", "other")}
    out = tmp_path / "out"
    (out / "data").mkdir(parents=True)

    def check(*tests: str) -> None:
        Workplace(out, RunFile(pairs["train"], pairs["dev"], {name: pairs[name] for name in tests}, {})).check_data()

    check("test")
    (tmp_path / "test.de").write_text("a better reference\n")
    check("test", "other")
    for name in ("train.en", "train.de", "dev.en", "dev.de", "test.en", "other.en"):
        before = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(before + b"more\n")
        with pytest.raises(BadInput, match=f"{name}: has changed since it was used in .*out; name another --out"):
            check("test", "other")
        (tmp_path / name).write_bytes(before)
    check("test")
    (tmp_path / "dev.de").unlink()
    with pytest.raises(BadInput, match=r"dev\.de: No such file"):
        check("test")
