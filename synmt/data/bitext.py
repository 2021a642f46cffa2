"""Sentence pairs as records. A large bitext is stored in a temporary file."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import chain, islice, tee
from random import Random
from tempfile import SpooledTemporaryFile
from typing import Any

import msgspec

from synmt.data.records import Form, SentencePair, source_form, source_records, target_form, target_records
from synmt.data.words import Sides, sides_of_model
from synmt.model.config import ModelConfig
from synmt.streams import BadLines, Line, Notes, OnError, windows
from synmt.streams.decoding import decoded
from synmt.streams.pool import Pool, processes
from synmt.text.bpe import NO_MERGES, Bpe, CodesError, learn_bpe_of_words
from synmt.text.tokenization import open_tokenizer
from synmt.trees.constituency import Tree
from synmt.trees.dependency import with_marks
from synmt.trees.record import ParseRecord, WordStates

IN_MEMORY = 2**24  # bytes
WINDOW = 2000  # pairs that a process works on at a time
UNLEARNED = "xpos", "conllu"
IF_ANY = "lemmas", "states"  # only stored for a record that has them
LEARNED = [field.name for field in fields(ParseRecord) if field.name not in (*UNLEARNED, *IF_ANY)]


def spread(size: int, most: int) -> Collection[int]:
    """Cut so many pairs into `most` equal stretches, and return the number of a random pair of each; 0: all numbers.

    Every n-th pair would be a poor sample of a bitext that repeats itself, or in which kinds of lines alternate.
    """
    if not 0 < most < size:
        return range(size)
    random = Random(1)
    return {random.randrange(part * size // most, (part + 1) * size // most) for part in range(most)}


class Bitext:
    """Pairs without empty sides, which can be read any number of times. Many pairs are stored in a temporary file."""

    def __init__(self, pairs: Iterable[SentencePair]) -> None:
        self._count, self._checksum = 0, hashlib.blake2b(digest_size=16)
        self._file = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 (removed with the bitext)
        self.extend(map(row_of, pairs))

    def __del__(self) -> None:
        self._file.close()

    def extend(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Add pairs in the form that `row_of` returns."""
        for sentences, lines in rows:
            self._checksum.update(sentences)
            self._file.write(b"[%s,%s]\n" % (sentences, lines))
            self._count += 1

    @property
    def checksum(self) -> str:
        """Return a checksum of all pairs in order, which --resume compares."""
        return self._checksum.hexdigest()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[SentencePair]:
        """Yield the pairs in order. Several iterations may run at the same time."""
        for window in self.windows():
            yield from pairs_of(window)

    def windows(self, size: int = 100) -> Iterator[list[bytes]]:
        """Yield `size` pairs at a time, in the form that `pairs_of` reads."""
        place = 0
        for begin in range(0, self._count, size):
            self._file.seek(place)
            rows = [self._file.readline() for _ in range(min(size, self._count - begin))]
            place = self._file.tell()
            yield rows

    def spread(self, most: int) -> Iterator[SentencePair]:
        """Yield at most so many pairs, spread over the bitext; 0: all pairs."""
        chosen, numbers = spread(len(self), most), iter(range(len(self)))
        for window in self.windows():
            yield from pairs_of(row for row, number in zip(window, numbers, strict=False) if number in chosen)

    def joint_bpe(self, merges: int, jobs: int = 1, marks: bool = False) -> Bpe:
        """Learn merges from the words of both sides together; there are none if every word has one character.

        marks: whether models learn the words with marks for spacing.
        """
        tokens, words = Counter[str](), Counter[str]()
        with processes(jobs, partial(tokens_of_rows, marks)) as run:
            for found in run(self.windows(WINDOW)):
                tokens.update(found)
        for token, times in tokens.items():
            for word in token.split(" "):
                words[word] += times
        try:
            return Bpe(learn_bpe_of_words(words, merges))
        except CodesError:
            return Bpe(NO_MERGES)

    def reversed(self) -> "Bitext":
        """Return the pairs with source and target exchanged."""
        return Bitext(SentencePair(pair.target, pair.source, pair.lines[::-1]) for pair in self)


def row_of(pair: SentencePair) -> tuple[bytes, bytes]:
    """Return a pair as JSON on one line: both sentences, and the lines that they came from."""
    return b"%s,%s" % (_sentence(pair.source), _sentence(pair.target)), msgspec.json.encode(pair.lines)


def pairs_of(rows: Iterable[bytes]) -> Iterator[SentencePair]:
    """Yield the pairs of a bitext's lines."""
    for row in rows:
        source, target, (left, right) = decoded(row)
        yield SentencePair(_record(source), _record(target), (Line(**left), Line(**right)))


def tokens_of_rows(marks: bool, rows: Iterable[bytes]) -> Counter[str]:
    """Return the frequency of each token in a bitext's lines. marks: as `Bitext.joint_bpe`."""
    tokens = Counter[str]()
    for pair in pairs_of(rows):
        for record in (pair.source, pair.target):
            tokens.update(with_marks(record).tokens if marks else record.tokens)
    return tokens


def _sentence(record: ParseRecord) -> bytes:
    """Return the fields of a record that models learn from. The checksums of earlier runs depend on these bytes."""
    names = [*LEARNED, *(name for name in IF_ANY if getattr(record, name))]
    return msgspec.json.encode({name: getattr(record, name) for name in names})


def _record(known: dict[str, Any]) -> ParseRecord:
    """Return the record with these fields, without the checks of `read_record`."""
    tree, states = known.pop("tree"), known.pop("states", None)
    return ParseRecord(**known, tree=tree and Tree(**tree), states=states and msgspec.convert(states, WordStates))


@dataclass(frozen=True)
class WindowRead:
    """The pairs of some lines.

    rows: the pairs, in the form that `row_of` returns; left_out: sources of pairs with an empty side.
    bad: the number of bad lines, by kind; sentences: for each side, their number, and how many lack a field, by name.
    """

    rows: list[tuple[bytes, bytes]]
    left_out: list[Line]
    bad: Counter[str]
    sentences: list[tuple[int, Counter[str]]]


class Reader:
    """Turns parallel lines into records. forms: the form of each side, None to recognize it by the lines."""

    def __init__(
        self, config: ModelConfig, on_error: OnError, forms: tuple[Form | None, Form | None], words: Sides
    ) -> None:
        self.config, self.on_error, self.forms = config, on_error, forms
        self.words, self.tokenizer = words, open_tokenizer(config.tokenizer, config.languages[1])

    def __call__(self, lines: Iterable[tuple[Line, ...]]) -> WindowRead:
        """Return the pairs of some lines. Raises BadInput."""
        bad, left_out = BadLines(self.on_error), list[Line]()
        for side in self.words:
            side.sentences, side.missing = 0, Counter()
        rows = list(map(row_of, self.pairs(lines, bad, left_out)))
        return WindowRead(rows, left_out, bad.counts, [(side.sentences, side.missing) for side in self.words])

    def pairs(self, lines: Iterable[tuple[Line, ...]], bad: BadLines, left_out: list[Line]) -> Iterator[SentencePair]:
        """Yield each pair with words on both sides, and add the sources of the others to `left_out`."""
        config, words = self.config, self.words
        lefts, rights = tee(lines)
        needs = config.source.needs(training=True)
        sources = source_records((left for left, _ in lefts), needs, words[0], bad, form=self.forms[0])
        targets = target_records(
            (right for _, right in rights), config.target, self.tokenizer, words[1], bad, self.forms[1], training=True
        )
        for (left, source), (right, target) in zip(sources, targets, strict=True):
            if source.tokens and target.tokens:
                yield SentencePair(source, target, (replace(left, text=""), replace(right, text="")))
            else:
                left_out.append(replace(left, text=""))


def read_bitext(
    lines: Iterable[tuple[Line, ...]],
    config: ModelConfig,
    notes: Notes,
    bad: BadLines | None = None,
    words: Sides | None = None,
    jobs: int = 1,
) -> Bitext:
    """Return the records of parallel lines. Pairs with an empty side are left out, and counted in the notes. A bad line
    counts as empty unless `bad` raises it.

    words: both sides, which collect warnings about the text; with several jobs, only about the first WINDOW lines.
    jobs: the number of processes that read. One process reads text that must be parsed.
    """
    bad, words = bad or BadLines(), words or sides_of_model(config)
    left_out: list[Line] = []
    lines = iter(lines)
    first = list(islice(lines, WINDOW)) if jobs > 1 else []
    forms = _forms(first, config)
    if len(first) < WINDOW or None in forms:
        bitext = Bitext(Reader(config, bad.on_error, (None, None), words).pairs(chain(first, lines), bad, left_out))
    else:
        reader = Reader(config, bad.on_error, forms, words)
        bitext = Bitext(reader.pairs(first, bad, left_out))
        with Pool(jobs, open_reader, config, bad.on_error, forms) as pool:
            for read in pool.map(windows(lines, WINDOW)):
                bitext.extend(read.rows)
                left_out += read.left_out
                bad.counts.update(read.bad)
                for side, (count, missing) in zip(words, read.sentences, strict=True):
                    side.sentences += count
                    side.missing.update(missing)
    notes.left_out("with an empty side", left_out)
    return bitext


def _forms(lines: Sequence[tuple[Line, ...]], config: ModelConfig) -> tuple[Form | None, Form | None]:
    """Return the form of each side, recognized by its first lines; None if these are empty or must be parsed."""
    sources, targets = [left for left, _ in lines], [right for _, right in lines]
    forms: list[Form | None] = [
        source_form(sources)[0],
        target_form(targets, bool(config.target.linearization.trees))[0],
    ]
    needs = config.source.needs(training=True), config.target.needs(training=True)
    for side, texts in enumerate((sources, targets)):
        if not any(line.text.strip() for line in texts) or (forms[side] == "text" and needs[side]):
            forms[side] = None
    return forms[0], forms[1]


def open_reader(config: ModelConfig, on_error: OnError, forms: tuple[Form, Form]) -> Reader:
    """Return the reader for another process."""
    return Reader(config, on_error, forms, sides_of_model(config))
