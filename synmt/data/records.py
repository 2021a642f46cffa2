"""From input lines to parse records: raw text is tokenized or parsed; records and target strings are read."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from synmt.components.contract import check_needs, lacking
from synmt.components.fields import GIVEN
from synmt.data.words import SideWords
from synmt.model.target import TargetSide
from synmt.streams import BadInput, BadLines, Latest, Line, OnError, counted, read_lines, read_parallel, sniff, windows
from synmt.streams.inputs import EXCHANGE
from synmt.text.links import Link
from synmt.text.tokenization import Tokenizer, with_languages
from synmt.trees.arc_tokens import ArcStyle, is_arc, read_tokens
from synmt.trees.dependency import detokenized, realigned
from synmt.trees.formats import reader, sentences, tree_form, written
from synmt.trees.record import ParseRecord, RecordError, is_record, read_record
from synmt.trees.transitions import read_transitions

if TYPE_CHECKING:
    from synmt.text.exchange import ExchangeFile

BARS = re.compile(r"(?<!\S)\|\|\|(?!\S)")  # a word of three bars is between columns, as in the files of fast_align
Form = Literal["text", "records", "strings", "conllu"]  # the content of a file's lines
STRINGS_AHEAD = 100  # a file of target strings must have an arc within this many lines


@dataclass(frozen=True, slots=True)
class SentencePair:
    """Two sentences, each with its words and the trees that its side needs.

    lines: the input lines that they came from, without the text; links: with their scores, one mapping per file.
    """

    source: ParseRecord
    target: ParseRecord
    lines: tuple[Line, Line]
    links: Sequence[Mapping[Link, float]] = ()

    @property
    def is_whole(self) -> bool:
        """Whether no side is empty."""
        return bool(self.source.tokens and self.target.tokens)


def are_parallel(files: Sequence[str]) -> bool:
    """Return whether these are a source file and a target file. If the first line with text of the first file has two
    columns, the files hold pairs. They also do if the first file can be read only once, such as a pipe."""
    if len(files) != 2 or files[0].endswith(EXCHANGE) or not Path(files[0]).is_file():
        return False
    first = next((line.text for line in read_lines(files[:1], "blank") if line.text.strip()), "")
    return "\t" not in first and not BARS.search(first)


@dataclass(frozen=True)
class BitextFiles:
    """Files of sentence pairs: of `source TAB target` lines, a source and a target file, or TMX and XLIFF files.

    parsed: TMX and XLIFF files, which are parsed when they are opened.
    """

    paths: Sequence[str]
    parsed: "Sequence[ExchangeFile]" = ()

    @classmethod
    def open(cls, paths: Sequence[str], settings: Mapping[str, Any]) -> "BitextFiles":
        """Open files. settings: name the languages to choose from those of a TMX file. Raises BadInput."""
        if not (paths and paths[0].endswith(EXCHANGE)):
            return cls(paths)
        from synmt.text.exchange import open_exchange

        return cls(paths, open_exchange(paths, settings.get("source_language"), settings.get("target_language")))

    def with_languages_inside(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings, with the languages of TMX and XLIFF files."""
        if not self.parsed:
            return dict(settings)
        source, target = self.parsed[0].languages
        return {**settings, "source_language": source or None, "target_language": target or None}

    def with_languages(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings that are not None, with the languages inside the files, or the suffixes of two files."""
        known = {name: value for name, value in settings.items() if value is not None}
        return with_languages(known, *self.paths) if are_parallel(self.paths) else self.with_languages_inside(known)

    def columns(self, bad: BadLines) -> Iterator[tuple[Line, ...]]:
        """Yield the source and target of each pair. An empty or bad line, or a line next to a bad one, has no text.
        Raises BadInput."""
        if self.parsed:
            for each in self.parsed:
                yield from each.columns(bad)
        elif not are_parallel(self.paths):
            yield from columns_of_pairs(read_lines(self.paths, bad.on_error), bad)
        else:
            for lines in read_parallel(self.paths, bad.on_error):
                if bad_lines := [line for line in lines if line.cause]:
                    bad.add(bad_lines[0].error(bad_lines[0].cause))
                    lines = tuple(replace(line, text="", cause="") for line in lines)
                yield lines

    def countable(self) -> Sequence[str]:
        """Return the files whose lines are the pairs."""
        return self.paths[:1] if are_parallel(self.paths) else self.paths


def columns_of_pairs(lines: Iterable[Line], bad: BadLines) -> Iterator[tuple[Line, Line]]:
    """Yield both columns of `source TAB target` lines, or of `source ||| target`, which other aligners read.

    Bars in a line with a tab are words. If earlier lines have no tab but bars, a line that both could split in two is
    bad. An empty or bad line has two empty columns.
    """
    only_bars = False
    for line in lines:
        by_tab, by_bars = line.text.split("\t"), BARS.split(line.text)
        columns = by_tab if len(by_tab) > 1 else by_bars
        cause = line.cause
        if not cause and only_bars and len(by_tab) == len(by_bars) == 2:
            cause = "found a tab, and ||| as in the lines above: only one can separate source and target"
        elif not cause and line.text.strip() and len(columns) != 2:
            cause = f"expected `source TAB target` or `source ||| target`, found {counted(len(columns), 'column')}"
        if cause:
            bad.add(line.error(cause))
        only_bars = only_bars or len(by_tab) == 1 < len(by_bars)
        left, right = columns if len(columns) == 2 and not cause else ("", "")
        yield replace(line, text=left, cause=""), replace(line, text=right, cause="")


def source_form(lines: Iterable[Line]) -> tuple[Form, Iterator[Line]]:
    """Return the form of a file of sources, recognized by its first non-empty line, and all lines."""
    first, lines = sniff(lines)
    return _form_of(first), lines


def target_form(lines: Iterable[Line], with_arcs: bool) -> tuple[Form, Iterator[Line]]:
    """Return the form of a file of targets, and all lines. If one of the first lines has arcs, all lines are strings.

    with_arcs: whether targets can have arcs.
    """
    lines = iter(lines)
    latest = Latest()
    ahead = next(windows(latest.follow(lines), STRINGS_AHEAD, pauses=latest.pauses), []) if with_arcs else []
    if any(map(_has_arcs, ahead)):
        return "strings", chain(ahead, lines)
    before: list[Line] = []
    for line in chain(ahead, lines):
        before.append(line)
        if line.text.strip() and not _has_arcs(line):
            break
    first = before[-1].text if before and not _has_arcs(before[-1]) else ""
    return _form_of(first), chain(before, ahead[len(before) :], lines)


def sentences_in(path: str | Path, on_error: OnError = "fail") -> Iterator[ParseRecord]:
    """Yield the sentences of a file of space-separated words, of CoNLL-U or of records; words may lack heads.

    Raises BadInput for a bad sentence, or yields an empty record with `on_error="blank"`.
    """
    form, lines = source_form(read_lines([str(path)], on_error))
    read = _read_words if form == "text" else reader(form, partial=True)
    bad = BadLines(on_error)
    return (bad.read(line, read, ParseRecord()) for line in sentences(lines, form))


def _read_words(text: str) -> ParseRecord:
    return ParseRecord(text, text.split())


def _form_of(first: str) -> Form:
    form = tree_form(first)
    return "text" if form is None or form == "ptb" else form


def source_records(
    lines: Iterable[Line],
    needs: frozenset[str],
    words: SideWords,
    bad: BadLines | None = None,
    strict: bool = False,
    form: Form | None = None,
) -> Iterator[tuple[Line, ParseRecord]]:
    """Yield one record per line of raw text, or of parse or mask records. form: None to recognize it by the first line
    that is not empty.

    Raw text is tokenized, or parsed by the embedded parsers of the language if trees are needed. Without `bad`, a bad
    line is an error; with it, the record of a bad line may be empty. `words` counts records that lack a needed field;
    if `strict`, they are bad lines. Raises BadInput for CoNLL-U, and for a language without parsers.
    """
    bad = bad or BadLines()
    good = _without(lines, bad, attrgetter("cause"))
    if form is None:
        for line in good:
            if line.text.strip():
                form, good = _form_of(line.text), chain([line], good)
                break
            yield line, ParseRecord()
    if form == "records":
        yield from ((line, words.check(_read(line, needs, words, bad, strict))) for line in good)
    elif form == "conllu":
        line = next(line for line in good if line.text.strip())
        raise line.error("CoNLL-U is not text: convert it with synmt convert --input conllu")
    elif needs - GIVEN:
        yield from _parsed(_without(good, bad, _record_in_text), needs, words, bad, strict)
    else:
        for line in _without(good, bad, _record_in_text):
            record = ParseRecord(text=line.text, tokens=words.of_text(line.text))
            words.looks.separation.see(record.tokens)
            yield line, _given(line, record, needs, words, bad, strict) if needs else record


def target_records(
    lines: Iterable[Line],
    side: TargetSide,
    tokenizer: Tokenizer,
    words: SideWords,
    bad: BadLines | None = None,
    form: Form | None = None,
    training: bool = False,
) -> Iterator[tuple[Line, ParseRecord]]:
    """Yield one record per line, with words, text and the fields that the side needs, as `source_records`.

    If targets have trees, the lines may also be strings that `synmt transitions` wrote. Trees are transferred to the
    tokenizer's words, so that all target sides generate the same words, which it can detokenize.
    """
    needs = side.needs(training)
    strict = needs == side.linearization.needs
    bad = bad or BadLines()
    if form is None:
        form, lines = target_form(lines, bool(side.linearization.trees))
    if form == "strings":
        for line in _without(lines, bad, attrgetter("cause")):
            yield line, ParseRecord() if line.cause else _read_string(line, side.style, tokenizer, bad)
    else:
        why = (
            f"none of the first {STRINGS_AHEAD} lines has any" if side.linearization.trees else "the model writes none"
        )
        cause = f"arcs of synmt transitions, but {why}"
        lines = _without(lines, bad, lambda line: cause if _has_arcs(line) else "")
        for line, record in source_records(lines, needs, words, bad, strict, form):
            own_words = not needs and not line.text.startswith("{")
            yield line, record if own_words else _on_words(line, record, tokenizer)


def _has_arcs(line: Line) -> bool:
    text = line.text  # most lines have no "ARC", which is part of every arc
    return "ARC" in text and not text.startswith("{") and any(map(is_arc, read_tokens(text)))


def _read_string(line: Line, style: ArcStyle, tokenizer: Tokenizer, bad: BadLines) -> ParseRecord:
    record = bad.read(line, lambda text: read_transitions(read_tokens(text), style), ParseRecord())
    return detokenized(record, tokenizer)


def _on_words(line: Line, record: ParseRecord, tokenizer: Tokenizer) -> ParseRecord:
    """Return the record over the tokenizer's words of its text, or unchanged if its tokens do not spell that text."""
    if not record.text:
        known = record.spaces or tokenizer.marks
        record.text = written(record).rstrip() if known else tokenizer.detokenize(record.tokens)
    with line.naming():
        try:
            return realigned(record, tokenizer.tokenize(record.text))
        except RecordError:
            return record


def _without(lines: Iterable[Line], bad: BadLines, error_in: Callable[[Line], str]) -> Iterator[Line]:
    """Yield the lines; one with a cause is a bad line, and loses its text."""
    for line in lines:
        if cause := error_in(line):
            bad.add(line.error(cause))
            line = replace(line, text="")
        yield line


def _record_in_text(line: Line) -> str:
    """Return what is wrong with a record among lines of text: its keys would become words."""
    return "a record among lines of text" if line.text.startswith("{") and is_record(line.text) else ""


def _read(line: Line, needs: frozenset[str], words: SideWords, bad: BadLines, strict: bool) -> ParseRecord:
    def read(text: str) -> ParseRecord:
        record = read_record(text, partial=True)
        if not record.tokens and record.text.strip():
            record = ParseRecord(text=record.text, tokens=words.of_text(record.text))
        if strict:
            check_needs(record, needs)
        else:
            words.count_missing(record, needs)
        return record

    return ParseRecord() if line.cause else bad.read(line, read, ParseRecord())


def _parsed(
    lines: Iterator[Line], needs: frozenset[str], words: SideWords, bad: BadLines, strict: bool
) -> Iterator[tuple[Line, ParseRecord]]:
    from synmt.parsers import ModelError, ParserConfig, open_parser, parse_texts

    under_way: deque[Line] = deque()  # lines that are read but not parsed yet
    latest = Latest()

    def texts() -> Iterator[str | list[str]]:
        for line in latest.follow(lines):
            under_way.append(line)
            text = words.parsed(needs, line.text)
            yield text.split() if words.words.tokenizer == "none" else text

    try:
        parser = open_parser(ParserConfig(words.parser(needs), language=words.language))
    except ModelError as error:
        raise BadInput(str(error)) from None
    for record in parse_texts(texts(), parser, latest.pauses):
        if strict and lacking(record, needs - GIVEN):
            bad.leave_empty("line too long to parse")
            record = ParseRecord()
        words.looks.separation.see(record.tokens)
        line = under_way.popleft()
        yield line, _given(line, record, needs, words, bad, strict)


def _given(
    line: Line, record: ParseRecord, needs: frozenset[str], words: SideWords, bad: BadLines, strict: bool
) -> ParseRecord:
    """Return the record of a line of text, and count the needed fields that it lacks; if `strict`, a line without the
    fields that no parser makes is a bad line."""
    if strict and (missing := lacking(record, needs & GIVEN)):
        bad.add(line.error(f"text has no {missing[0]}: give records that have them"))
        return ParseRecord()
    words.count_missing(record, needs)
    return record
