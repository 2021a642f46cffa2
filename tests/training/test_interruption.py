"""Nothing is lost when a training run is stopped, killed, or runs out of disk space."""

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from signal import SIG_DFL, SIG_IGN, SIGHUP, SIGINT, SIGTERM, Signals, raise_signal, signal
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch

from synmt.model.files import ASIDE
from synmt.model.folder import ModelFolder
from synmt.streams import BadInput
from synmt.streams.process import Interrupted, Interruption
from synmt.training.checkpoint import checkpoints
from synmt.training.loop import CHECKPOINTS
from synmt.training.run import PairFiles
from synmt.training.update import Updater
from synmt.training.validation import Validation
from tests.conftest import Noted
from tests.training.kill import kill_often
from tests.training.runs import SHORT, run, write_corpus
from tests.training.test_run import assert_same_tensors, log_rows, newest

CONFIG = replace(SHORT, epochs=2)  # 30 updates


@pytest.fixture(autouse=True)
def heeded_signals() -> Iterator[None]:
    """Handle signals as in a terminal. A process started by `nohup` or a shell's `&` ignores some of them, and so does
    its training run."""
    before = {number: signal(number, SIG_DFL) for number in (SIGINT, SIGTERM, SIGHUP)}
    yield
    for number, handler in before.items():
        signal(number, handler)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[PairFiles, ModelFolder]:
    """Return the data, and an uninterrupted run."""
    folder = tmp_path_factory.mktemp("whole")
    data = write_corpus(folder)
    return data, run(folder / "model", data, config=CONFIG)


def assert_same_runs(first: ModelFolder, second: ModelFolder) -> None:
    assert_same_tensors(first.parameters, second.parameters)
    assert_same_tensors(newest(first), newest(second))
    assert log_rows(first) == log_rows(second)


def on_call(number: int, method: Callable[..., Any], act: Callable[[], object]) -> Callable[..., Any]:
    """Return the method, which also calls `act` at its call number `number`."""
    calls = iter(range(1, 10**6))

    def acting(*arguments: Any) -> Any:
        if next(calls) == number:
            act()
        return method(*arguments)

    return acting


@pytest.mark.parametrize(
    ("owner", "call", "number", "said"),
    [
        (Updater, 3, SIGTERM, "stopped after update 3"),
        (Updater, 15, SIGINT, "stopped in the validation after update 15"),
        (Validation, 2, SIGHUP, "stopped in the validation after update 30"),
    ],
)
def test_a_run_stopped_by_a_signal_resumes_to_the_same_numbers(
    whole: tuple[PairFiles, ModelFolder],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    call: int,
    number: Signals,
    said: str,
) -> None:
    data, uninterrupted = whole
    with monkeypatch.context() as patch:
        name = "__call__" if owner is Updater else "shard"
        patch.setattr(owner, name, on_call(call, getattr(owner, name), lambda: raise_signal(number)))
        how = "the same command with --resume continues from there"
        with pytest.raises(Interrupted, match=rf"{number.name}: {said}; {how}") as stop:
            run(tmp_path / "model", data, config=CONFIG)
    assert stop.value.signal == number
    assert_same_runs(run(tmp_path / "model", data, config=CONFIG, resume=True), uninterrupted)


def test_ignored_signals_stay_ignored_and_others_are_held_back() -> None:
    seen: list[int] = []
    before = [signal(SIGHUP, SIG_IGN), signal(SIGTERM, lambda number, _: seen.append(number))]
    try:
        with Interruption() as interruption:
            raise_signal(SIGHUP)
            assert interruption.signal is None
            raise_signal(SIGTERM)
            assert (interruption.signal, seen) == (SIGTERM, [])
        assert seen == [SIGTERM]
    finally:
        signal(SIGHUP, before[0])
        signal(SIGTERM, before[1])


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def lose_a_block(data: bytes) -> bytes:
    return data[:-8192] + bytes(4096) + data[-4096:]


def lose_a_counter(data: bytes) -> bytes:
    return data.replace(b'\\"update\\": 8', b'\\"update\\": 9')


@pytest.mark.parametrize("damage", [cut, lose_a_block, lose_a_counter, lambda _: b""])
def test_a_torn_checkpoint_is_replaced_by_the_previous_one(
    tmp_path: Path, noted: Noted, damage: Callable[[bytes], bytes]
) -> None:
    data = write_corpus(tmp_path, copies=2)
    part = run(tmp_path / "model", data, config=replace(CONFIG, updates=8, validate_every=4))
    last, previous = checkpoints(part.path / CHECKPOINTS)
    assert (last.name, previous.name) == ("update-8.safetensors", "update-4.safetensors")
    damaged = damage(last.read_bytes())
    assert damaged != last.read_bytes()
    last.write_bytes(damaged)
    (last.parent / f"{ASIDE}0123456789abcdef").touch()  # left by a process that was killed
    every_four = replace(CONFIG, validate_every=4)
    resumed = run(tmp_path / "model", data, config=every_four, resume=True)
    assert f"skipped a checkpoint: {last}: " in noted()
    assert_same_runs(resumed, run(tmp_path / "other", data, config=every_four))
    assert len(list(last.parent.iterdir())) == 2
    for path in last.parent.iterdir():
        path.write_bytes(b"")
    with pytest.raises(BadInput, match=r"update-\d+\.safetensors: "):
        run(tmp_path / "model", data, config=CONFIG, resume=True)


def test_a_run_killed_before_its_first_checkpoint_starts_again(
    whole: tuple[PairFiles, ModelFolder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, uninterrupted = whole

    def die() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Updater, "__call__", on_call(4, Updater.__call__, die))
        run(tmp_path / "model", data, config=CONFIG)
    assert (tmp_path / "model" / "log.tsv").exists()
    assert not (tmp_path / "model" / CHECKPOINTS).exists()
    assert_same_runs(run(tmp_path / "model", data, config=CONFIG, resume=True), uninterrupted)


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """In this context, writing more than `size` bytes to a file fails, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_the_older_checkpoints(tmp_path: Path) -> None:
    data = write_corpus(tmp_path)
    other, part = (run(tmp_path / name, data, config=replace(CONFIG, updates=8)) for name in ("other", "model"))
    before = newest(part).read_bytes()
    with largest_file(len(before) // 2), pytest.raises(BadInput, match=r"model.*safetensors: .*File too large"):
        run(tmp_path / "model", data, config=CONFIG, resume=True)
    assert newest(part).read_bytes() == before
    assert not list(part.path.rglob(f"{ASIDE}*"))
    with largest_file(1), pytest.raises(BadInput, match=r"synmt-.*: File too large"):
        run(tmp_path / "model", data, config=replace(CONFIG, max_length=99), resume=True)
    assert_same_runs(*(run(folder.path, data, config=CONFIG, resume=True) for folder in (part, other)))


def test_a_full_disk_before_the_first_checkpoint(tmp_path: Path) -> None:
    data = write_corpus(tmp_path)
    with largest_file(1), pytest.raises(BadInput, match=r"synmt-.*: File too large"):
        run(tmp_path / "model", data, config=replace(SHORT, max_length=98))
    run(tmp_path / "model", data, config=replace(SHORT, updates=1))


@contextmanager
def as_nobody() -> Iterator[None]:
    """In this context, file permissions apply, which root could ignore."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


def test_an_unwritable_folder_is_reported_before_anything_is_read() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "model").mkdir()
        (folder / "model").chmod(0o555)
        folder.chmod(0o555)
        missing = PairFiles("missing.en", "missing.de")
        with as_nobody():
            for path in (folder / "model", folder / "other"):
                with pytest.raises(BadInput, match=rf"{path}.*: Permission denied"):
                    run(path, missing)
        folder.chmod(0o755)
        (folder / "model").chmod(0o755)
    with pytest.raises(BadInput, match="/dev/null/model: Not a directory"):
        run(Path("/dev/null/model"), missing)


def test_checkpoints_are_written_at_intervals(tmp_path: Path) -> None:
    data = write_corpus(tmp_path)
    folder = run(tmp_path / "model", data, config=replace(CONFIG, checkpoint_minutes=1e-9))
    assert [path.name for path in checkpoints(folder.path / CHECKPOINTS)] == [
        "update-30.safetensors",
        "update-29.safetensors",
    ]


def test_a_run_killed_repeatedly_ends_like_an_undisturbed_one(tmp_path: Path) -> None:
    """This is a short form of `python -m tests.training.kill`."""
    assert kill_often(tmp_path, kills=2, epochs=2, seed=2)


def test_the_checksum_covers_every_part() -> None:
    from synmt.training.checkpoint import checksum

    tensors = {"a": torch.zeros(3), "b": torch.ones(2, 2)}
    others = [{**tensors, "a": torch.tensor([0, 0, 1e-9])}, {"a": tensors["a"], "c": tensors["b"]}]
    sums = {checksum("1", tensors), checksum("2", tensors), *(checksum("1", other) for other in others)}
    assert len(sums) == 4
