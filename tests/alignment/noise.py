"""Measures how well the confidence of links distinguishes translations from other pairs.

    python -m tests.alignment.noise ALIGNER PAIRS

PAIRS is a file of `source TAB target` that the aligner was not fitted to. A false pair has the target of another pair,
or only its second half, or an untranslated copy of the source. Prints the area under the ROC curve, which is the
probability that a random true pair has a higher confidence than a random false pair, and the percentage of true and of
false pairs with a confidence of at least 0.3, 0.4, 0.5, 0.6 and 0.7.
"""

import random
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from pathlib import Path

from synmt import Aligner

Pair = tuple[str, str]
THRESHOLDS = 0.3, 0.4, 0.5, 0.6, 0.7


def noisy(pairs: Sequence[Pair], keep_half: bool) -> list[Pair]:
    """Return the pairs, each with the target of another pair, or with the second half of the other target after the
    first half of its own."""
    order = list(range(len(pairs)))
    random.Random(1).shuffle(order)
    others = dict(zip(order, [*order[1:], order[0]], strict=True))
    found = []
    for number, (source, target) in enumerate(pairs):
        words, other = target.split(), pairs[others[number]][1].split()
        kept, taken = (len(words) // 2, len(other) // 2) if keep_half else (0, 0)
        found.append((source, " ".join([*words[:kept], *other[taken:]])))
    return found


def area(true: Sequence[float], false: Sequence[float]) -> float:
    """Return the area under the ROC curve; equal scores count half."""
    below = sorted(false)
    wins = sum(bisect_left(below, score) + bisect_right(below, score) for score in true)
    return wins / 2 / len(true) / len(false)


def kept(scores: Sequence[float]) -> str:
    """Return the percentages of scores that reach each threshold."""
    return ", ".join(f"{sum(each >= least for each in scores) / len(scores):.1%}" for least in THRESHOLDS)


def main(folder: Path, file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    pairs = [(source, target) for source, _, target in (line.partition("\t") for line in lines)]
    aligner = Aligner.load(folder)
    true = [links.confidence for links in aligner.link(pairs)]
    print(f"true pairs: {kept(true)}")
    others = {
        "another target": noisy(pairs, keep_half=False),
        "another second half": noisy(pairs, keep_half=True),
        "a copy of the source": [(source, source) for source, _ in pairs],
    }
    for name, made in others.items():
        false = [links.confidence for links in aligner.link(made)]
        print(f"{name}: {area(true, false):.4f}; {kept(false)}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
