"""A bitext in an invented pair of languages whose links are known, and how to fit aligners to it in seconds."""

import random
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from synmt.alignment.aligner import Aligner, FitConfig
from synmt.alignment.methods import open_method
from synmt.model.records import SentencePair
from synmt.text.links import Link
from synmt.training.bitext import Bitext
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
    pairs: list[SentencePair] = []
    links: list[Set[Link]] = []
    for number in range(1, size + 1):
        source = draws.choices(WORDS, k=draws.randint(1, 6))
        places = list(range(len(source))) if monotone else list(reversed(range(len(source))))
        pairs.append(pair(source, [source[place][::-1] for place in places], number))
        links.append({(place, at) for at, place in enumerate(places)})
    return pairs, links


def fit_to(
    method: str,
    pairs: Sequence[SentencePair],
    out: Path,
    guide: Sequence[Set[Link]] | None = None,
    resume: bool = False,
    **settings: Any,
) -> Aligner:
    return fitted(method, pairs, out, QUICK | settings, guide, resume)


def fitted(
    method: str,
    pairs: Sequence[SentencePair],
    out: Path,
    settings: Mapping[str, Any],
    guide: Sequence[Set[Link]] | None = None,
    resume: bool = False,
) -> Aligner:
    """With these settings and no others."""
    config = FitConfig(method, Bitext(pairs), guide, ("de", "en"), "none", settings, out, resume, device="cpu")
    return open_method(method, settings).fit(config)
