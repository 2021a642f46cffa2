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

from synmt.alignment.aligner import FitConfig, KnownWords, Needs
from synmt.alignment.config import OF_LINKS, Heuristic
from synmt.alignment.statistical import NO_NEEDS, library, lines_of, new_folder, read_folder
from synmt.caller import quiet
from synmt.model.files import check_inside, naming
from synmt.model.records import SentencePair
from synmt.streams import BadInput
from synmt.text.links import DirectedLinks, read_links
from synmt.text.tokenization import TokenizerName

NAME = "eflomal"
PRIORS_FILE = "priors.tsv"
Texts = tuple[str, str]


@dataclass(frozen=True)
class Eflomal:
    """A Method without options."""

    @classmethod
    def uses(cls, settings: Mapping[str, Any]) -> frozenset[str]:
        return OF_LINKS

    def needs(self, settings: Mapping[str, Any]) -> Needs:
        library(NAME, NAME)
        return NO_NEEDS

    def fit(self, config: FitConfig) -> "EflomalAligner":
        eflomal = library(NAME, NAME)
        with new_folder(config) as folder, quiet(NAME):
            sources, targets = lines_of(config.bitext)
            texts = list(zip(sources, targets, strict=True))
            forward, backward = _run(texts)
            with (folder / PRIORS_FILE).open("w", encoding="utf-8") as stream:
                eflomal.write_priors(stream, *eflomal.calculate_priors(sources, targets, forward, backward))
        known = dict(zip(texts, _links(forward, backward), strict=True))
        return EflomalAligner(folder / PRIORS_FILE, known, config.languages, config.tokenizer, config.words)

    def open(self, folder: Path, device: str) -> "EflomalAligner":
        text = read_folder(NAME, folder)
        eflomal = library(NAME, NAME)
        check_inside(folder, folder / PRIORS_FILE)
        with quiet(NAME), naming(folder / PRIORS_FILE), (folder / PRIORS_FILE).open(encoding="utf-8") as stream:
            try:
                eflomal.read_priors(stream)
            except (ValueError, IndexError):
                raise ValueError("no list of priors") from None
        return EflomalAligner(folder / PRIORS_FILE, {}, *text)


@dataclass
class EflomalAligner:
    """priors: a file; known: the links of the pairs that it was fitted to, by their texts."""

    priors: Path
    known: dict[Texts, DirectedLinks]
    languages: tuple[str, str] | None
    tokenizer: TokenizerName | None
    words: KnownWords
    heuristic: Heuristic = "grow-diag-final-and"
    needs: Needs = NO_NEEDS

    def align(self, pairs: Sequence[SentencePair]) -> list[DirectedLinks]:
        sources, targets = lines_of(pairs)
        texts = list(zip(sources, targets, strict=True))
        new = list(dict.fromkeys(text for text in texts if text not in self.known))
        links = dict(zip(new, _links(*_run(new, self.priors)), strict=True)) if new else {}
        return [self.known.get(text) or links[text] for text in texts]


def _run(texts: Sequence[Texts], priors: Path | None = None) -> tuple[list[str], list[str]]:
    """Return the links of both directions as eflomal writes them, a line a pair. Raises BadInput."""
    eflomal = library(NAME, NAME)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("forward", "backward")]
        counts = priors.read_text(encoding="utf-8").splitlines() if priors else None
        try:
            with quiet(NAME):
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


def _links(forward: Sequence[str], backward: Sequence[str]) -> list[DirectedLinks]:
    pairs = zip(forward, backward, strict=True)
    return [DirectedLinks(read_links(of_target).sure, read_links(of_source).sure) for of_target, of_source in pairs]
