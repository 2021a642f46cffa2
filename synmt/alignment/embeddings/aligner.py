"""`embeddings`: links words with similar states in a pretrained multilingual encoder; nothing is fitted.

Jalili Sabet, Dufter, Yvon & Schütze (2020), "SimAlign: High Quality Word Alignments without Parallel Training Data
using Static and Contextualized Embeddings", Findings of EMNLP, and Dou & Neubig (2021), "Word Alignment by
Fine-tuning Embeddings on Parallel Corpora", EACL (awesome-align). h_j and g_i are the states of the subwords of both
sentences in one layer; each sentence is encoded on its own:

    argmax   S = cos(h_j, g_i); a cell is a link if it is the maximum of its row and of its column
    itermax  argmax, repeatedly: S is multiplied by α in cells whose row or column already has a link, and set to zero
             if both have one; new links are added
    softmax  S = h_j · g_i; a cell is a link if its softmax over the row and its softmax over the column both exceed a
             threshold

Words are linked if any of their subwords are. The folder holds only the options; the encoder is not copied.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from synmt.alignment.aligner import (
    FitBitext,
    FittedAligner,
    FittedText,
    Fitting,
    fingerprint,
    new_folder,
    read_fitted,
    write_saved,
)
from synmt.alignment.config import Heuristic
from synmt.alignment.embeddings.config import EmbeddingsConfig
from synmt.alignment.embeddings.rules import linked
from synmt.alignment.encoders.encoder import PretrainedEncoder, open_encoder, states_of
from synmt.data.records import SentencePair
from synmt.device import local_device
from synmt.text.links import DirectedLinks


@dataclass(frozen=True)
class Embeddings(FittedAligner):
    config: EmbeddingsConfig
    text: FittedText
    encoder: PretrainedEncoder
    heuristic: ClassVar[Heuristic] = "intersection"

    @classmethod
    def fit(cls, config: EmbeddingsConfig, bitext: FitBitext, how: Fitting) -> Self:
        """Save the options; nothing is fitted."""
        opened = cls._opened(config, bitext.text, how.device)
        with new_folder(how) as folder:
            opened._write(folder, fingerprint=fingerprint(config, bitext))
        return opened

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._write(folder)

    def _write(self, folder: Path, **own: Any) -> None:
        """Write the config, which cannot allow loading pickles. own: further fields."""
        write_saved(folder, replace(self.config, trust_pickle=False), self.text, **own)

    @classmethod
    def load(cls, method: type[EmbeddingsConfig], folder: Path, device: str) -> Self:
        config, text = read_fitted(folder, method)
        return cls._opened(replace(config, trust_pickle=False), text, device)

    @classmethod
    def _opened(cls, config: EmbeddingsConfig, text: FittedText, device: str) -> Self:
        encoder = open_encoder(config.encoder, config.layer, local_device(device), config.trust_pickle)
        return cls(config, text, encoder)

    def links(self, pairs: Sequence[SentencePair]) -> list[DirectedLinks]:
        """Return the links, which are the same in both directions."""
        sources = states_of(self.encoder, [pair.source.tokens for pair in pairs])
        targets = states_of(self.encoder, [pair.target.tokens for pair in pairs])
        found = []
        for source, target in zip(sources, targets, strict=True):
            links = frozenset[tuple[int, int]]()
            if source.words and target.words:
                cells = linked(self.config, source.values, target.values).nonzero()
                links = frozenset((source.words[j], target.words[i]) for j, i in zip(*map(list, cells), strict=True))
            found.append(DirectedLinks(links, links))
        return found
