"""`bin/bench gpu`: what docs/scaling.md does not show yet and one GPU can, in at most ten minutes.

- For each size of network: the time of an update, how much of it the GPU works, and how many kernels that starts.
- For cards of 16, 24 and 80 GB, as far as this card has as much memory: whether the largest batches fit that the page
  has computed. PyTorch may then use no more memory than such a card has.
- Training and translation at the papers' sizes, compared with bare loops and with the card's fastest matrix products.

When the time is over, it stops, and names what it has not started.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

import click
import torch
from torch.profiler import ProfilerActivity, profile

from tests.bench.memory import CARDS, ROWS, Trained
from tests.bench.pairs import Comparison, Measure
from tests.bench.training import compare_training
from tests.bench.translation import compare_translation

SECONDS = 540.0  # after which nothing new starts
UPDATES = 20  # per measurement
PAGE = Path(__file__).parents[2] / "docs" / "scaling.md"
Row = Measure | Comparison


class Card:
    """A CUDA device."""

    def __init__(self, device: torch.device) -> None:
        if device.type != "cuda":
            raise click.ClickException(f"gpu measures a GPU, but the device is {device}; choose one by --device cuda")
        self.device = device

    @property
    def memory(self) -> int:
        """Bytes."""
        return torch.cuda.get_device_properties(self.device).total_memory

    def wait(self) -> None:
        torch.cuda.synchronize(self.device)

    def work(self, run: Callable[[], object]) -> tuple[float, int]:
        """Return how many seconds the GPU works for a run, and the number of its kernels."""
        with profile(activities=[ProfilerActivity.CUDA]) as profiled:
            run()
            self.wait()
        kernels = [each for each in profiled.events() or () if each.device_type == torch.autograd.DeviceType.CUDA]
        return sum(each.device_time for each in kernels) / 1e6, len(kernels)

    @contextmanager
    def limited(self, size: int) -> Iterator[None]:
        """Let PyTorch use at most so many bytes."""
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(size / self.memory, self.device)
        torch.cuda.reset_peak_memory_stats(self.device)
        try:
            yield
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0, self.device)
            torch.cuda.empty_cache()

    def peak(self) -> int:
        """Return the most bytes that PyTorch has reserved under a limit."""
        return torch.cuda.max_memory_reserved(self.device)


@dataclass(frozen=True)
class Batch:
    """A preset, a system, and how many tokens its batches have."""

    preset: str
    system: str
    tokens: int

    @property
    def name(self) -> str:
        return f"{self.preset}, {self.system}, {self.tokens:,} tokens"

    def updates(self, device: torch.device) -> Callable[[], None]:
        """Return a function that makes an update of a new model."""
        trained = Trained.of(self.preset, self.system, 30)
        updater = trained.updater(max(1, self.tokens // trained.tokens(1)), device)
        numbers = count(1)

        def update() -> None:
            updater(updater.step([[0]], next(numbers)), 1e-3)

        return update


def largest_batches(page: Path = PAGE) -> dict[int, list[Batch]]:
    """Return the largest batches for each size of card, in GB, that the page's table names."""
    found: dict[int, list[Batch]] = {size: [] for size in CARDS}
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip("` ") for cell in line.strip("|").split("|")]
        if len(cells) == 6 + len(CARDS) and cells[1] in ROWS.get(cells[0], ()):
            for size, tokens in zip(CARDS, cells[6:], strict=True):
                found[size].append(Batch(cells[0], cells[1], int(tokens.replace(",", ""))))
    return found


def speed(card: Card, preset: str, system: str) -> Iterator[Measure]:
    """Yield the milliseconds of an update, those in which the GPU works, and the kernels."""
    batch = Batch(preset, system, Trained.of(preset, system, 30).training.batch_tokens)
    update = batch.updates(card.device)

    def run() -> None:
        for _ in range(UPDATES):
            update()

    run()
    card.wait()
    start = time.perf_counter()
    run()
    card.wait()
    seconds = time.perf_counter() - start
    busy, kernels = card.work(run)
    yield Measure(f"update: {batch.name}", "ms", 1e3 * seconds / UPDATES)
    yield Measure(f"update: {batch.name}, the GPU works", "ms", 1e3 * busy / UPDATES)
    yield Measure(f"update: {batch.name}, kernels", "", kernels / UPDATES)


def filled(card: Card, size: int, batch: Batch) -> Iterator[Measure]:
    """Yield the GiB that two updates reserve on a card of so many GB; infinity if they need more."""
    with card.limited(int(size * 10**9)):
        try:
            update = batch.updates(card.device)
            update()
            update()
            card.wait()
            reserved = card.peak() / 2**30
        except torch.OutOfMemoryError:
            reserved = float("inf")
    yield Measure(f"memory: {batch.name}, card of {size} GB", "GiB", reserved)


def measure_gpu(
    rounds: int,
    card: Card,
    rows: Mapping[str, Sequence[str]] = ROWS,
    batches: Mapping[int, Sequence[Batch]] | None = None,
    comparisons: Sequence[Callable[[int, torch.device], Iterator[Row]]] = (compare_training, compare_translation),
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Row]:
    """Yield all rows for which there is time; rounds: of comparisons."""
    end = clock() + SECONDS
    items: list[tuple[str, Callable[[], Iterator[Row]]]] = [
        (f"update: {preset}, {system}", partial(speed, card, preset, system))
        for preset, systems in rows.items()
        for system in systems
    ]
    for size, each in (largest_batches() if batches is None else batches).items():
        if size * 10**9 <= card.memory:
            items += [
                (f"memory: {batch.name}, card of {size} GB", partial(filled, card, size, batch)) for batch in each
            ]
    items += [(part.__name__.replace("_", " "), partial(part, rounds, card.device)) for part in comparisons]
    for number, (_, measure) in enumerate(items, 1):
        for row in measure():
            yield row
            if clock() > end:
                rest = ", ".join(name for name, _ in items[number:]) or "nothing"
                click.echo(
                    f"bin/bench: stopped after {row.name}, since the time is over; not started: {rest}", err=True
                )
                return
