"""A bitext in two invented languages with known links, and fixtures that fit aligners to it in seconds."""

import random
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np

from synmt.alignment.aligner import FitBitext, FittedAligner, FittedText, Fitting, method_config
from synmt.alignment.extraction import Extraction, SoftLinks, extract
from synmt.data.bitext import Bitext
from synmt.data.records import SentencePair
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
    """Return pairs and their links. A target has the words of its source with their letters reversed, in reverse
    order."""
    draws = random.Random(seed)
    pairs: list[SentencePair] = []
    links: list[Set[Link]] = []
    for number in range(1, size + 1):
        source = draws.choices(WORDS, k=draws.randint(1, 6))
        places = list(range(len(source))) if monotone else list(reversed(range(len(source))))
        pairs.append(pair(source, [source[place][::-1] for place in places], number))
        links.append({(place, at) for at, place in enumerate(places)})
    return pairs, links


# Settings with which a small neural-hmm learns a bitext in seconds; and pairs that differ from those of a bitext.
QUICK_NEURAL: dict[str, Any] = {"width": 16, "merges": 30, "batch_tokens": 200, "warmup": 10, "epochs": 12}
STRANGE = [pair(["never", "seen"], ["before"]), pair(["alpha"] * 300, ["ahpla"] * 3), pair(["alpha"], ["ahpla"])]


def assert_links_found(aligner: FittedAligner, pairs: Sequence[SentencePair], gold: Sequence[Set[Link]]) -> None:
    """Check that precision and recall of the links are at least 90 %."""
    right = found = 0
    for each, given, known in zip(pairs, aligner.links(pairs), gold, strict=True):
        links = extract(given, each.source.tokens, each.target.tokens, Extraction(aligner.heuristic)).links
        right, found = right + len(links.keys() & known), found + len(links)
    assert right > 0.9 * sum(map(len, gold)) and right > 0.9 * found


def assert_batches_change_nothing(aligner: FittedAligner, pairs: Sequence[SentencePair]) -> Iterator[SoftLinks]:
    """Check that each pair has the same probabilities in a batch as alone; yield them, pair by pair."""
    assert aligner.links([]) == []
    for found, each in zip(aligner.links(pairs), pairs, strict=True):
        (alone,) = aligner.links([each])
        assert isinstance(found, SoftLinks) and isinstance(alone, SoftLinks)
        np.testing.assert_allclose(found.forward, alone.forward, atol=1e-5)
        np.testing.assert_allclose(found.backward, alone.backward, atol=1e-5)
        assert (found.forward.sum(axis=0) <= 1 + 1e-5).all() and (found.backward.sum(axis=1) <= 1 + 1e-5).all()
        yield found


def fit_to(
    method: str,
    pairs: Sequence[SentencePair],
    out: Path,
    guide: Sequence[Set[Link]] | None = None,
    resume: bool = False,
    **settings: Any,
) -> FittedAligner:
    return fitted(method, pairs, out, QUICK | settings, guide, resume)


def fitted(
    method: str,
    pairs: Sequence[SentencePair],
    out: Path,
    settings: Mapping[str, Any],
    guide: Sequence[Set[Link]] | None = None,
    resume: bool = False,
) -> FittedAligner:
    """Return an aligner fitted with only these settings."""
    known = FitBitext(Bitext(pairs), FittedText(("de", "en"), "none"), guide)
    return method_config(method, settings).fit(known, Fitting(settings, out, resume, device="cpu"))
