"""The two classes of a method, and the folder of an aligner. Imports neither numpy nor torch, so that `--help` is fast.

A method has a config, a frozen dataclass whose fields are its options, and an aligner, which the config fits to a
bitext or loads from a folder: `HmmConfig(rounds=3).fit(bitext, how)`, `HmmConfig.load(folder, device)`. The aligner
returns the `links` of pairs, and can `save` itself.

A folder holds the aligner's own files and config.json. The latter is written last, so its presence shows that the
folder is complete:

    {"aligner": name, "model": {"options": …, "languages": …, "tokenizer": …, "words": …, and the aligner's own fields}}

All of these raise BadInput; `needs` of a config and `fit` also raise WrongUsage for incompatible settings.
"""

import hashlib
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar, runtime_checkable

from synmt.alignment import ALIGNERS
from synmt.alignment.config import OF_WEIGHTS, Heuristic, LinksBy
from synmt.model.config import check_text
from synmt.model.files import CONFIG_FILE, check_new, locked, naming, read_config, write_config
from synmt.model.fingerprint import check_same, fingerprint_of
from synmt.options import Checked, Preset, chosen, settings_of
from synmt.registry import attribute
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
Config = TypeVar("Config", bound="MethodConfig")


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


@dataclass(frozen=True)
class MethodConfig(Checked):
    """The options of a method, which are its fields: the base of the classes in ALIGNERS.

    aligner: `module:class` of the aligners that the method fits, imported when one is fitted or loaded.
    cites: its papers, as in synmt.citations; by default, the papers of its parts.
    presets: the values of --preset, the default first.
    parts: other methods, whose options it shares.
    guide: the method that supplies links to learn from, by default; of_guide: its own options that need given links.
    subfolders: one of them, or of its parts, exists once a fit has begun.
    several: whether several processes can fit it together.
    """

    aligner: ClassVar[str] = ""
    cites: ClassVar[tuple[str, ...]] = ()
    presets: ClassVar[Mapping[str, Preset]] = {}
    parts: ClassVar[tuple[str, ...]] = ()
    guide: ClassVar[str] = ""
    of_guide: ClassVar[tuple[str, ...]] = ()
    subfolders: ClassVar[tuple[str, ...]] = ()
    several: ClassVar[bool] = False

    @classmethod
    def uses(cls, given: Settings) -> frozenset[str]:
        """Return the names of the options that the method uses besides its own, depending on the options given: of
        links, training and the network, and `guide`, `models`, `preset`, `resume`, `device` and encoders."""
        return OF_WEIGHTS

    @classmethod
    def cost(cls, settings: Settings, pairs: int, cells: int) -> str:
        """Return a line about the time that a fit takes, or "". cells: Σ J × I of the pairs."""
        return ""

    def fit(self, bitext: FitBitext, how: Fitting) -> "FittedAligner":
        """Return an aligner that has learned from the bitext, and is saved in `how.out`."""
        aligner: FittedAligner = attribute(self.aligner).fit(self, bitext, how)
        return aligner

    @classmethod
    def load(cls, folder: Path, device: str) -> "FittedAligner":
        """Return the aligner of a folder."""
        aligner: FittedAligner = attribute(cls.aligner).load(cls, folder, device)
        return aligner

    def needs(self, settings: Settings) -> Needs:
        """Return the fields that the records of a fit must have. settings: all that are given, by name."""
        return NO_NEEDS


class FittedAligner(ABC):
    """An aligner that is fitted: the base of the classes that a method's `aligner` names.

    config: the options of its method; text: what it was fitted to.
    """

    config: MethodConfig
    text: FittedText

    @property
    @abstractmethod
    def heuristic(self) -> Heuristic:
        """How links are chosen by default."""

    @property
    def temperature(self) -> float:
        """Divide the log-odds of its scores by this, and they are probabilities."""
        return 1.0

    @classmethod
    @abstractmethod
    def fit(cls, config: Any, bitext: FitBitext, how: Fitting) -> "FittedAligner":
        """Learn from the bitext, and save the result in `how.out`. config: of its method."""

    @classmethod
    @abstractmethod
    def load(cls, method: type[Any], folder: Path, device: str) -> "FittedAligner":
        """Load a saved aligner. method: the class of its config, or of another that can read its models."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write all files that `load` reads to another folder."""

    def needs(self) -> Needs:
        """Return the fields that the records of pairs to align must have."""
        return NO_NEEDS

    @abstractmethod
    def links(self, pairs: "Sequence[SentencePair]") -> "Sequence[SoftLinks | DirectedLinks]":
        """Return the links of each of a few hundred pairs, in order, or their weights. No side is empty."""


@runtime_checkable
class Predictor(Protocol):
    """An aligner that predicts target words."""

    def predicted(self, pairs: "Sequence[SentencePair]") -> Sequence[list[bool]]:
        """Return for each target word whether the forward model ranks one of its subwords first at its position."""


@runtime_checkable
class TwoReadings(Protocol):
    """An aligner that reads links from attention, or from what attention would be if the next word were known."""

    links_by: LinksBy


def method_config(name: str, settings: Settings) -> MethodConfig:
    """Return the config of a method; settings that it does not have are ignored. Raises WrongUsage."""
    try:
        kind = ALIGNERS.named(name)
        config: MethodConfig = kind(**chosen(kind, settings, f"{name}-"))
    except ValueError as error:
        raise WrongUsage(str(error)) from None
    return config


def load_aligner(folder: Path, name: str | None, device: str) -> FittedAligner:
    """Load a saved aligner by the method that made it, or by another that can read its models. Raises BadInput."""
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
        aligner: FittedAligner = kind.load(folder, device)
    return aligner


def is_begun(folder: Path, kind: type[MethodConfig]) -> bool:
    """Return whether a fit of a method has begun to fill a folder."""
    return any((folder / name).exists() for name in (CONFIG_FILE, *kind.parts, *kind.subfolders))


def name_of(kind: type[MethodConfig]) -> str:
    """Return the name of a method."""
    return next((name for name, each in ALIGNERS.items() if each is kind), "+".join(kind.parts))


def options_of(config: MethodConfig) -> dict[str, Any]:
    """Return the options of a method by name."""
    return {each.name: getattr(config, each.name) for each in settings_of(type(config))}


@contextmanager
def new_folder(how: Fitting) -> Iterator[Path]:
    """Create and lock the folder of an aligner that cannot be resumed. Raises BadInput."""
    check_new(how.out)
    with locked(how.out):
        how.notes.say()
        yield how.out


def write_saved(folder: Path, config: MethodConfig, text: FittedText, **own: Any) -> None:
    """Write the config of a folder; own: the aligner's own fields. Raises BadInput."""
    fields = {"options": options_of(config), **asdict(text), **own}
    write_config(folder, {"aligner": name_of(type(config)), "model": fields})


def fingerprint(config: MethodConfig, bitext: FitBitext) -> dict[str, object]:
    """Return the inputs and options of a fitted aligner, for its folder: a checksum of each input and of each file that
    an option names, and all other options as they are. Raises BadInput."""
    name, files = name_of(type(config)), {each.name for each in settings_of(type(config)) if each.metavar == "FILE"}
    options = {
        f"--{name}-{each}".replace("_", "-"): fingerprint_of(Path(value))
        if each in files and value is not None
        else value
        for each, value in options_of(config).items()
    }
    return {**inputs_of(bitext.pairs, bitext.guide), **options}


def check_fitted(folder: Path, config: MethodConfig, bitext: FitBitext, others: Settings) -> None:
    """Raise BadInput if a folder's aligner was fitted to other pairs or links, or with options other than those of the
    config and `others`, which older folders do not name.

    The folder records its `fingerprint` and these others.
    """
    fields = read_saved(folder, type(config))
    with naming(folder / CONFIG_FILE):
        before = {**others, **fields.get("fingerprint", {})}
    check_same(folder, before, {**fingerprint(config, bitext), **others}, "was fitted")


def read_saved(folder: Path, kind: type[MethodConfig]) -> dict[str, Any]:
    """Return the fields in the config of an aligner of this method. Raises BadInput.

    In older folders of some aligners, these fields are at the top level.
    """
    fields = read_config(folder)
    with naming(folder / CONFIG_FILE):
        if fields["aligner"] != name_of(kind):
            raise ValueError(f"expected a model of {name_of(kind)}, found one of {fields['aligner']}")
        saved: dict[str, Any] = fields.get("model", fields)
        return saved


def read_fitted(folder: Path, kind: type[Config]) -> tuple[Config, FittedText]:
    """Return the options of a folder's aligner, and the text that it was fitted to. Raises BadInput."""
    saved = read_saved(folder, kind)
    with naming(folder / CONFIG_FILE):
        options = saved["options"] if settings_of(kind) else {}  # older folders name none
        return kind(**options), FittedText.read(saved)


def copy_saved(folder: Path, to: Path) -> None:
    """Copy a saved aligner to a new folder, without the files for resuming its training. Raises BadInput."""
    check_new(to)
    with locked(to), naming(to):
        shutil.copytree(folder, to, ignore=shutil.ignore_patterns("checkpoint", "log.tsv"), dirs_exist_ok=True)
