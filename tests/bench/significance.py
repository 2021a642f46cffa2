"""Speed of the paired bootstrap compared with sacreBLEU's: 10,000 resamples of BLEU and chrF over 3,000 sentences of
two systems."""

import random
from collections.abc import Callable
from itertools import islice

from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest, Result

from synmt.demo.corpus import draw_pairs
from synmt.metrics.metric import Row
from synmt.metrics.reading import Input
from synmt.metrics.significance import compare
from synmt.metrics.translations import bleu, chrf
from tests.bench.pairs import Comparison
from tests.bench.pairs import compare as compare_speed

SENTENCES, RESAMPLES, SEED = 3000, 10_000, 12345  # the seed is sacreBLEU's own default
MAX_ROUNDS = 3  # a round takes sacreBLEU half a minute


def noisy(lines: list[str], errors: float, seed: int) -> list[str]:
    """Return the lines with a share of words, `errors`, replaced by the preceding word."""
    source = random.Random(seed)
    return [
        " ".join(words[max(0, i - 1)] if source.random() < errors else word for i, word in enumerate(words))
        for words in map(str.split, lines)
    ]


def ours(systems: list[list[str]], reference: list[str]) -> list[float]:
    """Return our p values for BLEU and chrF."""
    rows = (Row(row[:2], row[2:]) for row in zip(*systems, reference, strict=True))
    given = Input(["a", "b"], [bleu(), chrf()], rows, ["", ""])
    return [comparison.p for comparison in compare(given, "bootstrap-sacrebleu", RESAMPLES, SEED).comparisons[1]]


def sacrebleus(systems: list[list[str]], reference: list[str]) -> list[float]:
    metrics = {"BLEU": BLEU(), "chrF2": CHRF()}
    _, results = PairedTest(list(zip("ab", systems, strict=True)), metrics, [reference], "bs", RESAMPLES)()
    found = [result for name in metrics for result in results[name] if isinstance(result, Result)]
    return [result.p_value for result in found if result.p_value is not None]


def compare_significance(rounds: int) -> list[Comparison]:
    """Compare our speed with sacreBLEU's. Raises AssertionError if the p values differ."""
    reference = [pair.kel.text() for pair in islice(draw_pairs(seed=7), SENTENCES)]
    systems = [noisy(reference, 0.302, 1), noisy(reference, 0.3, 2)]
    found: dict[str, list[float]] = {}

    def timed(name: str, test: Callable[[list[list[str]], list[str]], list[float]]) -> Callable[[], int]:
        def work() -> int:
            found[name] = test(systems, reference)
            return RESAMPLES

        return work

    speed = compare_speed(
        "significance: 10,000 resamples / sacreBLEU",
        "resamples",
        timed("ours", ours),
        timed("sacreBLEU", sacrebleus),
        min(rounds, MAX_ROUNDS),
        warm_up=0,
    )
    assert all(abs(a - b) < 0.002 for a, b in zip(found["ours"], found["sacreBLEU"], strict=True)), found
    return [speed]
