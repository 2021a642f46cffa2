"""A bitext of two invented languages: word n of one translates word n of the other, in any order."""

import random
from collections.abc import Sequence

from synmt.data.records import SentencePair
from synmt.streams import Line
from synmt.text.links import Link
from synmt.trees.record import ParseRecord


def bitext(count: int, seed: int = 1) -> list[tuple[list[str], list[str], set[Link]]]:
    """Return source words, target words and links of each pair."""
    source = random.Random(seed)
    made = []
    for _ in range(count):
        words = source.sample(range(12), source.randint(2, 5))
        order = source.sample(range(len(words)), len(words))
        links = {(place, target) for target, place in enumerate(order)}
        made.append(([f"s{word}" for word in words], [f"t{words[place]}" for place in order], links))
    return made


def pair(source: Sequence[str], target: Sequence[str], number: int = 1) -> SentencePair:
    line = Line("", "bitext", number)
    return SentencePair(ParseRecord(tokens=[*source]), ParseRecord(tokens=[*target]), (line, line))
