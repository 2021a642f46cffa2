"""Measures how often inline markup is placed where manual links put it.

    python -m tests.projection.placement DATA ALIGNER

DATA is a folder that contains aligned_deen; ALIGNER is a folder of `synmt align`, fitted to German and English tokens.
Elements are put around random phrases of 1 to 8 words, and elements without words between random neighbours. A phrase
counts if its gold links, sure or possible, lead to one span, and no link leads from that span to another word.
Neighbours count if their gold links lead to adjacent words in the same order.
"""

import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from synmt.alignment.linking import linker_of
from synmt.data.records import SentencePair
from synmt.projection.config import DOUBTFUL
from synmt.projection.markup import placed
from synmt.streams import Line
from synmt.text.links import Link, read_links
from synmt.text.markup import Element, Markup, Span
from synmt.text.tokenization import spans_of
from synmt.trees.record import ParseRecord

Pair = tuple[list[str], list[str]]
Links = Sequence[Mapping[Link, float]]
PER_PAIR, LONGEST = 5, 8


def read_gold(data: Path) -> tuple[list[Pair], Links]:
    lines = (data / "aligned_deen/test.de-en").read_text(encoding="utf-8").splitlines()
    columns = (line.split(" ||| ") for line in lines)
    pairs = [(source.split(), target.split()) for source, target in columns]
    links = (data / "aligned_deen/deen.talp").read_text(encoding="utf-8").splitlines()
    return pairs, [dict.fromkeys(sorted(read_links(line, base=1).possible), 1.0) for line in links]


def linked(folder: Path, pairs: Sequence[Pair], threshold: float | None) -> Links:
    line = Line("", "", 0)
    records = [SentencePair(ParseRecord(tokens=s), ParseRecord(tokens=t), (line, line)) for s, t in pairs]
    return list(linker_of(folder, "cpu", threshold).link(records))


def phrases(pairs: Sequence[Pair], gold: Links) -> Iterator[tuple[int, Span, Span]]:
    """Yield the number of a pair, a source phrase and the target span that gold links lead to."""
    source = random.Random(1)
    for number, ((words, _), links) in enumerate(zip(pairs, gold, strict=True)):
        for _ in range(PER_PAIR):
            size = source.randint(1, min(LONGEST, len(words)))
            first = source.randrange(len(words) - size + 1)
            span = hull(links, (first, first + size))
            if span and all(first <= i < first + size for i, j in links if span[0] <= j < span[1]):
                yield number, (first, first + size), span


def neighbours(pairs: Sequence[Pair], gold: Links) -> Iterator[tuple[int, Span, Span]]:
    """Yield the number of a pair, a place between two source words, and the place between their counterparts."""
    source = random.Random(1)
    for number, ((words, _), links) in enumerate(zip(pairs, gold, strict=True)):
        for _ in range(PER_PAIR):
            before = source.randrange(len(words))
            left, right = hull(links, (before - 1, before)), hull(links, (before, before + 1))
            if left and right and left[1] == right[0]:
                yield number, (before, before), (left[1], left[1])


def hull(links: Mapping[Link, float], phrase: Span) -> Span | None:
    found = [j for i, j in links if phrase[0] <= i < phrase[1]]
    return (min(found), max(found) + 1) if found else None


def place(pair: Pair, links: Mapping[Link, float], phrase: Span) -> Span:
    """Return the target span of an element around a phrase, or of an element without words."""
    text = " ".join(pair[0])
    words = spans_of(pair[0], text)
    begin, end = words[phrase[0]][0], words[max(phrase[1] - 1, phrase[0])][1]
    if phrase[0] == phrase[1]:
        element = Element("<x/>", "", -1, begin, begin, apart=(True, True))
    else:
        element = Element("<b>", "</b>", -1, begin, end)
    return placed(Markup(text, [element]), words, links, len(pair[1]))[0][:2]


def report(name: str, pairs: Sequence[Pair], gold: Links, links: Links, sure: Links) -> None:
    """Print a line of results. sure: only the links that are not doubtful, for spans from the first to the last linked
    word."""
    cases = list(phrases(pairs, gold))
    exact = sum(place(pairs[n], links[n], phrase) == span for n, phrase, span in cases)
    hulls = sum(hull(sure[n], phrase) == span for n, phrase, span in cases)
    places = list(neighbours(pairs, gold))
    hits = sum(place(pairs[n], links[n], phrase) == span for n, phrase, span in places)
    print(
        f"{name}: {100 * exact / len(cases):.1f} % of {len(cases)} phrases have the span of gold links"
        f" (from the first linked word to the last: {100 * hulls / len(cases):.1f} %);"
        f" {100 * hits / len(places):.1f} % of {len(places)} elements without words, the place"
    )


def turned(links: Links) -> Links:
    return [dict(sorted(((j, i), score) for (i, j), score in each.items())) for each in links]


def main(data: Path, folder: Path) -> None:
    pairs, gold = read_gold(data)
    others = [(target, source) for source, target in pairs]
    found, sure = linked(folder, pairs, DOUBTFUL), linked(folder, pairs, None)
    for name, links, plain in (("gold links", gold, gold), ("links found", found, sure)):
        report(f"{name}, German to English", pairs, gold, links, plain)
        report(f"{name}, English to German", others, *map(turned, (gold, links, plain)))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
