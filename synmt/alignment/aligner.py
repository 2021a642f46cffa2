"""What an aligner is to the rest: fitted to a bitext, or opened from a model folder, it aligns pairs."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from synmt.alignment import ALIGNERS
from synmt.alignment.config import Heuristic
from synmt.options import check_owners, chosen
from synmt.streams import BadInput
from synmt.text.links import DirectedLinks, Link
from synmt.text.tokenization import TokenizerName

if TYPE_CHECKING:
    from synmt.alignment.extraction import SoftLinks
    from synmt.model.records import SentencePair
    from synmt.training.bitext import Bitext

Needs = tuple[frozenset[str], frozenset[str]]  # fields that the records of a source and of a target must have


class Aligner(Protocol):
    """A method that is ready to align.

    heuristic: how its links are taken where nothing else is asked for.
    languages and tokenizer: of raw text; None where it has not been fitted to any.
    """

    heuristic: Heuristic
    needs: Needs
    languages: tuple[str, str] | None
    tokenizer: TokenizerName | None

    def align(self, pairs: "Sequence[SentencePair]") -> "Sequence[SoftLinks | DirectedLinks]":
        """Align some hundreds of pairs, of which no side is empty, in order; their batches are its own affair."""


@runtime_checkable
class Predictor(Protocol):
    """An aligner that predicts words."""

    def predicted(self, pairs: "Sequence[SentencePair]") -> Sequence[list[bool]]:
        """Return for each target word whether a subword of it is what the forward model finds most likely there."""


@dataclass(frozen=True)
class FitConfig:
    """What a method is fitted to, and how.

    method: its name; guide: the links to learn from of each pair, or None.
    settings: those that were given, by name; the others have the method's defaults.
    out: the model folder to make or, with `resume`, to go on with.
    """

    method: str
    bitext: "Bitext"
    guide: Sequence[Set[Link]] | None
    languages: tuple[str, str]
    tokenizer: TokenizerName
    settings: Mapping[str, Any]
    out: Path
    resume: bool
    device: str


class Method(Protocol):
    """What ALIGNERS holds: a dataclass whose fields are the options of a method. All of it raises BadInput.

    guide: the method whose links this one learns from, where no others are given; "" if it learns from none.
    """

    guide: str

    def needs(self, settings: Mapping[str, Any]) -> Needs:
        """Return what the records to be fitted to must have, by all settings."""

    def fit(self, config: FitConfig) -> Aligner: ...

    @classmethod
    def open(cls, name: str, folder: Path, device: str) -> Aligner: ...


def open_method(name: str, settings: Mapping[str, Any]) -> Method:
    """Return the method with its own of the settings. Raises BadInput for those of a method that takes no part."""
    try:
        check_owners(ALIGNERS.items(), list(teachers(name)), settings, name)
        method: Method = ALIGNERS[name](**chosen(ALIGNERS[name], settings, f"{name}-"))
    except ValueError as error:
        raise BadInput(str(error)) from None
    return method


def teachers(name: str) -> list[str]:
    """Return the method, what it learns from, and so on."""
    guide = ALIGNERS[name].guide
    return [name, *teachers(guide)] if guide else [name]


def open_aligner(folder: Path, name: str | None, device: str) -> Aligner:
    """Open the aligner of a model folder, by the method that made it or another one. Raises BadInput."""
    from synmt.model.files import read_config

    if name is None:
        name = read_config(folder).get("aligner")
        if not isinstance(name, str) or name not in ALIGNERS:
            raise BadInput("is no aligner; name a --method that reads links off this model", str(folder))
    aligner: Aligner = ALIGNERS[name].open(name, folder, device)
    return aligner


def check_command(
    paths: Sequence[str],
    fit: bool,
    method: str | None,
    links_from: Sequence[str],
    guide: str | None,
    out: Path | None,
    resume: bool,
    settings: Mapping[str, Any],
) -> None:
    """Raise BadInput for arguments of `synmt align` that do not go together."""
    if method is not None and method not in ALIGNERS:
        raise BadInput(f"unknown method {method!r}; known: {', '.join(ALIGNERS)}")
    for cause, holds in {
        "a MODEL folder, --fit or --links-from": not (paths or fit or links_from),
        "--guide, --out, --resume and all settings of training go with --fit": not fit
        and bool(guide or out or resume or settings),
        "links are taken --links-from files or from what is --fit, not both; see --guide": fit and links_from,
        "--links-from takes one file, or one of each direction": len(links_from) > 2,
        "--resume goes on with the run in --out": resume and not out,
    }.items():
        if holds:
            raise BadInput(cause)
