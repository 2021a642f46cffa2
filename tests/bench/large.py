"""`python -m tests.bench.large SOURCE TARGET --pairs 4500000`: training on a corpus as large as WMT's.

The corpus repeats the pairs of two files, with one word in ten changed, in a temporary folder (TMPDIR). Each row has
CPU seconds of all processes, seconds of wall-clock time, and the most memory of all processes together, in which pages
that several processes share count once. The last row is the time that one process needs for the order of an epoch, and
the most memory that it allocates for it.
"""

import resource
import subprocess
import sys
import time
import tracemalloc
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import msgspec
import psutil

from synmt.data.prepared import DESCRIPTION, open_pairs
from synmt.model.config import ModelConfig
from synmt.model.folder import ModelFolder
from synmt.training.config import TrainingConfig
from tests.bench.aligners import noisy

EVERY = 0.5  # seconds between two looks at the memory
MIB = 2**20
ROW = "{:<24}{:>12}{:>12}{:>12}"


def write_corpus(files: tuple[str, str], pairs: int, folder: Path) -> None:
    sides = [Path(file).read_text(encoding="utf-8").splitlines() for file in files]
    some = [f"{source}\t{target}" for source, target in zip(*sides, strict=True) if source.strip() and target.strip()]
    with (folder / "source").open("w") as source, (folder / "target").open("w") as target:
        for pair in noisy(some, pairs):
            left, right = pair.split("\t")
            source.write(f"{left}\n")
            target.write(f"{right}\n")


def usage(command: list[str], folder: Path) -> tuple[float, float, float]:
    """Run a command in a folder; return CPU seconds, seconds, and MiB. Raises CalledProcessError."""
    start, most = time.perf_counter(), 0
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with psutil.Popen(command, cwd=folder, stderr=subprocess.DEVNULL) as running:
        while running.poll() is None:
            most = max(most, memory(running))
            time.sleep(EVERY)
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, time.perf_counter() - start, most / MIB


def memory(process: psutil.Process) -> int:
    """Return the bytes of a process and those below it; shared pages count in proportion."""
    total = 0
    with suppress(psutil.Error):
        for each in (process, *process.children(recursive=True)):
            with suppress(psutil.Error):
                total += each.memory_full_info().pss
    return total


def order(folder: Path, batch_tokens: int) -> tuple[float, float]:
    """Return the CPU seconds and MiB of an epoch's order of the saved columns, for the model in `folder`."""
    (place,) = (path.parent for path in (folder / "columns").glob(f"*/{DESCRIPTION}"))
    known = msgspec.json.decode((place / DESCRIPTION).read_bytes())["fingerprint"]
    corpus = open_pairs(place, known, ModelFolder.open(folder / "model", ModelConfig).config, TrainingConfig()).corpus
    start = time.process_time()
    corpus.shuffled_batches(batch_tokens, seed=1, epoch=1)
    seconds = time.process_time() - start
    tracemalloc.start()
    corpus.shuffled_batches(batch_tokens, seed=1, epoch=2)
    return seconds, tracemalloc.get_traced_memory()[1] / MIB


@click.command()
@click.argument("files", nargs=2, metavar="SOURCE TARGET", type=click.Path(exists=True))
@click.option("--pairs", type=click.IntRange(1), default=4_500_000, show_default=True)
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help="Processes that prepare the pairs.")
def command(files: tuple[str, str], pairs: int, jobs: int) -> None:
    """Prepare the pairs and make one update, make another from the saved columns, and order an epoch."""
    print(ROW.format("", "CPU s", "s", "MiB"))
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_corpus(files, pairs, folder)
        train = [sys.executable, "-m", "synmt", "train", "--source", "source", "--target", "target", "--device", "cpu"]
        train += ["--source-language", "en", "--target-language", "de", "--preset", "small", "--updates", "1"]
        train += ["--prepared", "columns", "--jobs", str(jobs)]
        for step, more in (("first start", ["--out", "model"]), ("second start", ["--out", "other", "--seed", "2"])):
            used, wall, most = usage([*train, *more], folder)
            print(ROW.format(step, f"{used:.1f}", f"{wall:.1f}", f"{most:.0f}"), flush=True)
        used, most = order(folder, 2048)
        print(ROW.format("order of an epoch", f"{used:.2f}", "", f"{most:.0f}"))


if __name__ == "__main__":
    command()
