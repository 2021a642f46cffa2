"""Word links: the functions behind `synmt align`, `synmt link` and `synmt symmetrize`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self, TypeVar

from synmt.alignment import ALIGNERS, MethodName
from synmt.alignment.aligner import NO_NEEDS, FittedAligner, MethodConfig, load_aligner
from synmt.alignment.choice import RULES, choose_saved, default_method, known, owners
from synmt.alignment.config import AlignConfig, FitConfig, LinksConfig, SymmetrizeConfig
from synmt.alignment.linking import KnownLinks, aligned
from synmt.alignment.pairs import read_pairs, with_known_links
from synmt.alignment.stream import OF_TREES, WINDOW, advice, fitted, known_links, needed, note_unlinked, sides_for
from synmt.api.given import Pairs, as_given, chosen_of, columns_of, files_in, public
from synmt.components import ENCODER_COMPONENTS
from synmt.components.contract import EncoderComponent
from synmt.data.records import BitextFiles, SentencePair
from synmt.data.words import SideWords, say_warnings, sides_of
from synmt.inspection.alignment import links_picture
from synmt.nn.config import TransformerConfig
from synmt.options import Choice, Rules, Setting, check_used, config_of, given, settings_of
from synmt.streams import BadLines, Notes, OnError, shown, windows
from synmt.streams.paths import check_apart
from synmt.text.links import Link, write_links
from synmt.text.tokenization import TextConfig
from synmt.training.config import TrainingConfig

Methods = MethodName | MethodConfig | Sequence[MethodName | MethodConfig]
Syntax = str | EncoderComponent | Sequence[str | EncoderComponent]
Config = TypeVar("Config", bound=LinksConfig)
OF_COMMAND = {name: Setting(name, default, option=name) for name, default in (("device", "auto"), ("resume", False))}
OF_LINES = "format", "scores", "predictions"  # settings of the lines that commands write


@dataclass(frozen=True, slots=True)
class WordLinks:
    """The links of a pair. `str` gives them as `synmt align` prints them, such as `0-0 1-2`.

    source, target: its words; links: the score, from 0 to 1, of each link of a source and a target position, counted
    from 0; confidence: the best score of each word, averaged over all words.
    """

    source: Sequence[str]
    target: Sequence[str]
    links: Mapping[Link, float]
    confidence: float

    @property
    def line(self) -> str:
        """The links as `synmt align` prints them, such as `0-0 1-2`."""
        return write_links(self.links)

    def _repr_svg_(self) -> str:
        """Return a picture of the words and links, which notebooks show."""
        return links_picture(self.source, self.target, self.links)

    def __str__(self) -> str:
        return self.line

    def __repr__(self) -> str:
        return f"<WordLinks {shown(str(self), 70)}, confidence {self.confidence:.2f}>"


@public
def align(
    pairs: Pairs,
    method: Methods | None = None,
    links: AlignConfig = AlignConfig(),
    *,
    text: TextConfig = TextConfig(),
    training: TrainingConfig = TrainingConfig(),
    network: TransformerConfig = TransformerConfig(),
    source_syntax: Syntax | None = None,
    target_syntax: Syntax | None = None,
    preset: str | None = None,
    models: str | Path | None = None,
    guide: str | Path | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    device: str = "auto",
    on_error: OnError = "fail",
) -> Iterator[WordLinks]:
    """Fit an aligner to (source, target) pairs, then yield the links of each pair in order, as `synmt align`.

    pairs: (source, target) pairs, a file of `source TAB target` lines, or a source and a target file; method: a name,
    the options of one such as `HmmConfig(rounds=3)`, or several to join, unless one consists of the others, which
    then set its options; None: the default or, with `resume`, the method of the folder; training, network,
    source_syntax, target_syntax, preset: for methods that train a network; out: a new folder to save the aligner in;
    resume: continue the fit in `out`; guide: a file of links to learn from; models: an aligner whose translation models
    to reuse. on_error: fail, or blank: a bad pair gets no links and is counted in a warning. Raises BadInput, TypeError
    and ValueError, also for a setting that has no effect.
    """
    names, asked = ([], {}) if method is None else chosen_of(method, [ALIGNERS], "method")
    for side, encoder in (("source_syntax", source_syntax), ("target_syntax", target_syntax)):
        if encoder is not None:
            components, options = chosen_of(encoder, [ENCODER_COMPONENTS], side)
            asked |= {side: "+".join(components)} | options
    asked |= given(training) | given(network) | _named(preset=preset, models=models)
    files, kept = files_in(pairs), Path(out) if out else None
    if kept:
        check_apart([("--out", str(kept))], [*files, *_named(guide=guide, models=models).values()])
    parts = {part for name in names for part in ALIGNERS.named(name).parts}
    chosen = "+".join(each for each in names if each not in parts) or default_method(kept if resume else None)
    ALIGNERS.named(chosen)
    config = _of_results(links)
    own = {"out": out, "resume": resume, "device": device if device != "auto" else "", **_named(guide=guide)}
    idle = _check({**asked, **given(links), **given(text), **own, "method": chosen}, RULES)
    asked = {name: value for name, value in asked.items() if name not in idle}
    opened = BitextFiles.open(files, given(text))
    text = config_of(TextConfig, opened.with_languages(given(text)))
    bad, notes = BadLines(on_error), Notes()
    with ExitStack() as stack:
        fit = FitConfig(chosen, asked, str(guide) if guide else None, kept, resume, device)
        fitting = stack.enter_context(fitted(fit, columns_of(pairs, opened, bad), opened, config, text, bad, notes))
        found = _links(fitting.aligner, fitting.pairs(), config, advice(config), bad, notes)
        return _closing(stack.pop_all(), found)


@public
def link(
    model: str | Path,
    pairs: Pairs,
    links: AlignConfig = AlignConfig(),
    *,
    text: TextConfig = TextConfig(),
    method: MethodName | None = None,
    device: str = "auto",
    on_error: OnError = "fail",
) -> Iterator[WordLinks]:
    """Yield the links of each (source, target) pair in order, by the aligner saved in a folder, as `synmt link`.

    pairs: as for `align`; method: as for `Aligner.load`. on_error: fail, or blank: a bad pair gets no links and is
    counted in a warning. Raises BadInput, TypeError and ValueError.
    """
    return Aligner.load(model, method, device).link(pairs, links, text=text, on_error=on_error)


@public
def symmetrize(
    links: str | Path | Sequence[str | Path],
    pairs: Pairs,
    config: SymmetrizeConfig = SymmetrizeConfig(),
    *,
    text: TextConfig = TextConfig(),
    on_error: OnError = "fail",
) -> Iterator[WordLinks]:
    """Yield the links of each (source, target) pair in order, combined from files of links, as `synmt symmetrize`.

    links: a file, or several; pairs: as for `align`. on_error: fail, or blank: a bad pair gets no links and is counted
    in a warning. Raises BadInput, TypeError and ValueError.
    """
    opened = BitextFiles.open(files_in(pairs), given(text))
    text = config_of(TextConfig, opened.with_languages(given(text)))
    files = [str(each) for each in ([links] if isinstance(links, str | Path) else links)]
    known, how = known_links(_of_results(config), len(files))
    bad, notes = BadLines(on_error), Notes()
    sides = sides_of(text.languages, text.tokenizer or "words")
    needs = OF_TREES if config.tree_links else NO_NEEDS
    found = read_pairs(columns_of(pairs, opened, bad), needs, sides, config.max_words, bad)
    return _links(known, with_known_links(found, files, notes), how, known.advice, bad, notes, sides)


@dataclass(frozen=True)
class Aligner:
    """An aligner in memory. choice: which settings it uses."""

    def __repr__(self) -> str:
        return f"<Aligner {self.choice.name}>"

    aligner: FittedAligner
    choice: Choice = field(default_factory=Choice, repr=False)

    @classmethod
    @public
    def load(cls, folder: str | Path, method: MethodName | None = None, device: str = "auto") -> Self:
        """Load an aligner that `align` has saved. Raises BadInput, and ValueError for a device
        that it does not use.

        method: another method of reading links from its models, as `--method`.
        """
        choice = choose_saved({"model": folder} | _named(method=method))
        opened = cls(load_aligner(Path(folder), method, device), choice)
        check_used({"device": device} if device != "auto" else {}, OF_COMMAND, opened.rules)
        return opened

    @property
    def rules(self) -> Rules:
        return Rules(lambda given: self.choice, owners)

    @public
    def link(
        self,
        pairs: Pairs,
        links: AlignConfig = AlignConfig(),
        *,
        text: TextConfig = TextConfig(),
        on_error: OnError = "fail",
    ) -> Iterator[WordLinks]:
        """Yield the links of each pair in order; a pair with an empty side has none.

        pairs, on_error: as for `align`. Raises BadInput, TypeError and ValueError.
        """
        config = _of_results(links)
        _check({**given(links), **given(text)}, self.rules)
        opened = BitextFiles.open(files_in(pairs), given(text))
        text = config_of(TextConfig, opened.with_languages_inside(given(text)))
        sides, bad, notes = sides_for(self.aligner, text), BadLines(on_error), Notes()
        needs = needed(self.aligner.config, self.aligner.needs(), config)
        found = read_pairs(columns_of(pairs, opened, bad), needs, sides, config.max_words, bad)
        return _links(self.aligner, found, config, advice(config), bad, notes, sides)


def _named(**arguments: object) -> dict[str, str]:
    """Return the arguments that are not None, as text."""
    return {name: str(value) for name, value in arguments.items() if value is not None}


def _of_results(config: Config) -> Config:
    """Return the config for links with scores. Raises ValueError for a setting of the lines that commands write."""
    for each in settings_of(type(config)):
        if each.name in OF_LINES and getattr(config, each.name) != each.default:
            raise ValueError(f"{each.name} has no effect: it belongs to the lines that commands write")
    return replace(config, format="jsonl")


def _check(asked: Mapping[str, Any], rules: Rules) -> set[str]:
    """Raise ValueError for a setting that has no effect. Return the settings without effect, which are the defaults."""
    options = {name: value for name, value in as_given(asked).items() if value or name in known()}
    idle = check_used({**options, "format": "jsonl"}, known() | OF_COMMAND, rules)
    return {name.replace("-", "_") for name in idle}


def _links(
    aligner: FittedAligner | KnownLinks,
    pairs: Iterable[SentencePair],
    config: AlignConfig,
    advice: str,
    bad: BadLines,
    notes: Notes,
    sides: Sequence[SideWords] = (),
) -> Iterator[WordLinks]:
    total = unlinked = 0
    for window in windows(pairs, WINDOW):
        for pair, links, _ in aligned(aligner, window, config):
            total += pair.is_whole
            unlinked += pair.is_whole and not links.links
            yield WordLinks(pair.source.tokens, pair.target.tokens, links.links, links.confidence)
    note_unlinked(unlinked, total, advice)
    say_warnings(bad, notes, *sides)


def _closing(stack: ExitStack, found: Iterator[WordLinks]) -> Iterator[WordLinks]:
    with stack:
        yield from found
