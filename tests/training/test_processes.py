"""Training in several processes: sharing one run, being killed, or competing for a folder."""

import os
import random
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from shlex import split
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM, Signals

import pytest
import torch

from synmt.model.files import ASIDE
from synmt.training.checkpoint import checkpoints
from tests.fuzz.commands import Done, ended, run, start
from tests.training.runs import state, write_corpus

OPTIONS = split(
    "--model mask --preset small --tokenizer none --target-language de --width 32 --feedforward 64 --heads 2"
    " --encoder-layers 2 --decoder-layers 2 --dropout 0.2 --merges 20 --batch-tokens 40 --select loss"
    " --schedule constant --average 1 --report-every 1 --checkpoint-minutes 0.001 --epochs 3 --device cpu"
)
FIT = split(
    "align pairs --tokenizer none --width 16 --feedforward 16 --heads 2 --encoder-layers 1 --decoder-layers 2"
    " --merges 5 --batch-tokens 40 --epochs 2 --report-every 1 --device cpu --out kept"
)
NOWHERE = 20_000, 32_000  # ports that no system hands out by itself


def command(folder: Path, name: str, *more: str) -> list[str]:
    """Return a training command for the corpus in the folder. Makes the corpus if it does not exist."""
    data = write_corpus(folder)
    assert data.target
    files = ["--source", data.source, "--target", data.target, "--dev-source", data.source, "--dev-target", data.target]
    return ["train", *OPTIONS, *files, "--out", str(folder / name), *more]


class Group:
    """A command in several processes that share the work, as torchrun starts them."""

    def __init__(self, folder: Path, arguments: list[str], size: int) -> None:
        self.arguments = arguments
        self.folders = [folder / f"rank {rank}" for rank in range(size)]
        port = str(free_port())
        self.processes: list[BaseProcess] = []
        for rank, own in enumerate(self.folders):
            own.mkdir(exist_ok=True)
            place = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size)}
            address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
            self.processes.append(start(arguments, own, 60, **place, **address))

    def end(self) -> list[Done]:
        both = zip(self.processes, self.folders, strict=True)
        return [ended(process, self.arguments, folder) for process, folder in both]

    def send(self, number: Signals, *ranks: int) -> None:
        for rank in ranks:
            pid = self.processes[rank].pid
            assert pid
            os.kill(pid, number)


def free_port() -> int:
    for port in random.sample(range(*NOWHERE), 100):
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port")


def wait_for(holds: Callable[[], bool], running: BaseProcess) -> None:
    while not holds():
        assert running.is_alive(), "it has ended too soon"
        time.sleep(0.005)


def logged(model: Path) -> int:
    """Return the number of rows of a log."""
    return (model / "log.tsv").read_bytes().count(b"\n") - 1 if (model / "log.tsv").exists() else 0


def assert_same(one: Path, other: Path) -> None:
    (mine, my_rows), (its, its_rows) = state(one), state(other)
    assert mine.keys() == its.keys()
    assert [name for name in mine if not torch.equal(mine[name], its[name])] == []
    assert my_rows == its_rows


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an uninterrupted training run in two processes."""
    folder = tmp_path_factory.mktemp("whole")
    for done in Group(folder, command(folder, "model"), 2).end():
        assert done.code == 0, done.said
    return folder / "model"


@pytest.mark.parametrize(("number", "ranks"), [(SIGKILL, (0,)), (SIGKILL, (1,)), (SIGTERM, (0, 1)), (SIGTERM, (1,))])
def test_a_run_with_killed_processes_resumes_to_the_same_model(
    number: Signals, ranks: tuple[int, ...], whole: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    group = Group(tmp_path, command(tmp_path, "model"), 2)
    wait_for(lambda: logged(model) > 15, group.processes[0])
    group.send(number, *ranks)
    for rank, done in enumerate(group.end()):
        if number == SIGKILL and rank in ranks:
            assert done.code == -SIGKILL
        else:
            done.check(stopped_by=SIGTERM)
            assert done.code == (1 if number == SIGKILL else 128 + SIGTERM), done.said
    assert checkpoints(model / "checkpoint")
    for done in Group(tmp_path, command(tmp_path, "model", "--resume"), 2).end():
        assert done.code == 0, done.said
    assert_same(model, whole)


def test_a_run_resumes_with_another_number_of_processes(whole: Path, tmp_path: Path) -> None:
    """If the total number of batches per update stays the same, updates do not depend on the number of processes,
    except for the rounding of sums."""
    model = tmp_path / "model"
    for number, (size, updates) in enumerate([(1, "7"), (2, "19"), (1, "30"), (2, "0")]):
        options = ["--accumulate", str(2 // size), "--updates", updates, *["--resume"] * (number > 0)]
        for done in Group(tmp_path, command(tmp_path, "model", *options), size).end():
            assert done.code == 0, done.said
    (mine, my_rows), (its, its_rows) = state(model), state(whole)
    difference = {name: float((mine[name] - its[name]).abs().max()) for name in mine if mine[name].numel()}
    assert max(difference.values()) < 1e-5, difference
    assert {row[0]: row[1] for row in my_rows} == {row[0]: row[1] for row in its_rows}  # updates and epochs


@contextmanager
def paused(process: BaseProcess) -> Iterator[None]:
    assert process.pid
    os.kill(process.pid, SIGSTOP)
    try:
        yield
    finally:
        os.kill(process.pid, SIGCONT)


def refuses(done: Done, cause: str) -> bool:
    done.check()
    return done.code == 1 and cause in done.said


def test_reading_and_writing_do_not_disturb_training(tmp_path: Path) -> None:
    (tmp_path / "text").write_text('{"tree": "(NP (NN father))"}\n')
    first = start(command(tmp_path, "model"), tmp_path)
    model, other = tmp_path / "model", tmp_path / "other"
    other.mkdir()
    wait_for(lambda: (model / "model.safetensors").exists(), first)
    with paused(first):
        assert refuses(run(command(tmp_path, "model", "--resume"), other), "another process is writing to this folder")
        assert refuses(
            run(command(tmp_path, "model"), other),
            "already has a model; name a new folder, or add --resume to continue its training run",
        )
    while first.is_alive():
        done = run(["translate", str(model), str(tmp_path / "text")], other)
        assert (done.code, len(done.lines)) == (0, 1), done.said
    assert ended(first, [], tmp_path).code == 0
    assert run(command(tmp_path, "alone"), other).code == 0
    assert_same(model, tmp_path / "alone")


@pytest.mark.parametrize("method", ["mask-align", "naive-att"])
def test_two_aligners_cannot_be_fitted_into_one_folder(method: str, tmp_path: Path) -> None:
    (tmp_path / "pairs").write_text("a b c\tx y z\nb c\ty z\na\tx\n" * 8)
    arguments, begun = [*FIT, "--method", method], "kept" if method == "mask-align" else "kept/forward"
    first = start(arguments, tmp_path)
    wait_for(lambda: (tmp_path / begun / "log.tsv").exists(), first)
    other = tmp_path / "other"
    other.mkdir()
    again = [str(tmp_path / each) if each in ("pairs", "kept") else each for each in arguments]
    with paused(first):
        assert refuses(run([*again, "--resume"], other), "another process is writing to this folder")
        assert refuses(
            run(again, other), "already has a model; name a new folder, or add --resume to continue its training run"
        )
    done = ended(first, arguments, tmp_path)
    assert done.code == 0, done.said
    again[again.index(str(tmp_path / "kept"))] = "alone"
    assert run(again, other).lines == done.lines


@contextmanager
def small_disk(path: Path, megabytes: int) -> Iterator[None]:
    path.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", path], capture_output=True)
    if mounted.returncode:
        pytest.skip("needs the right to mount a small disk")
    try:
        yield
    finally:
        subprocess.run(["umount", path], check=True)


def fill(path: Path, left: int) -> None:
    """Fill the disk, leaving this many bytes."""
    with path.open("wb", buffering=0) as stream:
        try:
            while stream.write(bytes(4096)):
                pass
        except OSError:
            stream.truncate(max(0, stream.tell() - left))


@pytest.mark.parametrize("left", [0, 100_000])
def test_after_a_full_disk_a_run_resumes_from_the_last_checkpoint(left: int, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 8):
        model, other = tmp_path / "disk" / "model", tmp_path / "other"
        other.mkdir()
        arguments = command(tmp_path, "disk/model")
        assert run([*arguments, "--updates", "8"], other).code == 0
        before = {path: path.read_bytes() for path in model.rglob("*.safetensors")}
        fill(tmp_path / "disk" / "filler", left)
        full = run([*arguments, "--resume"], other)
        assert refuses(full, "No space left on device"), full.said
        kept = checkpoints(model / "checkpoint")[0]
        assert kept.read_bytes() == before.get(kept, kept.read_bytes())
        assert not list(model.rglob(f"{ASIDE}*"))
        assert not list(model.rglob(".tmp*"))
        (tmp_path / "disk" / "filler").unlink()
        assert run([*arguments, "--resume"], other).code == 0
        assert run([*command(tmp_path, "alone"), "--updates", "8"], other).code == 0
        assert run(command(tmp_path, "alone", "--resume"), other).code == 0
        assert_same(model, tmp_path / "alone")
