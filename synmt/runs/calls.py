"""The functions that a run calls in separate processes: API functions, and steps that prepare data between them.

A call is a name and options, as in a run file. It writes its results to standard output, one per line.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import signature
from itertools import chain, islice
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from synmt.api.given import RuntimeConfig
from synmt.data.records import columns_of_pairs, sentences_in
from synmt.options import Setting, keywords_of, options_in
from synmt.streams import BadInput, BadLines, OnError, counted, read_lines, write_lines
from synmt.text.links import write_links
from synmt.trees.record import ParseRecord, write_record

if TYPE_CHECKING:
    from synmt.api.alignment import WordLinks
    from synmt.search.translation import Translation

OF_RUNTIME = options_in(RuntimeConfig)


def known_of(name: str) -> dict[str, Setting]:
    """Return the options of the call with this name, except its files."""
    if name == "train":
        from synmt.training import start

        return {**OF_RUNTIME, **start.known()}
    if name == "parse":
        from synmt.parsers.config import ParserConfig

        return {**OF_RUNTIME, **options_in(ParserConfig)}
    if name == "align":
        from synmt.alignment import choice

        return {**OF_RUNTIME, **choice.known()}
    if name == "symmetrize":
        from synmt.alignment.config import SymmetrizeConfig
        from synmt.text.tokenization import TextConfig

        return {"on-error": OF_RUNTIME["on-error"], **options_in(SymmetrizeConfig), **options_in(TextConfig)}
    if name == "project":
        from synmt.projection.config import ProjectionConfig

        own = {"device", "on-error"}  # one process projects
        return {**{name: each for name, each in OF_RUNTIME.items() if name in own}, **options_in(ProjectionConfig)}
    if name == "query":
        from synmt.challenge import query

        return query.known()
    from synmt.search.config import LogprobConfig, SearchConfig, TranslateConfig

    if name == "costs":
        return {**OF_RUNTIME, **options_in(LogprobConfig)}
    return {**OF_RUNTIME, **options_in(SearchConfig), **options_in(TranslateConfig)}


def train(
    source: str,
    target: str,
    dev_source: str,
    dev_target: str,
    out: str,
    prepared: str,
    resume: bool = False,
    **rest: Any,
) -> None:
    from synmt.api.training import train

    train((source, target), (dev_source, dev_target), out=out, prepared=prepared, resume=resume, **rest)


def parse(text: str, input: str = "text", **rest: Any) -> None:
    from synmt.api.parsing import parse

    write_lines(map(write_record, parse(Path(text), tokenized=input == "tokens", **rest)))


def translate(model: str, source: str, trees: str = "", **rest: Any) -> None:
    """Write the translation of each line. trees: the file to write their records to, if the model writes trees."""
    from synmt.api.translation import translate

    found = translate(model, Path(source), **rest)
    if not trees:
        return write_lines(each.text for each in found)
    with Path(trees).open("w", encoding="utf-8") as stream:
        write_lines(_with_tree(each, stream) for each in found)


def _with_tree(translation: "Translation", stream: TextIO) -> str:
    """Return the text of a translation, and write its record if it has a tree."""
    if translation.heads is not None:
        stream.write(f"{write_record(translation.record())}\n")
    return translation.text


def costs(model: str, source: str, target: str, on_error: OnError = "fail", **rest: Any) -> None:
    """Write the log-probability of each target in nats, and its number of words including the end of the sentence.
    Both are 0 for a pair that cannot be scored."""
    from synmt.api.translation import logprob

    sides = [[line.text for line in read_lines([each], on_error)] for each in (source, target)]
    found = logprob(model, zip(*sides, strict=True), on_error=on_error, **rest)
    for forced, text in zip(found, sides[1], strict=True):
        print(f"{forced.total():.6f}\t{len(text.split()) + 1 if forced.entries else 0}")


def align(pairs: str, out: str = "", method: str | None = None, certain: bool = False, **rest: Any) -> None:
    """Write the links of each pair, as `_written`. certain: set every score to 1."""
    from synmt.alignment import ALIGNERS, DEFAULT
    from synmt.alignment.aligner import is_begun
    from synmt.api.alignment import align

    resume = is_begun(Path(out), ALIGNERS[method or DEFAULT])
    if not resume:
        rmtree(out, ignore_errors=True)  # what a killed process left
    found = align(Path(pairs), method, out=out, resume=resume, **rest)
    write_lines(_written(pair, certain) for pair in found)


def symmetrize(links: Sequence[str], pairs: str, **rest: Any) -> None:
    """Write the combined links of each pair, as `_written`."""
    from synmt.api.alignment import symmetrize

    write_lines(map(_written, symmetrize(links, Path(pairs), **rest)))


def _written(pair: "WordLinks", certain: bool = False) -> str:
    """Return the links of a pair in JSON with their scores, without its words: other aligners of the run may truncate
    words or have them with capitals."""
    links = [[i, j, 1.0 if certain else round(score, 6)] for (i, j), score in pair.links.items()]
    return msgspec.json.encode({"links": links}).decode()


def project(pairs: str, aligner: str, **rest: Any) -> None:
    from synmt.api.projection import project

    write_lines(map(write_record, project(Path(pairs), aligner, **rest)))


def bitext(
    tests: list[list[str]],
    languages: list[str],
    train: list[str] | None = None,
    lines: int | None = None,
    letters: int | None = None,
    cased: bool = False,
    side: int | None = None,
) -> None:
    """Write the bitext for aligners as `source TAB target`, in lower case unless `cased`: the training pairs, without
    pairs that share a sentence with a test, then the pairs of the tests.

    train: files of raw text, tokenized by Moses; lines: number of training pairs to use, None for all; tests: files of
    tokens; letters: length to which words are truncated, None for no limit; side: write only the words of this side,
    with their original capitals.
    """
    held_out = [pair for files in tests for pair in pairs_of_words(files)]
    seen = {"".join(words).lower() for pair in held_out for words in pair}
    raw = zip(*(read_lines([each]) for each in train), strict=True) if train else iter(())
    tokenizers = list(map(_tokenizer, languages))
    learned = ([of(line.text) for of, line in zip(tokenizers, pair, strict=True)] for pair in islice(raw, lines))
    new = (pair for pair in learned if not any("".join(words).lower() in seen for words in pair))
    for pair in chain(new, held_out):
        if side is not None:
            print(" ".join(pair[side]))
        else:
            shown = ((word if cased else word.lower()[:letters] for word in words) for words in pair)
            print("\t".join(map(" ".join, shown)))


def pairs_of_words(files: list[str]) -> Iterator[list[list[str]]]:
    """Yield the words of each pair from a two-column file, or from two files of text, records or CoNLL-U."""
    if len(files) == 1:
        columns = columns_of_pairs(read_lines(files), BadLines())
        yield from ([side.text.split() for side in pair] for pair in columns)
    else:
        yield from ([words.tokens for words in pair] for pair in zip(*map(sentences_in, files), strict=True))


def _tokenizer(language: str) -> Callable[[str], list[str]]:
    """Return a tokenizer of raw text. It keeps capitals unless they change how words are split."""
    from synmt.text.tokenization import MosesTokenizer

    moses = MosesTokenizer(language)

    def tokenize(text: str) -> list[str]:
        cased, plain = moses.tokenize(text), moses.tokenize(text.lower())
        return cased if [word.lower() for word in cased] == plain else plain

    return tokenize


def text(file: str) -> None:
    """Write the text of each sentence of a file of CoNLL-U or records."""
    write_lines(record.text for record in sentences_in(file))


def records(file: str, tokenize: str = "") -> None:
    """Write each sentence of a file as a record. tokenize: the language of raw text, for the Moses tokenizer."""
    if not tokenize:
        return write_lines(map(write_record, sentences_in(file)))
    from synmt.text.tokenization import MosesTokenizer

    moses = MosesTokenizer(tokenize)
    write_lines(write_record(ParseRecord(tokens=moses.tokenize(line.text.strip()))) for line in read_lines([file]))


def joined(columns: list[list[str]]) -> None:
    """Write columns side by side, separated by tabs. A column is a list of files to concatenate; an empty name gives an
    empty column as long as the other one."""
    for parts in zip(*columns, strict=True):
        named = [part for part in parts if part]
        for lines in zip(*(read_lines([part]) for part in named), strict=True):
            texts = iter(line.text for line in lines)
            print("\t".join(next(texts) if part else "{}" for part in parts))


def cut(file: str, lines: int, last: int | None = None, on_error: OnError = "fail") -> None:
    """Write some lines of a file. Raises BadInput if the file is too short.

    lines: how many; last: start at the `last`-th line from the end, and write links of `align` in Pharaoh format; with
    None, start at line 1; on_error: of `read_lines`.
    """
    texts = [line.text for line in read_lines([file], on_error)]
    begin = 0 if last is None else len(texts) - last
    least = max(lines, last or 0)
    if len(texts) < least:
        raise BadInput(f"has {counted(len(texts), 'line')}, fewer than a size of the run, {least}", file)
    for text in texts[begin : begin + lines]:
        fields = msgspec.json.decode(text) if last and text.startswith('{"links":') else None
        print(write_links((i, j) for i, j, _ in fields["links"]) if fields else text)


def query(file: str, count: str = "", **rest: Any) -> None:
    """Write, for each sentence that a query finds, its number, a tab and the forms of the words of a node, by default
    the first. count: `word`, `head`, or a node of the pattern. rest: options of `synmt challenge query`."""
    from synmt.challenge.query import occurrences, query_of

    asked = query_of(rest)
    node = asked.place(count)
    for number, record in enumerate(sentences_in(file), 1):
        matches = occurrences(record, asked)
        words = [record.tokens[place - 1] for match in matches if (place := match[node])]
        if matches:
            print(f"{number}\t{' '.join(words)}")


CALLS: Mapping[str, Callable[..., None]] = {
    each.__name__: each
    for each in (train, parse, translate, costs, align, symmetrize, project, bitext, text, records, joined, cut, query)
}


def call(name: str, options: Mapping[str, Any]) -> None:
    """Call the function with this name. Raises its errors."""
    own = {each.replace("_", "-") for each in signature(CALLS[name]).parameters}
    files = {each.replace("-", "_"): value for each, value in options.items() if each in own}
    rest = {each: value for each, value in options.items() if each not in own}
    CALLS[name](**files, **(keywords_of(rest, known_of(name)) if rest else {}))
