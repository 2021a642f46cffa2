"""`bin/bench [PART]...`: prints a table of speeds. Both sides of a ratio are timed in turn, on one thread or GPU."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

import click
import msgspec
import torch

from synmt.device import local_device
from tests.bench.aligners import Fit, compare_fits
from tests.bench.alignment import compare_alignment
from tests.bench.commands import measure_commands
from tests.bench.gpu import Card, measure_gpu
from tests.bench.pairs import Comparison, Measure
from tests.bench.parsing import compare_parsing
from tests.bench.significance import compare_significance
from tests.bench.targets import compare_targets
from tests.bench.training import compare_training
from tests.bench.translation import compare_translation
from tests.bench.trees import compare_relations

Row = Comparison | Measure | Fit
# The function that makes each part of the table. It takes the number of timed rounds, the device of networks, and data.
PARTS: dict[str, Callable[[int, torch.device, Path | None], Iterable[Row]]] = {
    "relations": lambda rounds, *_: compare_relations(rounds),
    "parsing": lambda rounds, *_: compare_parsing(rounds),
    "significance": lambda rounds, *_: compare_significance(rounds),
    "training": lambda rounds, device, _: compare_training(rounds, device),
    "translation": lambda rounds, device, _: compare_translation(rounds, device),
    "targets": lambda rounds, *_: compare_targets(rounds),
    "align": lambda rounds, _, data: compare_fits(rounds, data),
    "alignment": lambda rounds, device, _: compare_alignment(rounds, device),
    "commands": lambda rounds, *_: measure_commands(rounds),
    "gpu": lambda rounds, device, _: measure_gpu(rounds, Card(device)),
}
ANYWHERE = tuple(part for part in PARTS if part != "gpu")


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice(list(PARTS)))
@click.option("--rounds", type=click.IntRange(1), default=7, show_default=True, help="Timed pairs.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N.")
@click.option(
    "--data", type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="For align: a folder as in bin/replicate-alignment.toml; without it, only the demo's corpus.",
)  # fmt: skip
@click.option("--jsonl", "as_jsonl", is_flag=True, help="JSON lines instead of a table.")
def bench(parts: tuple[str, ...], rounds: int, device: str, data: Path | None, as_jsonl: bool) -> None:
    """Print all PARTs of the table but gpu, or only the named ones.

    Rates are medians, in units per second of processor time, or on a GPU per second of wall-clock time. Each ratio
    compares two runs, one right after the other. On a GPU, networks have the papers' sizes and run in bf16.

    gpu needs a GPU and at most ten minutes: it measures what docs/scaling.md does not show yet.
    """
    torch.set_num_threads(1)
    for row in rows(parts or ANYWHERE, rounds, local_device(device), data):
        print(msgspec.json.encode(asdict(row)).decode() if as_jsonl else line(row), flush=True)


def rows(parts: Iterable[str], rounds: int, device: torch.device, data: Path | None) -> Iterator[Row]:
    for part in parts:
        yield from PARTS[part](rounds, device, data)


def line(row: Row) -> str:
    if isinstance(row, Measure):
        return f"{row.name:<50}{number(row.value):>10} {row.unit}"
    if isinstance(row, Fit):
        seconds, memory = number(row.seconds), number(row.memory)
        return f"{f'{row.aligner}, {row.bitext}':<50}{row.error_rate:>6.1f} AER{seconds:>8} CPU s{memory:>8} MiB"
    return (
        f"{row.name:<50}{number(row.rate):>10} /{number(row.other_rate):>9} {row.unit:<12}"
        f" ratio {row.ratio:.3f} ({row.lowest:.3f} to {row.highest:.3f})"
    )


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


bench()
