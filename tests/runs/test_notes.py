"""Notes of what made a path."""

from pathlib import Path

import pytest

from synmt.runs.notes import Made, make, noted
from synmt.streams import BadInput


def written(path: Path, seconds: float = 2.5) -> float:
    path.write_text("made\n")
    return seconds


def test_a_path_is_noted_once_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "model.1"
    assert noted(path) is None
    made = make(path, ["--seed", "1"], lambda: written(path))
    assert made == noted(path) == Made(["--seed", "1"], 2.5)

    def stopped() -> float:
        path.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(path, ["--seed", "2"], stopped)
    assert path.read_text() == "half" and noted(path) is None


def test_what_was_removed_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "test.de"
    make(path, [], lambda: written(path))
    path.unlink()
    assert noted(path) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"words": []}', '{"words": 1, "cpu_seconds": 1.0}'])
def test_a_spoiled_note_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "model.1"
    make(path, [], lambda: written(path))
    note = tmp_path / "model.1.made.json"
    note.write_text(text)
    with pytest.raises(BadInput, match=r"model\.1\.made\.json: "):
        noted(path)
