"""Sentences by their structure: the function behind `synmt challenge query`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synmt.api.given import Sentence, lines_of, not_given, takes
from synmt.challenge.query import Query, known, marked, query_of
from synmt.challenge.sets import matched
from synmt.options import check_keywords
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


@takes(*not_given(known()))
def query(sentences: Iterable[Sentence] | Path, *, on_error: OnError = "fail", **settings: Any) -> Iterator[Match]:
    """Yield the sentences that have words of your choice, as `synmt challenge query` does.

    sentences: parse records, or a file of them or of CoNLL-U. settings: `pattern`, or conditions on a word (`relation`,
    `upos`, `feature`, `lemma`, `word`), on its head (`head_…`) and on both (`min_distance`, `direction`). on_error:
    fail, or blank: a bad sentence does not match and is counted in a warning. Raises BadInput, TypeError and
    ValueError.
    """
    check_keywords(settings, known())
    asked = query_of({name: value for name, value in settings.items() if value is not None})
    return _matches(sentences, asked, BadLines(on_error))


def _matches(sentences: Iterable[Sentence] | Path, asked: Query, bad: BadLines) -> Iterator[Match]:
    lines = lines_of(sentences, "sentences", bad.on_error)
    for number, _, record, found in matched(lines, asked, bad):
        if found:
            yield Match(number, record, [dict(zip(asked.shape.names, words, strict=True)) for words in found])
    bad.report()
