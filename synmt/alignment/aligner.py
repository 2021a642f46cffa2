"""What an alignment method is to the rest: opened from a model folder or fitted to a bitext, it aligns pairs."""

import importlib
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from synmt.alignment import METHODS
from synmt.alignment.extraction import HardLinks, Rule, SoftLinks
from synmt.streams import BadInput, Line
from synmt.systems.records import TokenizerName
from synmt.text.links import Link
from synmt.trees.record import ParseRecord


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences, each with its words and the trees that its side needs; the line that they came from; and their
    links, if they are known."""

    source: ParseRecord
    target: ParseRecord
    line: Line
    known: HardLinks | None = None


class Aligner(Protocol):
    """A method that is ready to align.

    rule: how its links are taken where nothing else is asked for.
    needs: fields that the records of a source and of a target must have.
    languages and tokenizer: of raw text; None where it has not been fitted to any.
    """

    rule: Rule
    needs: tuple[frozenset[str], frozenset[str]]
    languages: tuple[str, str] | None
    tokenizer: TokenizerName | None

    def align(self, pairs: Sequence[Pair]) -> Sequence[SoftLinks | HardLinks]:
        """Of some hundreds of pairs, of which no side is empty, in order; their batches are its own affair."""


@runtime_checkable
class Predictor(Protocol):
    """An aligner that predicts words."""

    def predicted(self, pairs: Sequence[Pair]) -> Sequence[list[bool]]:
        """For each target word, whether any of its pieces is what the model of x → y finds most likely there."""


@dataclass(frozen=True)
class Fit:
    """What a method is fitted to, and how.

    pairs: of which no side is empty; guide: the known links of each pair, or None.
    settings: the options that were given, by name; the others have the method's defaults.
    out: the model folder to make or, with `resume`, to go on with.
    """

    pairs: Sequence[Pair]
    guide: Sequence[Set[Link]] | None
    languages: tuple[str, str]
    tokenizer: TokenizerName
    settings: Mapping[str, Any]
    out: Path
    resume: bool
    device: str


class Method(Protocol):
    """What METHODS names: makes aligners. Both raise BadInput."""

    def needs(self, settings: Mapping[str, Any]) -> tuple[frozenset[str], frozenset[str]]:
        """Fields that the records of a source and of a target must have to be fitted to."""

    def fit(self, what: Fit) -> Aligner: ...

    def open(self, folder: Path, device: str) -> Aligner: ...


def open_method(name: str) -> Method:
    """Raises KeyError for a name that is not in METHODS."""
    module, maker = METHODS[name].split(":")
    method: Method = getattr(importlib.import_module(module), maker)()
    return method


def open_aligner(folder: Path, name: str | None, device: str) -> Aligner:
    """The aligner of a model folder: of the method that made it, unless another one is named. Raises BadInput."""
    from synmt.systems.model_folder import read_config

    if name is None:
        name = read_config(folder).get("aligner")
        if not isinstance(name, str) or name not in METHODS:
            raise BadInput("is no aligner; name a --method that reads links off this model", str(folder))
    return open_method(name).open(folder, device)
