"""Sentence pairs as they were read, kept on disk once they are many."""

import hashlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import tee
from tempfile import SpooledTemporaryFile
from typing import Any

import orjson

from synmt.streams import Line, read_lines
from synmt.systems.model_folder import ModelConfig
from synmt.systems.records import source_records, target_records
from synmt.trees.constituency import Tree
from synmt.trees.record import ParseRecord

IN_MEMORY = 2**24  # bytes


@dataclass(slots=True)
class SentencePair:
    """Two sentences, and the lines that they came from, without their text."""

    source: ParseRecord
    target: ParseRecord
    lines: tuple[Line, Line]


class Bitext:
    """Pairs of which neither side is empty: what is iterated over again and again, and never all in memory.

    checksum: of all lines read, to know the data again on --resume.
    """

    def __init__(self, pairs: Iterable[SentencePair], checksum: str = "") -> None:
        self.checksum = checksum
        self._count = 0
        self._file = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 (gone with its last user)
        for pair in pairs:
            self._file.write(orjson.dumps(pair) + b"\n")
            self._count += 1

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[SentencePair]:
        """In order; several iterations may be under way."""
        place = 0
        for _ in range(self._count):
            self._file.seek(place)
            fields = orjson.loads(self._file.readline())
            place = self._file.tell()
            left, right = fields["lines"]
            yield SentencePair(_record(fields["source"]), _record(fields["target"]), (Line(**left), Line(**right)))


def _record(fields: dict[str, Any]) -> ParseRecord:
    """What orjson has made of a record, as it was; `read_record` asks for more than every tokenizer keeps."""
    tree = fields.pop("tree")
    return ParseRecord(**fields, tree=tree and Tree(**tree))


def read_tsv(path: str) -> Iterator[tuple[Line, ...]]:
    """The two columns of `source TAB target` lines; a record holds no raw tab. Raises BadInput."""
    for line in read_lines([path]):
        columns = line.text.split("\t")
        if len(columns) != 2:
            raise line.error(f"{len(columns)} columns instead of source TAB target")
        yield Line(columns[0], line.source, line.number), Line(columns[1], line.source, line.number)


def read_bitext(lines: Iterable[tuple[Line, ...]], config: ModelConfig) -> Bitext:
    """Records of parallel lines. Pairs with an empty side are left out, and counted on stderr."""
    source_tokenizer, target_tokenizer = config.open_tokenizers()
    checksum = hashlib.blake2b(digest_size=16)

    def checked() -> Iterator[tuple[Line, ...]]:
        for left, right in lines:
            checksum.update(f"{left.text}\t{right.text}\n".encode())
            yield left, right

    lefts, rights = tee(checked())
    sources = source_records(
        (left for left, _ in lefts), config.side.needs(training=True), source_tokenizer, config.source_language
    )
    targets = target_records(
        (right for _, right in rights), config.target, target_tokenizer, config.target_language
    )
    left_out: list[Line] = []

    def whole() -> Iterator[SentencePair]:
        for (left, source), (right, target) in zip(sources, targets, strict=True):
            if source.tokens and target.tokens:
                yield SentencePair(source, target, (replace(left, text=""), replace(right, text="")))
            else:
                left_out.append(replace(left, text=""))

    bitext = Bitext(whole())
    report("pairs with an empty side", left_out)
    bitext.checksum = checksum.hexdigest()
    return bitext


def report(what: str, lines: Sequence[Line], command: str = "train") -> None:
    """Says on stderr how many lines training does without, and where the first ones are."""
    if lines:
        places = ", ".join(f"{line.source}:{line.number}" for line in lines[:3])
        print(f"synmt {command}: left out {len(lines)} {what} ({places}, …)", file=sys.stderr)
