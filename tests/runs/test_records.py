"""Records of what a path was made from, in the logs of steps."""

from collections.abc import Callable
from pathlib import Path

import pytest

from synmt.model.fingerprint import digest, fingerprint_of
from synmt.runs.steps import Cost, Record, RunFolder, Step, Unfinished
from synmt.streams import BadInput


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "models" / "model.1"


def make(folder: RunFolder, path: Path, of: dict[str, str], work: Callable[[], Cost], anew: bool = False) -> Record:
    return folder.make(Step("making", path.name, path, (), lambda: of, work, anew=anew))


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


def test_finished_work_is_not_repeated(folder: RunFolder, path: Path) -> None:
    assert folder.record(path) is None
    made = make(folder, path, {"seed": "1"}, writing(path))
    assert made == folder.record(path) == Record({"seed": "1"}, 2.5, is_finished=True)
    assert make(folder, path, {"seed": "1"}, stopped(path)) == made


def test_unfinished_work_resumes_only_with_the_same_inputs(folder: RunFolder, path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        make(folder, path, {"updates": "300"}, stopped(path))
    assert folder.record(path) == Record({"updates": "300"})
    for others, named in (
        ({"updates": "120"}, "updates 300, not 120"),
        ({}, "updates 300, not the default"),
        ({"updates": "300", "beam": "2"}, "beam the default, not 2"),
        ({"updates": "300", "tokenizer": "none"}, "tokenizer the default, not none"),
    ):
        with pytest.raises(BadInput, match=f"was started with {named}; name another --out, or remove it"):
            make(folder, path, others, writing(path))
    assert path.read_text() == "half"
    assert make(folder, path, {"updates": "300"}, writing(path)).cpu_seconds == 2.5


def test_cheap_work_is_repeated(folder: RunFolder, path: Path) -> None:
    make(folder, path, {"beam": "1"}, writing(path))
    with pytest.raises(KeyboardInterrupt):
        make(folder, path, {"beam": "2"}, stopped(path), anew=True)
    made = make(folder, path, {"beam": "1"}, writing(path, "again"), anew=True)  # the stopped work may have left junk
    assert (path.read_text(), made.inputs) == ("again", {"beam": "1"})
    assert make(folder, path, {"beam": "1"}, stopped(path), anew=True) == made


def test_removed_output_can_be_made_from_other_inputs(folder: RunFolder, path: Path) -> None:
    make(folder, path, {"seed": "1"}, writing(path))
    path.unlink()
    assert folder.record(path) is None
    assert make(folder, path, {"seed": "2"}, writing(path)).inputs == {"seed": "2"}


def test_output_without_a_log_does_not_belong_to_the_run(folder: RunFolder, path: Path) -> None:
    """For example, an older version may have made it."""
    path.mkdir(parents=True)
    with pytest.raises(
        BadInput,
        match=r"model\.1: is not part of this run, since .*model\.1\.log has no record of it; name another --out",
    ):
        make(folder, path, {}, writing(path))


def test_a_folder_of_an_older_version_is_refused(tmp_path: Path) -> None:
    for name in ("notes", "locks", "logs"):
        (tmp_path / name).mkdir()
    with (
        pytest.raises(BadInput, match="is not empty; no run of this version of synmt made it: name a new folder"),
        RunFolder(tmp_path).opened(),
    ):
        pass


@pytest.mark.parametrize("text", ["", "{", "[]", '{"inputs": []}', '{"inputs":{}, "cpu_seconds": "1"}', '{"inputs":'])
def test_a_log_without_a_whole_record_is_reported(text: str, folder: RunFolder, path: Path) -> None:
    make(folder, path, {}, writing(path))
    folder.log(path).write_text(text)
    with pytest.raises(BadInput, match=r"model\.1: is not part of this run, since .*model\.1\.log has no record of it"):
        folder.record(path)


@pytest.mark.parametrize("end", ["synmt train: updat", '{"inputs":{"updates":"300"},"cpu_sec', ""])
def test_the_last_whole_record_of_a_log_holds(end: str, folder: RunFolder, path: Path) -> None:
    """The computer may fail while a line is written."""
    with pytest.raises(KeyboardInterrupt):
        make(folder, path, {"updates": "300"}, stopped(path))
    with folder.log(path).open("a") as log:
        log.write(end)
    assert folder.record(path) == Record({"updates": "300"})
    made = make(folder, path, {"updates": "300"}, writing(path))
    assert folder.record(path) == made == Record({"updates": "300"}, 2.5, is_finished=True)


def test_the_cpu_time_of_all_attempts_adds_up(folder: RunFolder, path: Path) -> None:
    """A failed attempt counts if the next one resumes it, which it does with the same inputs."""

    def fail() -> Cost:
        path.write_text("half")
        raise Unfinished("killed", folder.log(path), Cost(2.0))

    for _ in range(3):
        with pytest.raises(BadInput, match="killed"):
            make(folder, path, {"updates": "300"}, fail)
    assert make(folder, path, {"updates": "300"}, writing(path)).cpu_seconds == 8.5
    assert make(folder, path, {"updates": "5"}, writing(path), anew=True).cpu_seconds == 2.5


def test_identities_depend_on_content(tmp_path: Path) -> None:
    file, folder = tmp_path / "train.en", tmp_path / "model"
    file.write_text("a\n")
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "config.json").write_text("{}")
    before = fingerprint_of(file), fingerprint_of(folder)
    assert before == (fingerprint_of(file), fingerprint_of(folder)) and all(
        each.split()[0] in ("train.en", "model") for each in before
    )
    file.write_text("b\n")
    (folder / "inner" / "config.json").write_text("[]")
    assert fingerprint_of(file) != before[0] and fingerprint_of(folder) != before[1]
    with pytest.raises(BadInput, match="missing: No such file"):
        fingerprint_of(tmp_path / "missing")
    assert digest({"a": "1", "b": "2"}) == digest({"b": "2", "a": "1"}) != digest({"a": "2", "b": "1"})
