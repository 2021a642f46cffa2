"""Times two things in turn, so that a slow moment of the machine slows both."""

import resource
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

Clock = Callable[[], float]


@dataclass(frozen=True)
class Measure:
    """A number on its own, without a comparison."""

    name: str
    unit: str
    value: float


@dataclass(frozen=True)
class Comparison:
    """rate, other_rate: medians over rounds; ratio: the median of the ratios of all rounds."""

    name: str
    unit: str
    rate: float
    other_rate: float
    ratio: float
    lowest: float
    highest: float


def processor_time() -> float:
    """Return the CPU seconds used by this process and by the child processes that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def clock_of(device: torch.device) -> Clock:
    """Return a clock: processor time for a CPU; for a GPU, wall-clock time after it has finished all pending work."""
    if device.type == "cpu":
        return processor_time

    def on_the_wall() -> float:
        torch.cuda.synchronize(device)
        return time.perf_counter()

    return on_the_wall


def compare(
    name: str,
    unit: str,
    one: Callable[[], float],
    other: Callable[[], float],
    rounds: int,
    warm_up: int = 1,
    clock: Clock = processor_time,
) -> Comparison:
    """Run both functions in turn, `rounds` times. Each call does some work and returns how many units it has done."""
    for _ in range(warm_up):
        one()
        other()
    return of_rates(name, unit, [(_rate(one, clock), _rate(other, clock)) for _ in range(rounds)])


def of_rates(name: str, unit: str, rates: Sequence[tuple[float, float]]) -> Comparison:
    """Return the comparison, given both rates of each round."""
    ratios = [first / second for first, second in rates]
    rate, other_rate = (statistics.median(column) for column in zip(*rates, strict=True))
    return Comparison(name, f"{unit}/s", rate, other_rate, statistics.median(ratios), min(ratios), max(ratios))


def _rate(work: Callable[[], float], clock: Clock) -> float:
    start = clock()
    units = work()
    return units / (clock() - start)
