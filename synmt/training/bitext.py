"""Sentence pairs as they were read, kept on disk once they are many."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from itertools import tee
from tempfile import SpooledTemporaryFile
from typing import Any

import orjson

from synmt.model.config import ModelConfig
from synmt.model.records import SentencePair, source_records, target_records
from synmt.model.words import Sides
from synmt.streams import BadLines, Line, Notes
from synmt.trees.constituency import Tree
from synmt.trees.record import ParseRecord

IN_MEMORY = 2**24  # bytes
LEARNT = [
    field.name for field in fields(ParseRecord) if field.name not in ("lemmas", "xpos", "conllu")
]  # lemmas if any


class Bitext:
    """Pairs of which neither side is empty, kept on disk once they are many, to be iterated over again and again."""

    def __init__(self, pairs: Iterable[SentencePair]) -> None:
        self._count, self._checksum = 0, hashlib.blake2b(digest_size=16)
        self._file = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 (gone with its last user)
        for pair in pairs:
            sentences = b"%s,%s" % (_sentence(pair.source), _sentence(pair.target))
            self._checksum.update(sentences)
            self._file.write(b"[%s,%s]\n" % (sentences, orjson.dumps(pair.lines)))
            self._count += 1

    @property
    def checksum(self) -> str:
        """Return a checksum of all pairs in order, by which --resume knows the data again."""
        return self._checksum.hexdigest()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[SentencePair]:
        """Yield the pairs in order; several iterations may be under way."""
        place = 0
        for _ in range(self._count):
            self._file.seek(place)
            source, target, (left, right) = orjson.loads(self._file.readline())
            place = self._file.tell()
            yield SentencePair(_record(source), _record(target), (Line(**left), Line(**right)))

    def reversed(self) -> "Bitext":
        """Return the pairs of the other direction."""
        return Bitext(SentencePair(pair.target, pair.source, pair.lines[::-1]) for pair in self)


def _sentence(record: ParseRecord) -> bytes:
    """Return what models learn from a record; its bytes are part of the checksum that old runs have, too."""
    lemmas = ["lemmas"] if record.lemmas else []
    return orjson.dumps({name: getattr(record, name) for name in [*LEARNT, *lemmas]})


def _record(known: dict[str, Any]) -> ParseRecord:
    """Return the record of its fields, as it was; `read_record` asks for more than every tokenizer keeps."""
    tree = known.pop("tree")
    return ParseRecord(**known, tree=tree and Tree(**tree))


def read_bitext(
    lines: Iterable[tuple[Line, ...]],
    config: ModelConfig,
    notes: Notes,
    bad: BadLines | None = None,
    words: Sides | None = None,
) -> Bitext:
    """Return the records of parallel lines. Pairs with an empty side are left out, and counted in the notes; as empty
    counts one that is bad, if `bad` does not raise it.

    words: the sides, for one who wants to know what is doubtful about them.
    """
    bad = bad or BadLines()
    _, target_tokenizer = config.open_tokenizers()
    source, target = words or config.sides()
    lefts, rights = tee(lines)
    sources = source_records((left for left, _ in lefts), config.source.needs(training=True), source, bad)
    targets = target_records((right for _, right in rights), config.target, target_tokenizer, target, bad)
    left_out: list[Line] = []

    def whole() -> Iterator[SentencePair]:
        for (left, source_record), (right, target_record) in zip(sources, targets, strict=True):
            if source_record.tokens and target_record.tokens:
                yield SentencePair(source_record, target_record, (replace(left, text=""), replace(right, text="")))
            else:
                left_out.append(replace(left, text=""))

    bitext = Bitext(whole())
    notes.left_out("pairs with an empty side", left_out)
    return bitext
