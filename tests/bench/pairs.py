"""Two things timed in turn, so that a machine that slows down slows both."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Comparison:
    """Rates are medians, seconds those of processor time; ratio: the median of the rounds' own ratios."""

    name: str
    unit: str
    rate: float
    other_rate: float
    ratio: float
    lowest: float
    highest: float


def compare(
    name: str, unit: str, one: Callable[[], int], other: Callable[[], int], rounds: int, warm_up: int = 1
) -> Comparison:
    """Runs both `rounds` times in turn; each call does some work and gives the units done."""
    for _ in range(warm_up):
        one()
        other()
    rates = [(_rate(one), _rate(other)) for _ in range(rounds)]
    ratios = [first / second for first, second in rates]
    rate, other_rate = (statistics.median(column) for column in zip(*rates, strict=True))
    return Comparison(name, f"{unit}/s", rate, other_rate, statistics.median(ratios), min(ratios), max(ratios))


def _rate(work: Callable[[], int]) -> float:
    start = time.process_time()
    units = work()
    return units / (time.process_time() - start)
