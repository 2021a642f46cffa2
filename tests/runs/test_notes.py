"""Notes that record what a path was made from."""

from collections.abc import Callable
from pathlib import Path

import pytest

from synmt.model.made import digest, identity
from synmt.runs.tasks import Cost, Made, Workplace
from synmt.streams import BadInput


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "models" / "model.1"


def make(place: Workplace, path: Path, of: dict[str, str], work: Callable[[], Cost], anew: bool = False) -> Made:
    return place.make(path, lambda: of, work, anew)


def writing(path: Path, text: str = "made\n") -> Callable[[], Cost]:
    def work() -> Cost:
        path.write_text(text)
        return Cost(2.5)

    return work


def stopped(path: Path) -> Callable[[], Cost]:
    def work() -> Cost:
        path.write_text("half")
        raise KeyboardInterrupt

    return work


def test_finished_work_is_not_repeated(place: Workplace, path: Path) -> None:
    assert place.made(path) is None
    made = make(place, path, {"seed": "1"}, writing(path))
    assert made == place.made(path) == Made({"seed": "1"}, 2.5)
    assert make(place, path, {"seed": "1"}, stopped(path)) == made


def test_unfinished_work_resumes_only_with_the_same_inputs(place: Workplace, path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        make(place, path, {"updates": "300"}, stopped(path))
    assert place.made(path) == Made({"updates": "300"})
    for others, named in (
        ({"updates": "120"}, "updates 300, not 120"),
        ({}, "updates 300, not none"),
        ({"updates": "300", "beam": "2"}, "beam none, not 2"),
    ):
        with pytest.raises(BadInput, match=f"was begun with {named}; name another --out, or remove it"):
            make(place, path, others, writing(path))
    assert path.read_text() == "half"
    assert make(place, path, {"updates": "300"}, writing(path)).cpu_seconds == 2.5


def test_cheap_work_is_repeated(place: Workplace, path: Path) -> None:
    make(place, path, {"beam": "1"}, writing(path))
    with pytest.raises(KeyboardInterrupt):
        make(place, path, {"beam": "2"}, stopped(path), anew=True)
    made = make(place, path, {"beam": "1"}, writing(path, "again"), anew=True)  # the stopped work may have left junk
    assert (path.read_text(), made.of) == ("again", {"beam": "1"})
    assert make(place, path, {"beam": "1"}, stopped(path), anew=True) == made


def test_removed_output_can_be_made_from_other_inputs(place: Workplace, path: Path) -> None:
    make(place, path, {"seed": "1"}, writing(path))
    path.unlink()
    assert place.made(path) is None
    assert make(place, path, {"seed": "2"}, writing(path)).of == {"seed": "2"}


def test_output_without_a_note_does_not_belong_to_the_run(place: Workplace, path: Path) -> None:
    """For example, older versions did not write notes for unfinished output."""
    path.mkdir(parents=True)
    with pytest.raises(
        BadInput, match=r"model\.1: is not part of this run, since .* does not exist; name another --out"
    ):
        make(place, path, {}, writing(path))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"of": []}', '{"of": {}, "cpu_seconds": "1"}', '{"words": []}', '{"of": {}, "x": 1}']
)
def test_damaged_notes_are_reported(place: Workplace, path: Path, text: str) -> None:
    make(place, path, {}, writing(path))
    place.note(path).write_text(text)
    with pytest.raises(BadInput, match=r"model\.1\.json: "):
        place.made(path)


def test_identities_depend_on_content(tmp_path: Path) -> None:
    file, folder = tmp_path / "train.en", tmp_path / "model"
    file.write_text("a\n")
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "config.json").write_text("{}")
    before = identity(file), identity(folder)
    assert before == (identity(file), identity(folder)) and all(
        each.split()[0] in ("train.en", "model") for each in before
    )
    file.write_text("b\n")
    (folder / "inner" / "config.json").write_text("[]")
    assert identity(file) != before[0] and identity(folder) != before[1]
    with pytest.raises(BadInput, match="missing: No such file"):
        identity(tmp_path / "missing")
    assert digest({"a": "1", "b": "2"}) == digest({"b": "2", "a": "1"}) != digest({"a": "2", "b": "1"})
