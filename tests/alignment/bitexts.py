"""A bitext in an invented pair of languages whose links are known, and how to fit aligners to it in seconds."""

import random
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Any

from synmt.demo.corpus import Pair
from synmt.model.records import SentencePair
from synmt.text.links import Link
from tests.alignment.words import pair

WORDS = ["alpha", "beta", "gamma", "delta", "kappa", "sigma", "omega", "theta"]
QUICK: dict[str, Any] = {
    "preset": "small",
    "width": 16,
    "feedforward": 32,
    "heads": 2,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "dropout": 0.0,
    "word_dropout": 0.0,
    "merges": 30,
    "batch_tokens": 200,
    "warmup": 10,
    "epochs": 2,
    "average": 1,
}


def bitext(size: int = 40, seed: int = 0, monotone: bool = False) -> tuple[list[SentencePair], list[Set[Link]]]:
    """Pairs in which each word is translated by its letters in reverse, the last one first; and their links."""
    draws = random.Random(seed)
    pairs: list[Pair] = []
    links: list[Set[Link]] = []
    for number in range(1, size + 1):
        source = draws.choices(WORDS, k=draws.randint(1, 6))
        places = list(range(len(source))) if monotone else list(reversed(range(len(source))))
        pairs.append(pair(source, [source[place][::-1] for place in places], number))
        links.append({(place, at) for at, place in enumerate(places)})
    return pairs, links


def fit_to(
    pairs: Sequence[SentencePair],
    out: Path,
    guide: Sequence[Set[Link]] | None = None,
    resume: bool = False,
    **settings: Any,
) -> Fit:
    return Fit(pairs, guide, ("de", "en"), "none", QUICK | settings, out, resume, "cpu")
