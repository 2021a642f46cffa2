"""Reads lines of `source TAB target TAB links`, and writes target records with projected trees."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from synmt.data.records import SentencePair
from synmt.data.words import Sides, SideWords, note_warnings, say_warnings, sides_of
from synmt.projection.config import ProjectionConfig
from synmt.projection.grammar import Grammar
from synmt.projection.tree import projected, votes_of
from synmt.projection.votes import Source, read_scored_links, sentences
from synmt.streams import BadLines, Latest, Line, Notes, OnError, counted, never, read_lines, windows, write_lines
from synmt.streams.decoding import begins_object
from synmt.text.links import BaseDoubt, Link, split_columns
from synmt.text.tokenization import TokenizerName, Words, spaces_after
from synmt.trees.record import ParseRecord, RecordError, read_record, write_record

WINDOW = 1000  # pairs that an aligner sorts by length
FIRST_WINDOW = 50
MOST_WORDS = 500  # memory grows with the square of their number, and time with the cube


@dataclass(frozen=True)
class Linker:
    """An aligner that links the words of pairs.

    link: returns the links of each pair with their scores; a pair with an empty side has none.
    languages, words: of source and target in the aligner's training data, if known.
    """

    link: Callable[[Sequence[SentencePair]], Iterable[dict[Link, float]]]
    languages: tuple[str, str] | None
    words: tuple[Words | None, Words | None]


@dataclass(frozen=True, slots=True)
class SourcesOfTarget:
    """A target, its sources, and the input line that has them."""

    line: Line
    target: ParseRecord
    sources: list[Source]


def project_stream(files: Sequence[str], config: ProjectionConfig, linker: Linker | None, on_error: OnError) -> None:
    """Write the record of each target in the files to standard output. Arguments and errors as for `projections`."""
    bad, notes, latest = BadLines(on_error), Notes(), Latest()
    lines = latest.follow(read_lines(files, on_error))
    records = projections(lines, config, linker, bad, notes, latest.pauses)
    write_lines(map(write_record, records), latest.pauses, files)
    say_warnings(bad, notes)


def projections(
    lines: Iterable[Line],
    config: ProjectionConfig,
    linker: Linker | None,
    bad: BadLines,
    notes: Notes,
    pauses: Callable[[], bool] = never,
) -> Iterator[ParseRecord]:
    """Yield the record of the target of each line, in constant memory unless a grammar is fitted.

    linker: links source and target; without it, lines have links, and may have several sources.
    bad: decides whether a bad line raises BadInput or gives an empty record. notes: receives warnings at the end.
    """
    _, side = sides_of_links(linker, config.tokenizer, target=config.target_language)
    reader = TargetReader(side, linker is not None)
    empty = SourcesOfTarget(Line("", "", 0), ParseRecord(), [Source(ParseRecord(), {})])
    examples = (replace(bad.read(line, reader.read, empty), line=line) for line in lines)
    linked: Iterable[SourcesOfTarget]
    linked = (
        each
        for window in windows(examples, WINDOW, FIRST_WINDOW, pauses)
        for each in (_linked(window, linker) if linker else window)
    )
    grammar = None
    if config.fit:
        linked = list(linked)
        grammar = _grammar(linked, config)
    for each in linked:
        yield projected(each.target, each.sources, config, grammar)
    if reader.texts and config.tokenizer != "none" and not (config.target_language or (linker and linker.languages)):
        notes.add(f"target text is tokenized as {side.language}")
    reader.base.say(notes)
    note_warnings(notes, side)


def sides_of_links(
    linker: Linker | None, tokenizer: TokenizerName | None, source: str | None = None, target: str | None = None
) -> Sides:
    """Return both sides, tokenized like the linker's training data unless a tokenizer is named.

    source, target: languages, by default the linker's, or en.
    """
    known = (linker and linker.languages) or ("en", "en")
    words = linker.words if linker and not tokenizer else (None, None)
    return sides_of((source or known[0], target or known[1]), tokenizer or "words", words)


class TargetReader:
    """Reads lines. texts: number of targets so far that were raw text; base: of the links so far."""

    def __init__(self, side: SideWords, links_follow: bool) -> None:
        self.texts = 0
        self.base = BaseDoubt()
        self._side, self._links_follow = side, links_follow

    def read(self, text: str) -> SourcesOfTarget:
        """Return the example of a line; an empty line gives an empty one. Raises ValueError."""
        columns = split_columns(text) if text.strip() else []
        if self._links_follow and len(columns) not in (0, 2):
            raise RecordError(f"expected `source TAB target`, found {counted(len(columns), 'column')}")
        if not self._links_follow and columns and (len(columns) < 3 or len(columns) % 2 == 0):
            raise RecordError(f"expected `source TAB target TAB links`, found {counted(len(columns), 'column')}")
        source, target, *more = columns or ("", "")
        record = self._target(target)
        if len(record.tokens) > MOST_WORDS:
            raise RecordError(f"{len(record.tokens)} target words, but trees have at most {MOST_WORDS}")
        pairs = zip([source, *more[1::2]], more[::2] or [""], strict=True)
        sources = [_source(each, links, record) for each, links in pairs]
        for each in sources:
            self.base.see(each.links)
        return SourcesOfTarget(Line("", "", 0), record, sources)

    def _target(self, text: str) -> ParseRecord:
        if begins_object(text):
            record = read_record(text, partial=True)
            if record.tokens or not record.text.strip():
                return self._side.check(record)
            text = record.text
        self.texts += bool(text.strip())
        tokens = self._side.of_text(text)
        if "".join(tokens) != "".join(text.split()):  # the tokenizer has changed characters
            text = " ".join(tokens)
        return ParseRecord(text=text, tokens=tokens, spaces=spaces_after(tokens, text) or [])


def _source(text: str, links: str, target: ParseRecord) -> Source:
    if text.strip() and not begins_object(text):
        raise RecordError(f"source is not a parse record: {text!r:.40}")
    record = read_record(text)
    if (record.tokens or record.text.strip()) and not record.heads and record.tree is None:
        raise RecordError("source has neither heads nor a tree")
    return Source(record, read_scored_links(links, record.tokens, target.tokens))


def _grammar(corpus: Iterable[SourcesOfTarget], config: ProjectionConfig) -> Grammar:
    grammar = Grammar()
    grammar.learn(
        (each.target.tokens, sentence, votes)
        for each in corpus
        for votes in [votes_of(each.target, each.sources, config)]
        for sentence in sentences(each.target)
    )
    return grammar


def _linked(window: Sequence[SourcesOfTarget], linker: Linker) -> Iterator[SourcesOfTarget]:
    """Yield the examples, each linked to its single source."""
    pairs = [SentencePair(each.sources[0].record, each.target, (each.line, each.line)) for each in window]
    for each, pair, links in zip(window, pairs, linker.link(pairs), strict=True):
        yield replace(each, sources=[Source(pair.source, links)])
