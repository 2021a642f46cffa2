"""A bitext of two invented languages: word n of one translates word n of the other, in any order."""

import random
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Any

from synmt.alignment.aligner import FitBitext, FittedText, Fitting, new_aligner
from synmt.alignment.extraction import Extraction, extract
from synmt.alignment.published.mask_align.aligner import MaskAlign
from synmt.data.bitext import Bitext
from synmt.data.records import SentencePair
from synmt.metrics.links import LinkMetric
from synmt.metrics.metric import corpus_score
from synmt.streams import Line
from synmt.text.links import Link, Links
from synmt.trees.record import ParseRecord

TINY: dict[str, Any] = {
    "width": 32,
    "feedforward": 64,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "heads": 2,
    "merges": 50,
    "batch_tokens": 100,
    "learning_rate": 5e-3,
    "warmup": 20,
    "schedule": "cosine",
    "epochs": 20,
}


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


def fit(
    out: Path,
    pairs: Sequence[SentencePair],
    guide: Sequence[Set[Link]] | None = None,
    resume: bool = False,
    **settings: Any,
) -> MaskAlign:
    settings = TINY | settings
    bitext = FitBitext(Bitext(pairs), FittedText(("en", "de"), "none"), guide)
    aligner = new_aligner("mask-align", settings).fit(bitext, Fitting(settings, out, resume, device="cpu"))
    assert isinstance(aligner, MaskAlign)
    return aligner


def links(aligner: MaskAlign, pairs: Sequence[SentencePair]) -> list[dict[Link, float]]:
    how = Extraction(aligner.heuristic)
    found = zip(aligner.align(pairs), pairs, strict=True)
    return [extract(each, pair.source.tokens, pair.target.tokens, how).links for each, pair in found]


def error_rate(found: Sequence[dict[Link, float]], gold: Sequence[set[Link]]) -> float:
    sure = [Links(frozenset(each), frozenset(each)) for each in gold]
    taken = [Links(frozenset(each), frozenset(each)) for each in found]
    return corpus_score(LinkMetric("AER"), taken, [sure]).score
