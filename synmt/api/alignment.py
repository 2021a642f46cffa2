"""Word links: the functions behind `synmt align`, `synmt link` and `synmt symmetrize`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from synmt.alignment.aligner import NO_NEEDS, open_aligner
from synmt.alignment.aligner import Aligner as AnyAligner
from synmt.alignment.choice import RULES, choose_saved, default_method, known, owners, settings_of_fit
from synmt.alignment.config import AlignConfig, FitConfig, LinksConfig, SymmetrizeConfig
from synmt.alignment.linking import KnownLinks, aligned
from synmt.alignment.pairs import read_pairs, with_known_links
from synmt.alignment.stream import OF_TREES, WINDOW, advice, fitted, known_links, needed, note_unlinked, sides_for
from synmt.api.given import Pair, as_given, columns_of, config_of_all, not_given, takes
from synmt.data.records import SentencePair
from synmt.data.words import SideWords, say_doubts, sides_of
from synmt.inspection.alignment import links_picture
from synmt.options import Choice, Rules, Setting, check_keywords, check_used, settings_of
from synmt.streams import BadLines, Notes, OnError, shown, windows
from synmt.streams.paths import check_apart
from synmt.text.links import Link, write_links
from synmt.text.tokenization import TextConfig

HOW = ("symmetrize", "threshold", "links_by", "end_punctuation", "tree_links", "temperature", "max_words")
OF_LINKS = [each for each in settings_of(AlignConfig) if each.name in HOW]
OF_COMMAND = {name: Setting(name, default, option=name) for name, default in (("device", "auto"), ("resume", False))}
OF_LINES = {each.name for each in settings_of(AlignConfig)}.difference(HOW)  # settings of the command's output
LINES = {each.name: each.default for each in settings_of(LinksConfig) if each.name not in HOW} | {"format": "jsonl"}
OF_TEXT = [each.name for each in settings_of(TextConfig)]


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


@takes(*(each for each in not_given(known()) if each.name not in OF_LINES))
def align(
    pairs: Iterable[Pair] | Path,
    method: str | None = None,
    *,
    out: str | Path | None = None,
    resume: bool = False,
    guide: str | Path | None = None,
    device: str = "auto",
    on_error: OnError = "fail",
    **settings: Any,
) -> Iterator[WordLinks]:
    """Fit an aligner to (source, target) pairs, then yield the links of each pair in order, as `synmt align`.

    pairs: (source, target) pairs, or a file of `source TAB target` lines; method: by default as in `synmt align` or,
    with `resume`, of the folder; out: a new folder to save the aligner in; resume: continue the fit in `out`; guide: a
    file of links to learn from, for methods that can. settings: as for `link`, and the other options of `synmt
    align` that the method uses. on_error: fail, or blank: a bad pair gets no links and is counted in a
    warning. Raises BadInput, TypeError and ValueError, also for a setting that has no effect.
    """
    config, text, others = _configs(settings)
    own = {"method": method, "out": out, "resume": resume, "guide": guide, "device": device if device != "auto" else ""}
    kept = Path(out) if out else None
    if kept:
        read = pairs, guide, settings.get("models")
        check_apart([("--out", str(kept))], [str(each) for each in read if isinstance(each, str | Path)])
    chosen = method or default_method(kept if resume else None)
    idle = _check(settings, own | {"method": chosen}, RULES)
    others = {name: value for name, value in others.items() if name.replace("_", "-") not in idle}
    bad, notes = BadLines(on_error), Notes()
    columns = columns_of(pairs, bad)
    with ExitStack() as stack:
        fit = FitConfig(chosen, others, str(guide) if guide else None, kept, resume, device)
        fitting = stack.enter_context(fitted(fit, columns, config, text, bad, notes))
        found = _links(fitting.aligner, fitting.pairs(), config, advice(config), bad, notes)
        return _closing(stack.pop_all(), found)


@takes(*OF_LINKS, *settings_of(TextConfig))
def link(
    model: str | Path,
    pairs: Iterable[Pair] | Path,
    method: str | None = None,
    *,
    device: str = "auto",
    on_error: OnError = "fail",
    **settings: Any,
) -> Iterator[WordLinks]:
    """Yield the links of each (source, target) pair in order, by the aligner saved in a folder, as `synmt link`.

    pairs: (source, target) pairs, or a file of `source TAB target` lines; method: as for `Aligner.load`; settings: as
    for `Aligner.link`. on_error: fail, or blank: a bad pair gets no links and is counted in a warning. Raises BadInput,
    TypeError and ValueError.
    """
    return Aligner.load(model, method, device).link(pairs, on_error=on_error, **settings)


@takes(*(each for each in settings_of(SymmetrizeConfig) if each.name not in LINES), *settings_of(TextConfig))
def symmetrize(
    links: str | Path | Sequence[str | Path],
    pairs: Iterable[Pair] | Path,
    *,
    on_error: OnError = "fail",
    **settings: Any,
) -> Iterator[WordLinks]:
    """Yield the links of each (source, target) pair in order, combined from files of links, as `synmt symmetrize`.

    links: a file, or several; pairs: (source, target) pairs, or a file of `source TAB target` lines. on_error: fail, or
    blank: a bad pair gets no links and is counted in a warning. Raises BadInput, TypeError and ValueError.
    """
    text = config_of_all(TextConfig, {name: settings.pop(name) for name in OF_TEXT if name in settings})
    config = config_of_all(SymmetrizeConfig, settings, **LINES)
    files = [str(each) for each in ([links] if isinstance(links, str | Path) else links)]
    known, how = known_links(config, len(files))
    bad, notes = BadLines(on_error), Notes()
    sides = sides_of(text.languages, text.tokenizer or "words")
    needs = OF_TREES if config.tree_links else NO_NEEDS
    found = read_pairs(columns_of(pairs, bad), needs, sides, config.max_words, bad)
    return _links(known, with_known_links(found, files, notes), how, known.advice, bad, notes, sides)


@dataclass(frozen=True)
class Aligner:
    """An aligner in memory. choice: which settings it uses."""

    def __repr__(self) -> str:
        return f"<Aligner {self.choice.name}>"

    aligner: AnyAligner
    choice: Choice = field(default_factory=Choice, repr=False)

    @classmethod
    @takes()
    def load(cls, folder: str | Path, method: str | None = None, device: str = "auto") -> Self:
        """Load an aligner that `align` has saved. Raises BadInput, and ValueError for a device
        that it does not use.

        method: another method of reading links from its models, as `--method`.
        """
        given = {"model": folder} | ({"method": method} if method else {})
        opened = cls(open_aligner(Path(folder), method, device), choose_saved(given))
        check_used({"device": device} if device != "auto" else {}, OF_COMMAND, opened.rules)
        return opened

    @property
    def rules(self) -> Rules:
        return Rules(lambda given: self.choice, owners)

    @takes(*OF_LINKS, *settings_of(TextConfig))
    def link(self, pairs: Iterable[Pair] | Path, *, on_error: OnError = "fail", **settings: Any) -> Iterator[WordLinks]:
        """Yield the links of each pair in order; a pair with an empty side has none.

        settings: `symmetrize`, `threshold`, `links_by`, `end_punctuation`, `tree_links`, `temperature`, `max_words`,
        and the options of `synmt link` under Text. on_error: as for `align`. Raises BadInput, TypeError and
        ValueError.
        """
        config, text, others = _configs(settings)
        if others:
            raise TypeError(f"unknown setting {min(others)!r}")
        _check(settings, {}, self.rules)
        sides, bad, notes = sides_for(self.aligner, text), BadLines(on_error), Notes()
        needs = needed(self.aligner, config)
        columns = columns_of(pairs, bad)
        found = read_pairs(columns, needs, sides, config.max_words, bad)
        return _links(self.aligner, found, config, advice(config), bad, notes, sides)


def _configs(settings: Mapping[str, Any]) -> tuple[AlignConfig, TextConfig, dict[str, Any]]:
    """Return the configs of links and of text, and all other settings."""
    config = config_of_all(
        AlignConfig, {name: settings[name] for name in HOW if name in settings} | {"format": "jsonl"}
    )
    text = config_of_all(TextConfig, {name: settings[name] for name in OF_TEXT if name in settings})
    return config, text, settings_of_fit(settings)


def _check(settings: Mapping[str, Any], own: Mapping[str, Any], rules: Rules) -> set[str]:
    """Raise TypeError for an unknown setting, and ValueError for one that is invalid or has no effect.

    own: settings that the function itself decides. Return the options without effect, whose values are the defaults.
    """
    check_keywords(settings, {name: each for name, each in known().items() if name not in OF_LINES})
    given = as_given(settings) | {name: value for name, value in own.items() if value} | {"format": "jsonl"}
    return check_used(given, known() | OF_COMMAND, rules)


def _links(
    aligner: AnyAligner | KnownLinks,
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
    say_doubts(bad, notes, *sides)


def _closing(stack: ExitStack, found: Iterator[WordLinks]) -> Iterator[WordLinks]:
    with stack:
        yield from found
