"""A lexicon: which words or terms are linked, how often, and an example of each.

A term is a word or, with `phrases`, one side of a minimal consistent pair of spans (`synmt.alignment.derived`), which
can have several words.
"""

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO

from synmt.alignment.config import LexiconConfig
from synmt.alignment.derived import phrases
from synmt.data.records import SentencePair
from synmt.text.links import Link
from synmt.text.tokenization import spans_of
from synmt.trees.record import ParseRecord

COLUMNS = (
    "source", "target", "count", "p(target|source)", "p(source|target)", "line", "source_example", "target_example"
)  # fmt: skip
LONGEST_TERM = 5  # words
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A pair of sentences in which two terms are linked. number: of the pair, from 1."""

    number: int
    source: str
    target: str

    def __len__(self) -> int:
        return len(self.source) + len(self.target)


class Lexicon:
    """Counts linked terms. The probability of a counterpart is its share of all counterparts of a term.

    The example of two terms is the shortest pair of sentences in which they are linked.
    """

    def __init__(self, config: LexiconConfig) -> None:
        self.config = config
        self._number = 0
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._sources: Counter[str] = Counter()
        self._targets: Counter[str] = Counter()
        self._examples: dict[tuple[str, str], Occurrence] = {}

    def add(self, pair: SentencePair, links: Iterable[Link]) -> None:
        """Count the linked terms of a pair of sentences."""
        self._number += 1
        here = Occurrence(self._number, _line(pair.source), _line(pair.target))
        for terms in self._terms(pair, links) if pair.is_whole else ():
            self._pairs[terms] += 1
            self._sources[terms[0]] += 1
            self._targets[terms[1]] += 1
            if len(here) < len(self._examples.get(terms, here)) or terms not in self._examples:
                self._examples[terms] = here

    def _terms(self, pair: SentencePair, links: Iterable[Link]) -> Iterator[tuple[str, str]]:
        """Yield the linked terms of a pair of sentences, but not two marks such as `.` and `.`."""
        sides = self._side(pair.source), self._side(pair.target)
        for *source, first, last in phrases(links) if self.config.phrases else [(i, i, j, j) for i, j in links]:
            if max(source[1] - source[0], last - first) < LONGEST_TERM:
                terms = sides[0](*source), sides[1](first, last)
                if any(map(str.isalnum, "".join(terms))):
                    yield terms

    def _side(self, record: ParseRecord) -> Callable[[int, int], str]:
        """Return a function from the first and the last word of a term to the term."""
        words = record.lemmas if self.config.lemmas else record.tokens
        spans: list[Span] = []
        if self.config.phrases and not self.config.lemmas and record.text:
            with suppress(ValueError):  # another program may have changed the tokens
                spans = spans_of(words, record.text)

        def term(first: int, last: int) -> str:
            if spans and first < last:  # with the white space of the text, if any
                found = " ".join(record.text[spans[first][0] : spans[last][1]].split())
            else:
                found = " ".join(words[first : last + 1])
            return found.lower() if self.config.fold_case else found

        return term

    def rows(self) -> Iterator[str]:
        """Yield a header, and a row for each pair of terms, most frequent first."""
        form = _tsv if self.config.format == "tsv" else _csv
        yield ("\ufeff" if self.config.format == "csv" else "") + form(COLUMNS)  # Excel needs the byte order mark
        for (source, target), count in sorted(self._pairs.items(), key=lambda each: (-each[1], each[0])):
            if count >= self.config.min_count:
                shares = (f"{count / self._sources[source]:.6f}", f"{count / self._targets[target]:.6f}")
                example = self._examples[source, target]
                yield form((source, target, str(count), *shares, str(example.number), example.source, example.target))


def _line(record: ParseRecord) -> str:
    return " ".join((record.text or " ".join(record.tokens)).split())


def _tsv(cells: Iterable[str]) -> str:
    return "\t".join(cells)


def _csv(cells: Iterable[str]) -> str:
    line = StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()
