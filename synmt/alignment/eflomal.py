"""`eflomal`: IBM 1, then an HMM with fertility, by Gibbs sampling; the eflomal package.

Östling & Tiedemann (2016), "Efficient Word Alignment with Markov Chain Monte Carlo", PBML 106. Words are compared
in lower case. The links of a fitted bitext are those of the run over all of it; of other pairs they are sampled
anew under priors counted in that run, which a model folder keeps as text.

Its random numbers begin with the clock, so two runs differ in some links. Sides of more than 1,000 words are left
without links.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

from synmt.alignment.aligner import Fit, Pair
from synmt.alignment.extraction import HardLinks, Rule
from synmt.alignment.statistical import check_settings, library, lines_of, new_folder, read_folder
from synmt.streams import BadInput
from synmt.systems.model_folder import check_inside, naming
from synmt.systems.records import TokenizerName
from synmt.text.links import read_links

NAME = "eflomal"
PRIORS_FILE = "priors.tsv"
Texts = tuple[str, str]


@dataclass
class EflomalAligner:
    """priors: a file; known: the links of the pairs that it was fitted to, by their texts."""

    priors: Path
    known: dict[Texts, HardLinks]
    languages: tuple[str, str] | None
    tokenizer: TokenizerName | None
    rule: Rule = "grow-diag-final-and"
    needs: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())

    def align(self, pairs: Sequence[Pair]) -> list[HardLinks]:
        sources, targets = lines_of(pairs)
        texts = list(zip(sources, targets, strict=True))
        new = list(dict.fromkeys(text for text in texts if text not in self.known))
        found = dict(zip(new, _links(*_run(new, self.priors)), strict=True)) if new else {}
        return [self.known.get(text) or found[text] for text in texts]


class EflomalMethod:
    def needs(self, settings: Mapping[str, Any]) -> tuple[frozenset[str], frozenset[str]]:
        check_settings(NAME, settings)
        library(NAME, NAME)
        return frozenset(), frozenset()

    def fit(self, what: Fit) -> EflomalAligner:
        eflomal = library(NAME, NAME)
        with new_folder(NAME, what) as folder:
            sources, targets = lines_of(what.pairs)
            texts = list(zip(sources, targets, strict=True))
            forward, backward = _run(texts)
            with (folder / PRIORS_FILE).open("w", encoding="utf-8") as stream:
                eflomal.write_priors(stream, *eflomal.calculate_priors(sources, targets, forward, backward))
        known = dict(zip(texts, _links(forward, backward), strict=True))
        return EflomalAligner(folder / PRIORS_FILE, known, what.languages, what.tokenizer)

    def open(self, folder: Path, device: str) -> EflomalAligner:
        languages, tokenizer = read_folder(NAME, folder)
        eflomal = library(NAME, NAME)
        check_inside(folder, folder / PRIORS_FILE)
        with naming(folder / PRIORS_FILE), (folder / PRIORS_FILE).open(encoding="utf-8") as stream:
            try:
                eflomal.read_priors(stream)
            except (ValueError, IndexError):
                raise ValueError("no list of priors") from None
        return EflomalAligner(folder / PRIORS_FILE, {}, languages, tokenizer)


def _run(texts: Sequence[Texts], priors: Path | None = None) -> tuple[list[str], list[str]]:
    """The links of both directions as eflomal writes them, a line a pair. Raises BadInput."""
    eflomal = library(NAME, NAME)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("forward", "backward")]
        counts = priors.read_text(encoding="utf-8").splitlines() if priors else None
        try:
            eflomal.Aligner().align(
                [source for source, _ in texts],
                [target for _, target in texts],
                links_filename_fwd=str(files[0]),
                links_filename_rev=str(files[1]),
                priors_input=counts,
            )
            forward, backward = (file.read_text().splitlines() for file in files)
        except (OSError, CalledProcessError) as error:
            raise BadInput(f"eflomal failed: {error}") from None
    return forward, backward


def _links(forward: Sequence[str], backward: Sequence[str]) -> list[HardLinks]:
    return [
        HardLinks(read_links(there).sure, read_links(back).sure)
        for there, back in zip(forward, backward, strict=True)
    ]
