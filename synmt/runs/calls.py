"""The functions that a run calls in processes of their own: those of the API, and what prepares the data between them.

A call is a name and options as a run file has them. Its results are lines on standard output.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import signature
from itertools import chain, islice
from pathlib import Path
from typing import Any

import orjson

from synmt.api.given import RuntimeConfig
from synmt.model.files import CONFIG_FILE
from synmt.model.records import columns_of_pairs, source_form
from synmt.options import Known, keywords_of, known_in
from synmt.streams import BadInput, BadLines, read_lines, write_lines
from synmt.text.links import write_links
from synmt.trees.formats import read_parses
from synmt.trees.record import ParseRecord, write_record

OF_RUNTIME = known_in(RuntimeConfig)


def known_of(name: str) -> dict[str, Known]:
    """Return the options that a call of this name can have, besides its files."""
    if name == "train":
        from synmt.training import start

        return {**OF_RUNTIME, **start.known()}
    if name == "parse":
        from synmt.parsers.config import ParserConfig

        return {**OF_RUNTIME, **known_in(ParserConfig)}
    if name == "align":
        from synmt.alignment import choice

        return {**OF_RUNTIME, **choice.known()}
    if name == "project":
        from synmt.projection.config import ProjectionConfig

        return {**OF_RUNTIME, **known_in(ProjectionConfig)}
    if name == "query":
        from synmt.challenge import query

        return query.known()
    from synmt.decoding.config import OF_SEARCHES, SearchConfig, TranslateConfig

    return {**OF_RUNTIME, **known_in(SearchConfig, unless=OF_SEARCHES), **known_in(TranslateConfig)}


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


def translate(model: str, source: str, **rest: Any) -> None:
    from synmt.api.translation import translate

    write_lines(each.text for each in translate(model, Path(source), **rest))


def costs(model: str, source: str, target: str, **rest: Any) -> None:
    """Write the log-probability of each target in nats, and its number of words with the end of the sentence."""
    from synmt.api.translation import Model

    sides = [[line.text for line in read_lines([each])] for each in (source, target)]
    found = Model.load(model).log_probabilities(zip(*sides, strict=True), **rest)
    write_lines(f"{forced.total():.6f}\t{len(text.split()) + 1}" for forced, text in zip(found, sides[1], strict=True))


def align(
    pairs: str,
    out: str = "",
    method: str | None = None,
    links_from: Sequence[str] = (),
    certain: bool = False,
    **rest: Any,
) -> None:
    """Write the links of each pair, as JSON lines with their scores. certain: give all of them the score 1."""
    from synmt.api.alignment import WordLinks, align

    def written(pair: WordLinks) -> str:
        links = [[i, j, 1.0 if certain else round(score, 6)] for (i, j), score in pair.links.items()]
        return orjson.dumps({"source": pair.source, "target": pair.target, "links": links}).decode()

    if links_from:
        write_lines(map(written, align(Path(pairs), links_from=links_from, **rest)))
    else:
        resume = Path(out, CONFIG_FILE).exists()
        write_lines(map(written, align(Path(pairs), method, out=out, resume=resume, **rest)))


def project(pairs: str, aligner: str, **rest: Any) -> None:
    from synmt.api.projection import project

    write_lines(map(write_record, project(Path(pairs), aligner, **rest)))


def bitext(
    tests: list[list[str]],
    languages: list[str],
    train: list[str] | None = None,
    lines: int | None = None,
    letters: int | None = None,
    side: int | None = None,
) -> None:
    """Write the pairs that aligners are fitted to, `source TAB target` in lower case: those of training without those
    with a side of a test, then those of the tests.

    train: files of raw text, which Moses tokenizes; lines: how many of their first pairs, None for all; tests: files of
    words; letters: how many of the first letters of each word, None for all; side: write the words of this side alone,
    with capitals.
    """
    held_out = [pair for files in tests for pair in _pairs_of_words(files)]
    seen = {"".join(words).lower() for pair in held_out for words in pair}
    raw = zip(*(read_lines([each]) for each in train), strict=True) if train else iter(())
    tokenizers = list(map(_tokenizer, languages))
    learned = ([of(line.text) for of, line in zip(tokenizers, pair, strict=True)] for pair in islice(raw, lines))
    new = (pair for pair in learned if not any("".join(words).lower() in seen for words in pair))
    for pair in chain(new, held_out):
        if side is not None:
            print(" ".join(pair[side]))
        else:
            print("\t".join(" ".join(word.lower()[:letters] for word in words) for words in pair))


def _pairs_of_words(files: list[str]) -> Iterator[list[list[str]]]:
    """Yield the words of each pair of a file with two columns, or of two files with text, records or CoNLL-U."""
    if len(files) == 1:
        columns = columns_of_pairs(read_lines(files), BadLines())
        yield from ([side.text.split() for side in pair] for pair in columns)
    else:
        yield from ([words.tokens for words in pair] for pair in zip(*map(_records, files), strict=True))


def _records(file: str) -> Iterator[ParseRecord]:
    """Yield the sentences of a file with words between spaces, records or CoNLL-U."""
    form, lines = source_form(read_lines([file]))
    if form == "text":
        return (ParseRecord(text=line.text, tokens=line.text.split()) for line in lines)
    return (record for _, record in read_parses(lines, BadLines()))


def _tokenizer(language: str) -> Callable[[str], list[str]]:
    """Return what tokenizes raw text, with capitals wherever they make no difference to the words."""
    from synmt.text.tokenization import MosesTokenizer

    moses = MosesTokenizer(language)

    def tokenize(text: str) -> list[str]:
        cased, plain = moses.tokenize(text), moses.tokenize(text.lower())
        return cased if [word.lower() for word in cased] == plain else plain

    return tokenize


def text(file: str) -> None:
    """Write the text of each sentence of CoNLL-U or records."""
    write_lines(record.text for record in _records(file))


def records(file: str, tokenize: str = "") -> None:
    """Write each sentence of a file as a record; tokenize: the language of raw text, which Moses tokenizes."""
    if not tokenize:
        return write_lines(map(write_record, _records(file)))
    from synmt.text.tokenization import MosesTokenizer

    moses = MosesTokenizer(tokenize)
    write_lines(write_record(ParseRecord(tokens=moses.tokenize(line.text.strip()))) for line in read_lines([file]))


def joined(columns: list[list[str]]) -> None:
    """Write lines side by side, with tabs between columns; each column is the lines of some files after each other, and
    an empty name is a column without text, as long as the file of the other column."""
    for parts in zip(*columns, strict=True):
        named = [part for part in parts if part]
        for lines in zip(*(read_lines([part]) for part in named), strict=True):
            texts = iter(line.text for line in lines)
            print("\t".join(next(texts) if part else "{}" for part in parts))


def cut(file: str, lines: int, last: int | None = None) -> None:
    """Write some lines of a file, links in Pharaoh's form. Raises BadInput for a file with fewer.

    lines: how many; last: how many lines there are from the first of them to the end, None for the first lines of all.
    """
    texts = [line.text for line in read_lines([file])]
    begin = 0 if last is None else len(texts) - last
    if len(texts) < max(lines, last or 0):
        raise BadInput(f"{len(texts)} lines, and a size of the run is {max(lines, last or 0)}", file)
    for text in texts[begin : begin + lines]:
        fields = orjson.loads(text) if text.startswith('{"source":') else None
        print(write_links((i, j) for i, j, _ in fields["links"]) if fields else text)


def query(file: str, count: str = "", **rest: Any) -> None:
    """Write the number of each sentence that a query finds, and behind a tab the forms of the words of a node, by
    default the first. count: `word`, `head`, or a node of the pattern; rest: options of `synmt challenge query`."""
    from synmt.challenge.query import occurrences, query_of

    asked = query_of(rest)
    node = asked.place(count)
    for number, record in enumerate(_records(file), 1):
        matches = occurrences(record, asked)
        words = [record.tokens[place - 1] for match in matches if (place := match[node])]
        if matches:
            print(f"{number}\t{' '.join(words)}")


CALLS: Mapping[str, Callable[..., None]] = {
    each.__name__: each
    for each in (train, parse, translate, costs, align, project, bitext, text, records, joined, cut, query)
}


def call(name: str, options: Mapping[str, Any]) -> None:
    """Call the function of this name. Raises what it raises."""
    own = {each.replace("_", "-") for each in signature(CALLS[name]).parameters}
    files = {each.replace("-", "_"): value for each, value in options.items() if each in own}
    rest = {each: value for each, value in options.items() if each not in own}
    CALLS[name](**files, **(keywords_of(rest, known_of(name)) if rest else {}))
