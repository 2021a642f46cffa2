"""The interface of aligners, and their folder. Imports neither numpy nor torch, so that `--help` is fast.

An aligner is one class, a frozen dataclass: some of its fields are its options, the others hold what it has learned.
`fit` and `open` return an aligner that is ready to align.

A folder holds the aligner's own files and config.json. The latter is written last, so its presence shows that the
folder is complete:

    {"aligner": name, "model": {"options": …, "languages": …, "tokenizer": …, "words": …, and the aligner's own fields}}

The methods of an aligner raise BadInput; `needs` and `fit` also raise WrongUsage for incompatible settings.
"""

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, runtime_checkable

from synmt.alignment import ALIGNERS
from synmt.alignment.config import Heuristic, LinksBy
from synmt.model.config import check_text
from synmt.model.files import CONFIG_FILE, check_new, locked, naming, read_config, write_config
from synmt.model.fingerprint import check_same, fingerprint_of
from synmt.options import chosen, settings_of
from synmt.streams import BadInput, Message, Notes, WrongUsage
from synmt.streams.process import random_numbers_kept
from synmt.text.links import DirectedLinks, Link, write_links
from synmt.text.tokenization import TokenizerName, Words

if TYPE_CHECKING:
    from synmt.alignment.extraction import SoftLinks
    from synmt.data.bitext import Bitext
    from synmt.data.records import SentencePair

KnownWords = tuple[Words | None, Words | None]  # of source and target
Needs = tuple[frozenset[str], frozenset[str]]  # fields that the records of a source and of a target must have
NO_NEEDS: Needs = (frozenset(), frozenset())
Settings = Mapping[str, Any]
T = TypeVar("T", bound="AlignmentMethod")


@dataclass(frozen=True)
class FittedText:
    """The raw text that an aligner is fitted to. words: how each side was split into words, if known."""

    languages: tuple[str, str]
    tokenizer: TokenizerName
    words: KnownWords = field(default=(None, None), compare=False)  # determined by the text

    def __post_init__(self) -> None:
        """Raise ValueError for unknown names."""
        check_text(self.tokenizer, self.languages)

    @classmethod
    def read(cls, fields: Settings) -> Self:
        """Raise KeyError, ValueError or TypeError for missing or invalid fields."""
        source, target = fields["languages"]
        of_source, of_target = map(Words.read, fields.get("words", (None, None)))
        return cls((source, target), fields["tokenizer"], (of_source, of_target))


@dataclass(frozen=True)
class FitBitext:
    """Sentence pairs to fit an aligner to; no side is empty. guide: the links to learn from, for each pair, or None."""

    pairs: "Bitext"
    text: FittedText
    guide: Sequence[Set[Link]] | None = None


def inputs_of(pairs: "Bitext", guide: Sequence[Set[Link]] | None) -> dict[str, str]:
    """Return checksums of the pairs and links that a model learns from, by name."""
    if guide is None:
        return {"data": pairs.checksum}
    checksum = hashlib.blake2b(digest_size=16)
    for links in guide:
        checksum.update(f"{write_links(sorted(links))}\n".encode())
    return {"data": pairs.checksum, "links": checksum.hexdigest()}


@dataclass(frozen=True)
class Fitting:
    """How an aligner is fitted.

    settings: the given options, by name; others have the aligner's defaults. out: the folder to create or, with
    `resume`, to continue. notes: warnings about the bitext, reported once all checks have passed.
    """

    settings: Settings
    out: Path
    resume: bool
    device: str
    notes: Notes = field(default_factory=Notes)


@runtime_checkable
class AlignmentMethod(Protocol):
    """The interface of the classes in ALIGNERS.

    heuristic: how links are chosen by default; text: None until it is fitted or opened.
    Class attributes that an aligner may have:
    uses(given), a class method: the names of the options that it uses besides its own, such as `guide`, `resume`,
    `device`, and options of training, of the network and of links (OF_LINKS and larger sets), depending on the options
    given. Without it, an aligner uses OF_WEIGHTS.
    parts: other aligners, whose options it shares. subfolders: one of them exists once a fit has begun.
    guide: the aligner that supplies links to learn from, by default. of_guide: its own options that need given links.
    presets: the values of --preset, the default first. several: whether several processes can fit it together.
    cites: its papers, as in synmt.citations; by default, the papers of its parts.
    cost(settings, pairs, cells), a class method: a line about the time that fitting takes; cells: Σ J × I.
    """

    @property
    def heuristic(self) -> Heuristic: ...

    @property
    def text(self) -> FittedText | None: ...

    def needs(self, settings: Settings | None = None) -> Needs:
        """Return the fields that records must have: for fitting with these settings or, if None, for aligning."""

    def fit(self, bitext: FitBitext, how: Fitting) -> Self:
        """Learn from the bitext, and save the result in `how.out`."""

    def save(self, folder: Path) -> None:
        """Write all files that `open` reads to another folder."""

    @classmethod
    def open(cls, folder: Path, device: str) -> Self: ...

    def align(self, pairs: "Sequence[SentencePair]") -> "Sequence[SoftLinks | DirectedLinks]":
        """Align a few hundred pairs in order. No side is empty."""


@runtime_checkable
class Predictor(Protocol):
    """An aligner that predicts target words."""

    def predicted(self, pairs: "Sequence[SentencePair]") -> Sequence[list[bool]]:
        """Return for each target word whether the forward model ranks one of its subwords first at its position."""


@runtime_checkable
class TwoReadings(Protocol):
    """An aligner that reads links from attention, or from what attention would be if the next word were known."""

    links_by: LinksBy


@runtime_checkable
class Tempered(Protocol):
    """An aligner whose scores are probabilities with a known temperature."""

    temperature: float


def new_aligner(name: str, settings: Settings) -> AlignmentMethod:
    """Return an aligner; settings that it does not have are ignored. Raises WrongUsage."""
    try:
        kind = ALIGNERS.named(name)
        made: AlignmentMethod = kind(**chosen(kind, settings, f"{name}-"))
    except ValueError as error:
        raise WrongUsage(str(error)) from None
    return made


def open_aligner(folder: Path, name: str | None, device: str) -> AlignmentMethod:
    """Open a saved aligner by the method that made it, or by another that can read its models. Raises BadInput."""
    if name is None:
        name = read_config(folder).get("aligner")
        if name == "hmms":
            cause = 'was saved by the method hmms, now auto: sed -i \'s/"hmms"/"auto"/\' {}'
            raise BadInput(Message(cause, folder / CONFIG_FILE), str(folder))
        if not isinstance(name, str) or name not in ALIGNERS:
            raise BadInput(Message("is not an aligner; name a --method that reads links from this model"), str(folder))
    try:
        kind = ALIGNERS.named(name)
    except ValueError as error:
        raise WrongUsage(str(error)) from None
    with random_numbers_kept():
        opened: AlignmentMethod = kind.open(folder, device)
    return opened


def is_begun(folder: Path, kind: Any) -> bool:
    """Return whether a fit of an aligner or aligner class has begun to fill a folder."""
    return any((folder / name).exists() for name in (CONFIG_FILE, *getattr(kind, "subfolders", ())))


def name_of(aligner: Any) -> str:
    """Return the name of an aligner or of an aligner class."""
    kind = aligner if isinstance(aligner, type) else type(aligner)
    return next((name for name, each in ALIGNERS.items() if each is kind), "+".join(getattr(kind, "parts", ())))


def options_of(aligner: Any) -> dict[str, Any]:
    """Return the options of an aligner by name."""
    return {each.name: getattr(aligner, each.name) for each in settings_of(type(aligner))}


@contextmanager
def new_folder(how: Fitting) -> Iterator[Path]:
    """Create and lock the folder of an aligner that cannot be resumed. Raises BadInput."""
    check_new(how.out)
    with locked(how.out):
        how.notes.say()
        yield how.out


def write_saved(folder: Path, aligner: AlignmentMethod, **own: Any) -> None:
    """Write the config of a folder; own: the aligner's own fields. Raises BadInput."""
    assert aligner.text
    fields = {"options": options_of(aligner), **asdict(aligner.text), **own}
    write_config(folder, {"aligner": name_of(aligner), "model": fields})


def fingerprint(aligner: AlignmentMethod, bitext: FitBitext) -> dict[str, object]:
    """Return the inputs and options of a fitted aligner, for its folder: a checksum of each input and of each file that
    an option names, and all other options as they are. Raises BadInput."""
    name, files = name_of(aligner), {each.name for each in settings_of(type(aligner)) if each.metavar == "FILE"}
    options = {
        f"--{name}-{each}".replace("_", "-"): fingerprint_of(Path(value))
        if each in files and value is not None
        else value
        for each, value in options_of(aligner).items()
    }
    return {**inputs_of(bitext.pairs, bitext.guide), **options}


def check_fitted(folder: Path, aligner: AlignmentMethod, bitext: FitBitext, others: Settings) -> None:
    """Raise BadInput if a folder's aligner was fitted to other pairs or links, or with options other than `aligner`'s
    and `others`, which older folders do not name.

    The folder records its `fingerprint` and these others.
    """
    fields = read_saved(folder, type(aligner))
    with naming(folder / CONFIG_FILE):
        before = {**others, **fields.get("fingerprint", {})}
    check_same(folder, before, {**fingerprint(aligner, bitext), **others}, "was fitted")


def read_saved(folder: Path, kind: type[AlignmentMethod]) -> dict[str, Any]:
    """Return the fields in the config of an aligner of this kind. Raises BadInput.

    In older folders of some aligners, these fields are at the top level.
    """
    fields = read_config(folder)
    with naming(folder / CONFIG_FILE):
        if fields["aligner"] != name_of(kind):
            raise ValueError(f"expected a model of {name_of(kind)}, found one of {fields['aligner']}")
        saved: dict[str, Any] = fields.get("model", fields)
        return saved


def read_aligner(folder: Path, kind: type[T]) -> T:
    """Return an aligner with the options and text of a folder; the caller adds its parameters. Raises BadInput."""
    saved = read_saved(folder, kind)
    with naming(folder / CONFIG_FILE):
        options = saved["options"] if settings_of(kind) else {}  # older folders name none
        return kind(**options, text=FittedText.read(saved))  # type: ignore[call-arg]


def copy_saved(folder: Path, to: Path) -> None:
    """Copy a saved aligner to a new folder, without the files for resuming its training. Raises BadInput."""
    check_new(to)
    with locked(to), naming(to):
        shutil.copytree(folder, to, ignore=shutil.ignore_patterns("checkpoint", "log.tsv"), dirs_exist_ok=True)
