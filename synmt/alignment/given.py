"""What links pairs: an aligner in a folder, or files of links that the pairs have brought along."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from synmt.alignment.aligner import Aligner, KnownWords, Needs
from synmt.alignment.config import Heuristic
from synmt.alignment.extraction import SoftLinks
from synmt.alignment.methods import open_aligner
from synmt.model.records import SentencePair
from synmt.text.links import DirectedLinks
from synmt.text.tokenization import TokenizerName


@dataclass(frozen=True)
class Kept:
    """An aligner in a folder: opened by the method of this name, or by that which made it."""

    folder: Path
    method: str | None
    device: str

    def open(self) -> Aligner:
        """Raise BadInput if it cannot be opened."""
        return open_aligner(self.folder, self.method, self.device)


@dataclass
class KnownLinks:
    """An aligner in name: its links are those that each pair has brought along.

    heuristic: of both directions; or `mean`, by which any number of files vote: the score of a link is its mean over
    all of them, 0 in one that lacks it.
    """

    heuristic: Heuristic
    needs: Needs = (frozenset(), frozenset())
    languages: tuple[str, str] | None = None
    tokenizer: TokenizerName | None = None
    words: KnownWords = (None, None)

    def open(self) -> "KnownLinks":
        return self

    def align(self, pairs: Sequence[SentencePair]) -> Sequence[SoftLinks | DirectedLinks]:
        if self.heuristic == "mean":
            return list(map(_votes, pairs))
        return [DirectedLinks(pair.links[0].keys(), pair.links[-1].keys()) for pair in pairs]


def _votes(pair: SentencePair) -> SoftLinks:
    source, target = range(len(pair.source.tokens)), range(len(pair.target.tokens))
    scores = np.zeros((len(source), len(target)), np.float32)
    for links in pair.links:
        for link, score in links.items():
            scores[link] += score / len(pair.links)
    return SoftLinks(scores, scores, source, target)
