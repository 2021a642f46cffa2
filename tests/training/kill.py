"""`python -m tests.training.kill [--kills 30]`: a training run that is killed at random moments and resumed.

It must end with the parameters, the checkpoint and the log of an undisturbed run. Every fifth time, the newest
checkpoint is also truncated, as after a power cut.
"""

import random
import subprocess
import sys
import time
from pathlib import Path
from shlex import split
from signal import SIGINT, SIGKILL, SIGTERM, Signals, default_int_handler, signal
from tempfile import TemporaryDirectory

import click
import torch
from safetensors.torch import load_file

from synmt.training.checkpoint import checkpoints
from tests.training.runs import UNTIMED, write_corpus

OPTIONS = split(
    "--model mask --preset small --tokenizer none --target-language de --width 32 --feedforward 64 --heads 2"
    " --encoder-layers 2 --decoder-layers 2 --dropout 0.2 --merges 20 --batch-tokens 200 --select loss"
    " --average 2 --report-every 1 --checkpoint-minutes 0.01 --device cpu"
)


class Victim:
    """One training command, which can be started, killed and resumed."""

    def __init__(self, folder: Path, source: str, target: str, epochs: int) -> None:
        self.folder, self.log = folder, folder / "log.tsv"
        files = ["--source", source, "--target", target, "--dev-source", source, "--dev-target", target]
        self.command = [sys.executable, "-m", "synmt", "train", *OPTIONS, *files, "--epochs", str(epochs)]

    def start(self) -> "subprocess.Popen[str]":
        resume = ["--resume"] if (self.folder / "config.json").exists() else []
        command = [*self.command, "--out", str(self.folder), *resume]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self) -> tuple[float, float]:
        """Run to the end, and return the seconds until training began and the total seconds."""
        start, began = time.monotonic(), 0.0
        process = self.start()
        while process.poll() is None:
            if not began and self.log.exists():
                began = time.monotonic() - start
            time.sleep(0.02)
        if process.returncode:
            raise AssertionError(process.communicate()[1])
        return began, time.monotonic() - start

    def kill(self, chosen: Signals, update: int, seconds: float) -> str:
        """Run until the log has this update, and this many seconds more; return the last message of the command."""
        process = self.start()
        while self.logged() < update and process.poll() is None:
            time.sleep(0.01)
        time.sleep(seconds)
        process.send_signal(chosen)
        said = process.communicate()[1].strip().splitlines()
        died = {-chosen} if chosen == SIGKILL else {-chosen, 128 + chosen}
        if process.returncode not in died:
            raise AssertionError(f"exit {process.returncode} (of 0, the training is too short): {said}")
        return said[-1] if said else ""

    def logged(self) -> int:
        """Return the last update in the log."""
        text = self.log.read_text() if self.log.exists() else ""
        rows = text[: text.rfind("\n") + 1].splitlines()[1:]
        return int(rows[-1].split("\t")[0]) if rows else 0

    def saved(self) -> int:
        """Return the update of the newest checkpoint."""
        paths = checkpoints(self.folder / "checkpoint")
        return int(paths[0].stem.removeprefix("update-")) if paths else 0

    def tear(self, source: random.Random) -> bool:
        """Truncate the newest checkpoint, or fill a block of it with zeros, if there is another checkpoint."""
        paths = checkpoints(self.folder / "checkpoint")
        if len(paths) == 2:
            data = paths[0].read_bytes()
            place = source.randrange(len(data) - 4096)
            torn = data[:place] if source.random() < 0.5 else data[:place] + bytes(4096) + data[place + 4096 :]
            paths[0].write_bytes(torn)
        return len(paths) == 2

    def ends_like(self, other: "Victim") -> bool:
        """Return whether parameters, checkpoints and logs are the same."""

        def rows(victim: "Victim") -> list[list[str]]:
            lines = victim.log.read_text().splitlines()
            return [[line.split("\t")[column] for column in UNTIMED] for line in lines]

        def tensors(victim: "Victim") -> dict[str, torch.Tensor]:
            files = victim.folder / "model.safetensors", checkpoints(victim.folder / "checkpoint")[0]
            return {f"{number} {name}": t for number, file in enumerate(files) for name, t in load_file(file).items()}

        mine, its = tensors(self), tensors(other)
        same = mine.keys() == its.keys() and all(torch.equal(mine[name], its[name]) for name in mine)
        return same and rows(self) == rows(other) and self.saved() == other.saved()


def kill_often(folder: Path, kills: int, epochs: int, seed: int) -> bool:
    """Print a line per kill, and return whether the killed run ends like an undisturbed one."""
    source = random.Random(seed)
    data = write_corpus(folder, copies=100)
    assert data.target
    whole, part = (Victim(folder / name, data.source, data.target, epochs) for name in ("whole", "part"))
    began, seconds = whole.finish()
    print(f"left alone: {whole.logged()} updates, {seconds:.1f} s, of them {began:.1f} s before the first")
    torn = False
    for number in range(1, kills + 1):
        chosen = source.choice([SIGKILL, SIGKILL, SIGKILL, SIGTERM, SIGINT])
        newest = part.saved()
        in_training = source.random() < 0.8
        share = source.uniform(0, 1.5) * (whole.logged() - part.logged()) / (kills - number + 2)
        update = part.logged() + 1 + int(share) if in_training else 0
        after = source.uniform(0, 0.1 if in_training else began)
        said = part.kill(chosen, update, after)
        print(
            f"{number}: {chosen.name} {after:.2f} s after {f'update {update}' if in_training else 'its start'},"
            f" newest checkpoint {newest}{' (torn)' * torn}, logged {part.logged()}, saved {part.saved()}"
            f"{': ' * bool(said)}{said}"
        )
        torn = number % 5 == 0 and part.tear(source)
    part.finish()
    same = part.ends_like(whole)
    print(f"{kills} kills: {'the same' if same else 'ANOTHER'} parameters, checkpoint and log")
    return same


@click.command()
@click.option("--kills", default=30, show_default=True)
@click.option("--epochs", default=100, show_default=True)
@click.option("--seed", default=1, show_default=True)
def command(kills: int, epochs: int, seed: int) -> None:
    signal(SIGINT, default_int_handler)  # with `&`, a shell may have made this process and its children ignore it
    with TemporaryDirectory() as folder:
        sys.exit(not kill_often(Path(folder), kills, epochs, seed))


if __name__ == "__main__":
    command()
