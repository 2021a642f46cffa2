"""How many words of a reference a translation contains: by their frequency in training text, their part of speech, and
the relation to their head.

If a word occurs n times in a reference and k times in the translation, each occurrence counts as min(n, k)/n; word
order does not matter. Both sides are tokenized in the same way, and parses are transferred to these words. Modelled on
Neubig et al. (2019), "compare-mt: A Tool for Holistic Comparison of Language Generation Systems", NAACL.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from synmt.data.records import source_records
from synmt.data.words import SideWords, sides_of
from synmt.metrics.report import Fields, Part, Table, in_form
from synmt.metrics.significance import wilson
from synmt.streams import check_stdin_once, read_lines, readable, side_by_side
from synmt.text.tokenization import language_of
from synmt.trees.dependency import realigned
from synmt.trees.record import ParseRecord, RecordError

LIMITS = 1, 2, 5, 10, 100, 1000  # the least frequency of each bucket but the first
FREQUENCIES = "0", "1", "2-4", "5-9", "10-99", "100-999", "1000-"
EXPLANATION = "percentages of the reference words that the translations contain, with 95% intervals (Wilson)"


@dataclass
class WordGroup:
    """Reference words that have something in common. right: how many of them each system has."""

    right: list[float]
    words: int = 0


@dataclass
class RecallCounts:
    """Counts by attribute (frequency, upos, relation) and value.

    frequencies: of words in training text, None without one.
    """

    systems: int
    frequencies: Counter[str] | None = None
    groups: dict[str, dict[str, WordGroup]] = field(default_factory=dict)

    def add(self, reference: ParseRecord, translations: Sequence[Sequence[str]]) -> None:
        """Count the words of a reference. translations: the words of each system's."""
        own, theirs = Counter(reference.tokens), list(map(Counter, translations))
        for place, word in enumerate(reference.tokens):
            right = [min(own[word], counts[word]) / own[word] for counts in theirs]
            for attribute, value in self._values(reference, place, word):
                groups = self.groups.setdefault(attribute, {})
                group = groups.setdefault(value, WordGroup([0.0] * self.systems))
                group.words += 1
                group.right = [sum(each) for each in zip(group.right, right, strict=True)]

    def _values(self, record: ParseRecord, place: int, word: str) -> Iterator[tuple[str, str]]:
        if self.frequencies is not None:
            yield "frequency", FREQUENCIES[bisect_right(LIMITS, self.frequencies[word])]
        if record.upos:
            yield "upos", record.upos[place]
        if record.deprels:
            yield "relation", record.deprels[place].partition(":")[0]
        yield "all", "all"

    def rows(self) -> Iterator[tuple[str, str, WordGroup]]:
        """Yield attribute, value and counts: frequencies in order, all others by the number of words."""
        for attribute in sorted(self.groups, key=("frequency", "upos", "relation", "all").index):
            groups = sorted(self.groups[attribute].items(), key=lambda each: (-each[1].words, each[0]))
            if attribute == "frequency":
                groups.sort(key=lambda each: FREQUENCIES.index(each[0]))
            yield from ((attribute, value, group) for value, group in groups)


def report_words(hypotheses: Sequence[str], reference: str, train: str | None, form: str) -> Iterator[str]:
    """Return the counts of files of text or parse records in a form. train: training text in the target language.

    Raises BadInput, also for files of different lengths.
    """
    paths = [*hypotheses, reference]
    check_stdin_once([*paths, *([train] if train else [])])
    language = language_of(reference) or "en"
    frequencies = Counter(word for record in _records(train, language) for word in record.tokens) if train else None
    counts = RecallCounts(len(hypotheses), frequencies)
    for *translations, gold in side_by_side(paths, [_records(path, language) for path in paths], "sentence"):
        counts.add(gold, [each.tokens for each in translations])
    return _report(counts, [readable(name) for name in hypotheses], form)


def _records(path: str, language: str) -> Iterator[ParseRecord]:
    """Yield the sentences of a file over the words of the tokenizer."""
    side = sides_of((language, language), "words")[0]
    for _, record in source_records(read_lines([path]), frozenset(), side):
        yield on_words(record, side) if record.text else record


def on_words(record: ParseRecord, side: SideWords) -> ParseRecord:
    """Return a sentence over the words of a tokenizer, with its parse."""
    words = side.of_text(record.text)
    try:
        return record if words == record.tokens else realigned(record, words)
    except RecordError:  # the tokens do not spell the text
        return record


def _report(counts: RecallCounts, systems: Sequence[str], form: str) -> Iterator[str]:
    fields: Iterator[Fields] = (
        {
            "system": system, "attribute": attribute, "value": value, "words": group.words, "right": right,
            "percent": 100 * right / group.words, **dict(zip(("low", "high"), wilson(right, group.words), strict=True)),
        }
        for attribute, value, group in counts.rows()
        for system, right in zip(systems, group.right, strict=True)
    )  # fmt: skip
    return in_form(form, _as_text(counts, systems), fields)


def _as_text(counts: RecallCounts, systems: Sequence[str]) -> Iterator[Part]:
    for name in dict.fromkeys(attribute for attribute, _, _ in counts.rows()):
        rows = [[name if name != "all" else "", "words", *(cell for each in systems for cell in (each, "low", "high"))]]
        for attribute, value, group in counts.rows():
            if attribute == name:
                shares = ((100 * right / group.words, *wilson(right, group.words)) for right in group.right)
                rows.append([value, str(group.words), *(f"{each:.1f}" for share in shares for each in share)])
        yield Table(rows)
    yield EXPLANATION
