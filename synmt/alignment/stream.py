"""Links of a stream of sentence pairs: by a saved aligner, by an aligner fitted to them, or from known links."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from synmt.alignment import ALIGNERS
from synmt.alignment.aligner import (
    NO_NEEDS,
    FitBitext,
    FittedAligner,
    FittedText,
    Fitting,
    MethodConfig,
    Needs,
    is_begun,
    method_config,
)
from synmt.alignment.choice import used_by
from synmt.alignment.config import AlignConfig, FitConfig, LexiconConfig, SymmetrizeConfig
from synmt.alignment.derived import TREES
from synmt.alignment.lexicon import Lexicon
from synmt.alignment.linking import Aligned, KnownLinks, aligned, aligning
from synmt.alignment.pairs import check_links, pairs_of_links, read_pairs, with_known_links
from synmt.data.bitext import Bitext
from synmt.data.records import BitextFiles, SentencePair
from synmt.data.words import Sides, note_warnings, say_warnings, sides_of, words_of
from synmt.model.files import check_free
from synmt.options import config_of
from synmt.streams import (
    BadInput,
    BadLines,
    Latest,
    Line,
    LineWriter,
    Message,
    Notes,
    OnError,
    WrongUsage,
    count_lines,
    counted,
    note,
    windows,
    with_progress,
    write_lines,
)
from synmt.streams.pool import Run, alone, processes
from synmt.streams.process import random_numbers_kept, temporary_folder
from synmt.text.exchange import Kept, columns_of_units
from synmt.text.links import Link
from synmt.text.tokenization import TextConfig, note_tokenizers
from synmt.trees.record import ParseRecord

WINDOW = 1000  # pairs to sort by length
FIRST_WINDOW = 50
MOST_WORDS = 1000  # on a side, without --max-words
OF_TREES: Needs = TREES, TREES
OF_LEMMAS = frozenset({"lemmas"})
Load = Callable[[], FittedAligner]


def link_stream(
    load: Load, files: BitextFiles, config: AlignConfig, text: TextConfig, on_error: OnError, jobs: int = 1
) -> None:
    """Write a line for each pair of the files to standard output, in constant memory.

    load: loads the aligner, in each of `jobs` processes. text: options of raw text, if the aligner
    was fitted to none, or if it should be tokenized differently.
    Raises BadInput; with `on_error="blank"`, a bad line gets no links and is counted instead.
    """
    aligner = load()
    sides = sides_for(aligner, text)
    bad = BadLines(on_error)
    columns = with_progress(files.columns(bad), "pairs", lambda: count_lines(files.countable()))
    pairs = read_pairs(columns, needed(aligner.config, aligner.needs(), config), sides, config.max_words, bad)
    with processes(jobs, aligning(aligner, config), _aligning_loaded, load, config) as run:
        _write(run, pairs, advice(config))
    say_warnings(bad, Notes(), *sides)


def filter_stream(load: Load, files: BitextFiles, least: float, text: TextConfig, on_error: OnError) -> None:
    """Write the pairs of the files whose links have at least this confidence to standard output, in constant memory;
    of a TMX file all but the other units. load: loads the aligner. Raises BadInput.
    """
    aligner, config = load(), AlignConfig(scores=True)
    sides, bad, waiting = sides_for(aligner, text), BadLines(on_error), deque[Kept]()
    latest, kept, total = Latest(), 0, 0
    columns: Iterator[tuple[Line, ...]]
    if files.parsed:
        columns = columns_of_units(files.parsed, bad, waiting)
    else:
        columns = _columns_and_lines(files.columns(bad), waiting)
    pairs = read_pairs(columns, needed(aligner.config, aligner.needs(), config), sides, config.max_words, bad)
    with LineWriter() as output:
        for window in windows(_followed(pairs, latest), WINDOW, FIRST_WINDOW, latest.pauses):
            for _, links, _ in aligned(aligner, window, config):
                while not waiting[0].is_pair:
                    output.write_bytes(waiting.popleft().whole)
                each = waiting.popleft()
                is_kept = links.confidence >= least
                output.write_bytes(each.whole if is_kept else each.without)
                kept, total = kept + is_kept, total + 1
            if latest.pauses():
                output.flush()
        for each in waiting:
            output.write_bytes(each.whole)
    note(f"kept {kept} of {counted(total, 'pair')}")
    say_warnings(bad, Notes(), *sides)


def _columns_and_lines(columns: Iterable[tuple[Line, ...]], waiting: deque[Kept]) -> Iterator[tuple[Line, ...]]:
    """Yield source and target of each pair, and append its line to those that wait for its confidence."""
    for source, target in columns:
        waiting.append(Kept(f"{source.text}\t{target.text}\n".encode()))
        yield source, target


def symmetrize_stream(
    links: Sequence[str], files: BitextFiles, config: SymmetrizeConfig, text: TextConfig, on_error: OnError
) -> None:
    """Combine the links of several files, and write a line for each pair, as `link_stream`.

    files: of the sentence pairs; without any, the lines of links are pairs of unknown words.
    """
    known, how = known_links(config, len(links))
    bad, notes, sides = BadLines(on_error), Notes(), sides_of(text.languages, text.tokenizer or "words")
    if files.paths:
        needs = OF_TREES if config.tree_links else NO_NEEDS
        check_links(links, files, needs, config.max_words, sides, on_error)
        pairs = read_pairs(files.columns(bad), needs, sides, config.max_words, bad)
        pairs = with_known_links(pairs, links, notes)
    else:
        pairs = pairs_of_links(links, config.max_words, bad, notes)
    _write(alone(aligning(known, how)), pairs, known.advice)
    say_warnings(bad, notes, *sides)


def lexicon_stream(links: str, files: BitextFiles, config: LexiconConfig, text: TextConfig, on_error: OnError) -> None:
    """Write the lexicon of the pairs in the files and their links to standard output. Raises BadInput."""
    bad, notes, sides = BadLines(on_error), Notes(), sides_of(text.languages, text.tokenizer or "words")
    needs = (OF_LEMMAS, OF_LEMMAS) if config.lemmas else NO_NEEDS
    check_links([links], files, needs, MOST_WORDS, sides, on_error)
    lexicon = Lexicon(config)
    for pair in with_known_links(read_pairs(files.columns(bad), needs, sides, MOST_WORDS, bad), [links], notes):
        lexicon.add(pair, pair.links[0])
    write_lines(lexicon.rows())
    say_warnings(bad, notes, *sides)


def known_links(config: SymmetrizeConfig, files: int) -> tuple[KnownLinks, AlignConfig]:
    """Return how to combine the links of this number of files, and how to write them. Raises WrongUsage."""
    return KnownLinks.of(config, files), config_of(AlignConfig, asdict(config))


def sides_for(aligner: FittedAligner, text: TextConfig) -> Sides:
    """Return how to make the words of pairs to be aligned. Raises BadInput for a language that differs from the
    aligner's."""
    own = aligner.text
    given = text.source_language, text.target_language
    for asked, language, known in zip(given, text.languages, own.languages, strict=True):
        if asked and language != known:
            fitted = " and ".join(own.languages)
            raise BadInput(f"the text is in {asked}, but the aligner was fitted to {fitted}: fit another aligner")
    if text.tokenizer:
        return sides_of(own.languages, text.tokenizer)
    return sides_of(own.languages, own.tokenizer, own.words)


def align_stream(
    fit: FitConfig, files: BitextFiles, config: AlignConfig, text: TextConfig, on_error: OnError, say: bool = False
) -> None:
    """Fit an aligner to the pairs of the files, and write a line for each, as `link_stream`.

    say: report on stderr how long the fit takes. Under torchrun, all processes fit and the first one aligns.
    """
    bad, notes = BadLines(on_error), Notes()
    columns = with_progress(files.columns(bad), "pairs", lambda: count_lines(files.countable()), "reading")
    with fitted(fit, columns, files, config, text, bad, notes, say) as fitting:
        if os.environ.get("RANK", "0") == "0":
            notes.say()
            progress = with_progress(fitting.pairs(), "pairs", lambda: len(fitting.bitext), "aligning")
            _write(partial(map, aligning(fitting.aligner, config)), progress, advice(config))
    bad.report()


@dataclass(frozen=True)
class Fitted:
    """An aligner and the pairs that it was fitted to, none of which has an empty side."""

    aligner: FittedAligner
    bitext: Bitext
    kept: "KeptPairs"

    def pairs(self) -> Iterator[SentencePair]:
        """Yield the pairs of all lines; if one side is empty, so is the other."""
        return self.kept.all(self.bitext)


@contextmanager
def fitted(
    fit: FitConfig,
    columns: Iterable[tuple[Line, ...]],
    files: BitextFiles,
    config: AlignConfig,
    text: TextConfig,
    bad: BadLines,
    notes: Notes,
    say: bool = False,
) -> Iterator[Fitted]:
    """Provide an aligner that is fitted to pairs; without `fit.out`, its folder is removed at the end.

    columns: sources and targets; files: where they come from, if they come from files; notes: warnings, also about the
    fit; say: note how long the fit takes. Raises BadInput.
    """
    method = method_config(fit.method, fit.settings)
    kind = type(method)
    used = used_by(fit.method, fit.settings)
    needs = needed(method, method.needs({**fit.settings, "links_by": config.links_by}), config)
    if "device" in used:  # before parsing, which may take hours
        from synmt.device import local_device

        local_device(fit.device)
    if fit.out:
        resume = fit.resume if "resume" in used else None
        check_free(fit.out, resume, is_begun(fit.out, kind))
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and not kind.several:
        joined = " or ".join(name for name in ALIGNERS if ALIGNERS[name].several)
        raise WrongUsage(Message("{} cannot be fitted by several processes: use --method {}", fit.method, joined))
    tokenizer = text.tokenizer or "words"
    note_tokenizers(notes, tokenizer, dict(zip(("source", "target"), text.languages, strict=True)))
    sides = sides_of(text.languages, tokenizer)
    if fit.guide and files.paths and any(needs):  # before parsing
        check_links([fit.guide], files, needs, config.max_words, sides, bad.on_error)
    pairs = read_pairs(columns, needs, sides, config.max_words, bad)
    kept, known = KeptPairs(), [fit.guide] if fit.guide else []
    bitext = Bitext(kept.whole(with_known_links(pairs, known, notes) if known else pairs))
    if not len(bitext):
        raise BadInput("no sentence pairs to learn from")
    note_warnings(notes, *sides)
    if say and (cost := kind.cost(fit.settings, len(bitext), kept.cells)):
        notes.add(cost)
    words = (
        words_of((pair.source for pair in bitext), text.languages[0], tokenizer),
        words_of((pair.target for pair in bitext), text.languages[1], tokenizer),
    )
    learned = FitBitext(bitext, FittedText(text.languages, tokenizer, words), kept.links if known else None)
    with nullcontext(Path()) if fit.out else temporary_folder("synmt-align-") as temporary:
        folder = fit.out or temporary / "model"
        with random_numbers_kept():
            aligner = method.fit(learned, Fitting(fit.settings, folder, fit.resume, fit.device, notes))
        yield Fitted(aligner, bitext, kept)


class KeptPairs:
    """Facts about pairs that are stored on disk, in order.

    cells: Σ J × I; links: the known links of the pairs without an empty side.
    """

    def __init__(self) -> None:
        self.cells = 0
        self.links: list[Set[Link]] = []
        self._whole = bytearray()

    def whole(self, pairs: Iterable[SentencePair]) -> Iterator[SentencePair]:
        """Yield the pairs without an empty side."""
        for pair in pairs:
            cells = len(pair.source.tokens) * len(pair.target.tokens)
            self._whole.append(cells > 0)
            if cells:
                self.cells += cells
                if pair.links:
                    self.links.append(pair.links[0].keys())
                yield pair

    def all(self, bitext: Bitext) -> Iterator[SentencePair]:
        """Yield all stored pairs; if one side is empty, so is the other."""
        pairs, line = iter(bitext), Line("", "", 0)
        for whole in self._whole:
            yield next(pairs) if whole else SentencePair(ParseRecord(), ParseRecord(), (line, line))


def needed(method: MethodConfig, needs: Needs, config: AlignConfig) -> Needs:
    """Return the fields that the records of both sides need for these options, besides the ones that the aligner needs.

    Raises WrongUsage for a mean of links without weights.
    """
    if config.symmetrize in ("harmonic", "mean") and "threshold" not in method.uses({}):
        raise WrongUsage(Message("--symmetrize {}: only links with weights have a mean", config.symmetrize))
    return (needs[0] | TREES, needs[1] | TREES) if config.tree_links else needs


def _write(run: Run[list[SentencePair], list[Aligned]], pairs: Iterable[SentencePair], advice: str) -> None:
    """Write a line for each pair, and report on stderr if most have no link; run: aligns windows of pairs; advice: on
    how to get more links."""
    total = unlinked = 0
    latest = Latest()
    under_way: deque[list[SentencePair]] = deque()

    def followed() -> Iterator[list[SentencePair] | None]:
        for window in windows(_followed(pairs, latest), WINDOW, FIRST_WINDOW, latest.pauses):
            under_way.append(window)
            yield window
            if latest.pauses():
                yield None

    with LineWriter() as output:
        for aligned in run(followed()):
            for pair, (line, links) in zip(under_way.popleft(), aligned, strict=True):
                output.write(line)
                total += pair.is_whole
                unlinked += pair.is_whole and not links
            if latest.pauses():
                output.flush()
    note_unlinked(unlinked, total, advice)


def note_unlinked(unlinked: int, total: int, advice: str) -> None:
    """Note how many of the pairs without an empty side have no link, if these are most of them."""
    if 2 * unlinked > total:
        note(Message("most pairs have no link ({} of {}): {}", unlinked, total, Message(advice)))


def advice(config: AlignConfig) -> str:
    """Return how to get more links from an aligner."""
    return "lower --threshold" if config.threshold else "fit longer, to more pairs, or try --symmetrize grow-diag"


def _followed(pairs: Iterable[SentencePair], latest: Latest) -> Iterator[SentencePair]:
    for pair in pairs:
        latest.line = pair.lines[0]
        yield pair


def _aligning_loaded(load: Load, config: AlignConfig) -> Callable[[list[SentencePair]], list[Aligned]]:
    return aligning(load(), config)
