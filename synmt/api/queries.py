"""Sentences by their structure: the function behind `synmt challenge query`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from synmt.api.given import Sentence, lines_of, public
from synmt.challenge.query import Query, check_asked, marked
from synmt.challenge.sets import matched
from synmt.streams import BadLines, OnError, shown
from synmt.trees.record import ParseRecord


@dataclass(frozen=True, slots=True)
class Match:
    """A sentence that matches a query. number: its place among the sentences, from 1; words: for each match, the number
    of the word at each node of the query, from 1, or 0 for the head of a root."""

    number: int
    record: ParseRecord
    words: Sequence[Mapping[str, int]]

    def __repr__(self) -> str:
        text = marked(self.record, [each.values() for each in self.words])
        return f"<Match of sentence {self.number}: {shown(text, 70)!r}>"


@public
def query(sentences: Iterable[Sentence] | Path, asked: str | Query, *, on_error: OnError = "fail") -> Iterator[Match]:
    """Yield the sentences that have words of your choice, as `synmt challenge query` does.

    sentences: parse records, or a file of them or of CoNLL-U. asked: a pattern, or conditions on a word, on its head
    and on both, such as `Query(WordQuery(relation="obj"), min_distance=3)`. on_error: fail, or blank: a bad sentence
    does not match and is counted in a warning. Raises BadInput, TypeError and ValueError.
    """
    asked = Query(pattern=asked) if isinstance(asked, str) else asked
    check_asked(asked)
    if asked.linked != Query.linked or asked.min_move != Query.min_move:
        raise ValueError("linked and min_move need links, as in synmt challenge linked")
    return _matches(sentences, asked, BadLines(on_error))


def _matches(sentences: Iterable[Sentence] | Path, asked: Query, bad: BadLines) -> Iterator[Match]:
    lines = lines_of(sentences, "sentences", bad.on_error)
    for number, _, record, found in matched(lines, asked, bad):
        if found:
            yield Match(number, record, [dict(zip(asked.shape.names, words, strict=True)) for words in found])
    bad.report()
