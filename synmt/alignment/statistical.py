"""Statistical aligners from other packages: `eflomal` and `systran-align`. Words are compared in lower case.

`eflomal`: Östling & Tiedemann (2016), "Efficient Word Alignment with Markov Chain Monte Carlo", PBML 106: IBM 1, then
an HMM with fertility, by Gibbs sampling. For the bitext that it is fitted to, it returns the links of that run; links
of other pairs are sampled later with priors from that run, which are saved in the folder as text. The clock seeds its
random numbers, so two runs differ in a few links. Sides of more than 1,000 words get no links.

`systran-align`: Dyer, Chahuneau & Smith (2013), "A Simple, Fast, and Effective Reparameterization of IBM Model 2",
NAACL: the model of fast_align, with the options that its authors recommend (-d -o -v): it favours the diagonal,
optimizes the tension, and has a variational Bayes prior. The package merges both directions itself and reports nothing
else, so no other heuristic can be applied.
"""

import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from subprocess import CalledProcessError
from types import ModuleType
from typing import Any, ClassVar, Self

from synmt.alignment.aligner import (
    NO_NEEDS,
    FitBitext,
    FittedAligner,
    FittedText,
    Fitting,
    MethodConfig,
    Needs,
    Settings,
    copy_saved,
    fingerprint,
    new_folder,
    read_fitted,
    write_saved,
)
from synmt.alignment.config import OF_LINKS, Heuristic
from synmt.data.records import SentencePair
from synmt.model.files import check_inside, naming
from synmt.streams import BadInput
from synmt.streams.process import quiet, temporary_folder
from synmt.text.links import DirectedLinks, read_links

EFLOMAL, PRIORS_FILE = "eflomal", "priors.tsv"
SYSTRAN, FILES = "systran_align", ("forward.probabilities", "backward.probabilities")
Texts = tuple[str, str]
# The meaning of fast_align's and eflomal's option letters in synmt.
DIAGONAL = "--method systran-align is the model of fast_align with -d -o -v"
LETTERS = {
    "-i": "name the file of pairs without an option: synmt align FILE",
    "-s": "name both files without options: synmt align SOURCE TARGET",
    "-t": "name both files without options: synmt align SOURCE TARGET",
    "-d": DIAGONAL,
    "-o": DIAGONAL,
    "-v": DIAGONAL,
    "-r": "--symmetrize backward writes the links of the reverse direction",
    "-f": "--symmetrize forward writes the links of the forward direction",
    **dict.fromkeys(("-I", "-n", "-l", "-1", "-2", "-3"), "--hmm-rounds sets the number of iterations"),
    **dict.fromkeys(("-N", "-q"), "--hmm-null sets the share of words that are not linked"),
    **dict.fromkeys(("-F", "-R"), "--scores writes the confidence of each pair"),
    "-p": "--out saves the aligner, and `synmt align FOLDER` uses it",
    "-m": "--out saves the aligner, and `synmt align FOLDER` uses it",
}
_NOT_IN_A_WORD = re.compile(r"\s|\|")  # these programs would split words or sides here
_PLAIN = lru_cache(200_000)(lambda word: _NOT_IN_A_WORD.sub("_", word.lower()))


def library(name: str, package: str) -> ModuleType:
    """Import a package. Raises BadInput if it is not installed."""
    try:
        with quiet(name):
            return importlib.import_module(name)
    except ImportError:
        raise BadInput(f"{package} is not installed; pip install {package}") from None


def plain_words(words: Sequence[str]) -> list[str]:
    """Return words in lower case, each without characters that would split it in two."""
    return list(map(_PLAIN, words))


def texts_of(pairs: Iterable[SentencePair]) -> list[Texts]:
    """Return the source and the target of each pair as lines of words."""
    return [(" ".join(plain_words(pair.source.tokens)), " ".join(plain_words(pair.target.tokens))) for pair in pairs]


@dataclass(frozen=True)
class EflomalConfig(MethodConfig):
    aligner: ClassVar[str] = "synmt.alignment.statistical:Eflomal"
    cites: ClassVar[tuple[str, ...]] = ("ostling2016efficient",)

    @classmethod
    def uses(cls, given: Settings) -> frozenset[str]:
        return OF_LINKS

    def needs(self, settings: Settings) -> Needs:
        library(EFLOMAL, EFLOMAL)
        return NO_NEEDS


@dataclass(frozen=True)
class Eflomal(FittedAligner):
    """priors: the file of priors; known: the links of the pairs that it was fitted to, by their texts."""

    config: EflomalConfig
    text: FittedText
    priors: Path
    known: Mapping[Texts, DirectedLinks] = field(default_factory=dict)
    heuristic: ClassVar[Heuristic] = "grow-diag-final-and"

    @classmethod
    def fit(cls, config: EflomalConfig, bitext: FitBitext, how: Fitting) -> Self:
        eflomal = library(EFLOMAL, EFLOMAL)
        with new_folder(how) as folder, quiet(EFLOMAL):
            texts = texts_of(bitext.pairs)
            forward, backward = _run(texts)
            with (folder / PRIORS_FILE).open("w", encoding="utf-8") as stream:
                eflomal.write_priors(stream, *eflomal.calculate_priors(*zip(*texts, strict=True), forward, backward))
            write_saved(folder, config, bitext.text, fingerprint=fingerprint(config, bitext))
        known = dict(zip(texts, _links(forward, backward), strict=True))
        return cls(config, bitext.text, folder / PRIORS_FILE, known)

    def save(self, folder: Path) -> None:
        copy_saved(self.priors.parent, folder)

    @classmethod
    def load(cls, method: type[EflomalConfig], folder: Path, device: str) -> Self:
        config, text = read_fitted(folder, method)
        eflomal, priors = library(EFLOMAL, EFLOMAL), folder / PRIORS_FILE
        check_inside(folder, priors)
        with quiet(EFLOMAL), naming(priors), priors.open(encoding="utf-8") as stream:
            try:
                eflomal.read_priors(stream)
            except (ValueError, IndexError):
                raise ValueError("not a list of priors") from None
        return cls(config, text, priors)

    def links(self, pairs: Sequence[SentencePair]) -> list[DirectedLinks]:
        texts = texts_of(pairs)
        new = list(dict.fromkeys(text for text in texts if text not in self.known))
        links = dict(zip(new, _links(*_run(new, self.priors)), strict=True)) if new else {}
        return [self.known.get(text) or links[text] for text in texts]


def _run(texts: Sequence[Texts], priors: Path | None = None) -> tuple[list[str], list[str]]:
    """Return the links of both directions as eflomal writes them, one line per pair. Raises BadInput."""
    eflomal = library(EFLOMAL, EFLOMAL)
    with temporary_folder() as folder:
        files = [folder / name for name in ("forward", "backward")]
        counts = priors.read_text(encoding="utf-8").splitlines() if priors else None
        try:
            with quiet(EFLOMAL):
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


@dataclass(frozen=True)
class SystranAlignConfig(MethodConfig):
    aligner: ClassVar[str] = "synmt.alignment.statistical:SystranAlign"
    cites: ClassVar[tuple[str, ...]] = ("dyer2013simple",)

    @classmethod
    def uses(cls, given: Settings) -> frozenset[str]:
        return frozenset()

    def needs(self, settings: Settings) -> Needs:
        library(SYSTRAN, "systran-align")
        return NO_NEEDS


@dataclass(frozen=True)
class SystranAlign(FittedAligner):
    """folder: contains its files; model: the package's own aligner."""

    config: SystranAlignConfig
    text: FittedText
    folder: Path
    model: Any
    heuristic: ClassVar[Heuristic] = "intersection"

    @classmethod
    def fit(cls, config: SystranAlignConfig, bitext: FitBitext, how: Fitting) -> Self:
        package = library(SYSTRAN, "systran-align")
        with new_folder(how) as folder, quiet(SYSTRAN):
            file = folder / "bitext"
            lines = (f"{source} ||| {target}\n" for source, target in texts_of(bitext.pairs))
            file.write_text("".join(lines), encoding="utf-8")
            package.generate_alignment_probabilities(
                str(file),
                *(str(folder / name) for name in FILES),
                favor_diagonal=True,
                optimize_tension=True,
                variational_bayes=True,
            )
            file.unlink()
            write_saved(folder, config, bitext.text, fingerprint=fingerprint(config, bitext))
        return cls.load(type(config), how.out, how.device)

    def save(self, folder: Path) -> None:
        copy_saved(self.folder, folder)

    @classmethod
    def load(cls, method: type[SystranAlignConfig], folder: Path, device: str) -> Self:
        config, text = read_fitted(folder, method)
        package = library(SYSTRAN, "systran-align")
        for file in FILES:
            check_inside(folder, folder / file)
        with quiet(SYSTRAN):
            return cls(config, text, folder, package.Aligner(*(str(folder / file) for file in FILES)))

    def links(self, pairs: Sequence[SentencePair]) -> list[DirectedLinks]:
        sources = [plain_words(pair.source.tokens) for pair in pairs]
        targets = [plain_words(pair.target.tokens) for pair in pairs]
        with quiet(SYSTRAN):
            links = [frozenset(aligned["alignments"]) for aligned in self.model.align_batch(sources, targets)]
        return [DirectedLinks(each, each) for each in links]
