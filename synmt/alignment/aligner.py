"""What an aligner is to the rest: fitted to a bitext, or opened from a model folder, it aligns pairs."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from synmt.alignment.config import Heuristic, LinksBy
from synmt.streams import Notes
from synmt.text.links import DirectedLinks, Link
from synmt.text.tokenization import TokenizerName, Words

if TYPE_CHECKING:
    from synmt.alignment.extraction import SoftLinks
    from synmt.model.records import SentencePair
    from synmt.training.bitext import Bitext

KnownWords = tuple[Words | None, Words | None]  # of source and target
Needs = tuple[frozenset[str], frozenset[str]]  # fields that the records of a source and of a target must have


class Aligner(Protocol):
    """A method that is ready to align.

    heuristic: how its links are taken where nothing else is asked for.
    languages and tokenizer: of raw text; None where it has not been fitted to any; words: those of both sides as
    they were, as far as they are known.
    """

    heuristic: Heuristic
    needs: Needs
    languages: tuple[str, str] | None
    tokenizer: TokenizerName | None
    words: KnownWords

    def align(self, pairs: "Sequence[SentencePair]") -> "Sequence[SoftLinks | DirectedLinks]":
        """Align some hundreds of pairs, of which no side is empty, in order; their batches are its own affair."""


@runtime_checkable
class Predictor(Protocol):
    """An aligner that predicts words."""

    def predicted(self, pairs: "Sequence[SentencePair]") -> Sequence[list[bool]]:
        """Return for each target word whether a subword of it is what the forward model finds most likely there."""


@runtime_checkable
class TwoReadings(Protocol):
    """An aligner that can read links off attention, or off what that would be with the predicted word known."""

    links_by: LinksBy


@runtime_checkable
class Tempered(Protocol):
    """An aligner whose scores are probabilities at a temperature that is known."""

    temperature: float


@dataclass(frozen=True)
class FitConfig:
    """What a method is fitted to, and how.

    method: its name; guide: the links to learn from of each pair, or None.
    settings: those that were given, by name; the others have the method's defaults.
    words: those of both sides, as far as they are known.
    out: the model folder to make or, with `resume`, to go on with.
    notes: what is doubtful about the bitext, to be said once nothing can be refused any more.
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
    words: KnownWords = (None, None)
    notes: Notes = field(default_factory=lambda: Notes("align"))


class Method(Protocol):
    """What ALIGNERS holds: a dataclass whose fields are the options of a method; or a LinkIdea, which makes one.

    All of it raises BadInput. A method can have further attributes:
    uses(given), a class method: the names of the options that it uses besides its own, such as `guide`, `resume`, those
    of training, of the network and of links (OF_LINKS and larger sets); it may depend on the options that are given.
    Without it, a method uses OF_WEIGHTS.
    parts: other methods, whose options are its own, too.
    guide: the method that it learns from unless it is given links.
    presets: what --preset names; the first one is the default.
    several: whether several processes can fit it together.
    """

    def needs(self, settings: Mapping[str, Any]) -> Needs:
        """Return what the records to be fitted to must have, by all settings."""

    def fit(self, config: FitConfig) -> Aligner: ...

    def open(self, folder: Path, device: str) -> Aligner: ...
