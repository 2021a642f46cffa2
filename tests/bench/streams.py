"""`python -m tests.bench.streams [--lines 10000,100000,1000000]`: memory and speed of text stages by lines read.

Memory is flat where a stage streams. Sentences are those of the demo's grammar, with gold trees.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from synmt.demo.corpus import draw_pairs
from synmt.trees.record import ParseRecord, write_record
from tests.cli.commands import CODES

STAGES = {
    "linearize": "linearize records",
    "make-masks": "make-masks records",
    "bpe apply": "bpe apply --codes codes text",
    "score": "score --metric bleu --references text text",
    "parse --parser udpipe": "parse --parser udpipe text",
}
SLOW = 100_000  # lines; a parser is given no more


def write_inputs(folder: Path, lines: int) -> None:
    (folder / "codes").write_text(CODES)
    pairs = [pair.english for pair in islice(draw_pairs(seed=7), 2000)]
    trees = [each.tree for each in pairs if each.tree]
    records = [write_record(ParseRecord(tokens=tree.leaves(), tree=tree)) for tree in trees]
    for name, rows in (("records", records), ("text", [each.text() for each in pairs])):
        with (folder / name).open("w") as stream:
            stream.writelines(f"{row}\n" for row in islice(cycle(rows), lines))


def measure(folder: Path, arguments: str) -> tuple[float, float]:
    """Processor seconds, and peak memory in MiB."""
    command = [sys.executable, "-m", "synmt", *arguments.split()]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{arguments}: {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def rows(counts: list[int]) -> Iterator[tuple[str, int, float, float]]:
    with TemporaryDirectory() as name:
        for lines in counts:
            write_inputs(Path(name), lines)
            for stage, arguments in STAGES.items():
                if lines <= SLOW or not stage.startswith("parse"):
                    seconds, memory = measure(Path(name), arguments)
                    yield stage, lines, lines / seconds, memory


@click.command()
@click.option("--lines", default="10000,100000,1000000", show_default=True)
def command(lines: str) -> None:
    print("stage\tlines\tlines a processor second\tpeak MiB")
    for stage, count, rate, memory in rows([int(each) for each in lines.split(",")]):
        print(f"{stage}\t{count}\t{rate:,.0f}\t{memory:.0f}", flush=True)


if __name__ == "__main__":
    command()
