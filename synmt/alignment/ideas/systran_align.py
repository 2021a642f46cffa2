"""`systran-align`: the model of fast_align; the systran-align package.

Dyer, Chahuneau & Smith (2013), "A Simple, Fast, and Effective Reparameterization of IBM Model 2", NAACL. Fitted as
fast_align's authors advise (-d -o -v): the diagonal is favoured, its tension is optimized, and the prior is
variational Bayes. Words are compared in lower case. The package joins both directions itself and says no more than
that, so no other way of symmetrizing changes its links.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synmt.alignment.aligner import FitConfig, KnownWords, Needs
from synmt.alignment.config import Heuristic
from synmt.alignment.statistical import NO_NEEDS, library, lines_of, new_folder, plain_words, read_folder
from synmt.caller import quiet
from synmt.model.files import check_inside
from synmt.model.records import SentencePair
from synmt.text.links import DirectedLinks
from synmt.text.tokenization import TokenizerName

NAME = "systran-align"
FILES = ("forward.probabilities", "backward.probabilities")


@dataclass(frozen=True)
class SystranAlign:
    """A Method without options."""

    @classmethod
    def uses(cls, settings: Mapping[str, Any]) -> frozenset[str]:
        return frozenset()

    def needs(self, settings: Mapping[str, Any]) -> Needs:
        library("systran_align", NAME)
        return NO_NEEDS

    def fit(self, config: FitConfig) -> "SystranAligner":
        systran_align = library("systran_align", NAME)
        with new_folder(config) as folder, quiet("systran_align"):
            bitext = folder / "bitext"
            lines = (f"{source} ||| {target}\n" for source, target in zip(*lines_of(config.bitext), strict=True))
            bitext.write_text("".join(lines), encoding="utf-8")
            systran_align.generate_alignment_probabilities(
                str(bitext),
                *(str(folder / name) for name in FILES),
                favor_diagonal=True,
                optimize_tension=True,
                variational_bayes=True,
            )
            bitext.unlink()
        return self.open(config.out, config.device)

    def open(self, folder: Path, device: str) -> "SystranAligner":
        text = read_folder(NAME, folder)
        systran_align = library("systran_align", NAME)
        for file in FILES:
            check_inside(folder, folder / file)
        with quiet("systran_align"):
            return SystranAligner(systran_align.Aligner(*(str(folder / file) for file in FILES)), *text)


@dataclass
class SystranAligner:
    """model: the package's own aligner."""

    model: Any
    languages: tuple[str, str] | None
    tokenizer: TokenizerName | None
    words: KnownWords
    heuristic: Heuristic = "intersection"
    needs: Needs = (frozenset(), frozenset())

    def align(self, pairs: Sequence[SentencePair]) -> list[DirectedLinks]:
        sources = [plain_words(pair.source.tokens) for pair in pairs]
        targets = [plain_words(pair.target.tokens) for pair in pairs]
        with quiet("systran_align"):
            links = [frozenset(aligned["alignments"]) for aligned in self.model.align_batch(sources, targets)]
        return [DirectedLinks(each, each) for each in links]
