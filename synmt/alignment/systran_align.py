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

from synmt.alignment.aligner import Fit, Pair
from synmt.alignment.extraction import HardLinks, Rule
from synmt.alignment.statistical import check_settings, library, lines_of, new_folder, plain_words, read_folder
from synmt.systems.model_folder import check_inside
from synmt.systems.records import TokenizerName

NAME = "systran-align"
FILES = ("forward.probabilities", "backward.probabilities")


@dataclass
class SystranAligner:
    """model: the package's own aligner."""

    model: Any
    languages: tuple[str, str] | None
    tokenizer: TokenizerName | None
    rule: Rule = "intersection"
    needs: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())

    def align(self, pairs: Sequence[Pair]) -> list[HardLinks]:
        sources = [plain_words(pair.source.tokens) for pair in pairs]
        targets = [plain_words(pair.target.tokens) for pair in pairs]
        both = [frozenset(found["alignments"]) for found in self.model.align_batch(sources, targets)]
        return [HardLinks(links, links) for links in both]


class SystranMethod:
    def needs(self, settings: Mapping[str, Any]) -> tuple[frozenset[str], frozenset[str]]:
        check_settings(NAME, settings)
        library("systran_align", NAME)
        return frozenset(), frozenset()

    def fit(self, what: Fit) -> SystranAligner:
        systran_align = library("systran_align", NAME)
        with new_folder(NAME, what) as folder:
            bitext = folder / "bitext"
            lines = (f"{source} ||| {target}\n" for source, target in zip(*lines_of(what.pairs), strict=True))
            bitext.write_text("".join(lines), encoding="utf-8")
            systran_align.generate_alignment_probabilities(
                str(bitext),
                *(str(folder / name) for name in FILES),
                favor_diagonal=True,
                optimize_tension=True,
                variational_bayes=True,
            )
            bitext.unlink()
        return self.open(what.out, what.device)

    def open(self, folder: Path, device: str) -> SystranAligner:
        languages, tokenizer = read_folder(NAME, folder)
        systran_align = library("systran_align", NAME)
        for name in FILES:
            check_inside(folder, folder / name)
        return SystranAligner(systran_align.Aligner(*(str(folder / name) for name in FILES)), languages, tokenizer)
