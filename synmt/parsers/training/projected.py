"""A treebank of projected trees to train a parser on: selects the surest trees, and completes them from a tag
dictionary.

After projection, a word without links has no part of speech, and its relation to a nearby word is `dep`. We replace
both by the most frequent tag and relation of its form (Täckström, Das, Petrov, McDonald & Nivre 2013, "Token and Type
Constraints for Cross-Lingual Part-of-Speech Tagging", TACL), and likewise a tag that is very rare for its form.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import nlargest
from pathlib import Path

import click

from synmt.parsers.training import complaining
from synmt.streams import BadInput, read_lines
from synmt.trees.dependency import DEPENDENCY, UNKNOWN
from synmt.trees.formats import write_conllu
from synmt.trees.record import ParseRecord, read_record

NO_TAG = "X"
RARE = 0.2  # share of a form's occurrences below which a tag counts as an error
SHORTEST, LONGEST = 4, 40  # words; shorter sentences teach little, and longer ones are projected badly


class Dictionary:
    """Counts of parts of speech and relations by form, in lower case."""

    def __init__(self) -> None:
        self._tags: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._relations: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def counting(self, records: Iterable[ParseRecord]) -> Iterator[ParseRecord]:
        """Count the words of each record, and yield it."""
        for record in records:
            for counts, labels, unknown in (
                (self._tags, record.upos, (UNKNOWN, NO_TAG)),
                (self._relations, record.deprels, (UNKNOWN, DEPENDENCY, "root")),
            ):
                for form, label in zip(record.tokens, labels, strict=False):
                    if label not in unknown:
                        counts[form.lower()][label] += 1
            yield record

    def tag(self, form: str, tag: str) -> str:
        """Return the tag, or the most frequent tag of the form if this one is unknown or rare for it."""
        known = self._tags.get(form.lower(), Counter[str]())
        if known[tag] < RARE * known.total():
            return known.most_common(1)[0][0]
        return NO_TAG if tag == UNKNOWN else tag

    def relation(self, form: str, relation: str) -> str:
        known = self._relations.get(form.lower())
        return known.most_common(1)[0][0] if known and relation == DEPENDENCY else relation

    def complete(self, record: ParseRecord) -> ParseRecord:
        """Return the record with a part of speech and a relation for each word."""
        tags = record.upos or [UNKNOWN] * len(record.tokens)
        return replace(
            record,
            upos=[self.tag(form, tag) for form, tag in zip(record.tokens, tags, strict=True)],
            deprels=[self.relation(form, each) for form, each in zip(record.tokens, record.deprels, strict=True)],
        )


def surest(records: Iterable[ParseRecord], most: int, least: float) -> list[ParseRecord]:
    """Return, in their original order, the `most` trees with the highest mean confidence, which must be at least
    `least`."""
    fitting = (
        (number, record)
        for number, record in enumerate(records)
        if SHORTEST <= len(record.tokens) <= LONGEST and record.confidences and record.confidence >= least
    )
    best = nlargest(most, fitting, key=lambda each: each[1].confidence)
    return [record for _, record in sorted(best, key=lambda each: each[0])]


@click.command()
@click.option("--most", default=3000, show_default=True, help="At most this many sentences, the most confident.")
@click.option("--min-confidence", default=0.5, show_default=True, help="Minimum mean confidence of a sentence.")
@click.option("--output", type=click.Path(path_type=Path), required=True)
@click.argument("paths", nargs=-1, required=True)
@complaining("projected")
def main(most: int, min_confidence: float, output: Path, paths: tuple[str, ...]) -> None:
    """Write the surest trees of `synmt project` as a treebank in CoNLL-U."""
    dictionary = Dictionary()
    chosen = surest(dictionary.counting(_read(paths)), most, min_confidence)
    if not chosen:
        raise BadInput(f"no tree of {SHORTEST} to {LONGEST} words has the confidence {min_confidence}", paths[0])
    blocks = (write_conllu(dictionary.complete(record)) for record in chosen)
    output.write_text("".join(f"{block}\n\n" for block in blocks), encoding="utf-8")
    words, least = sum(len(record.tokens) for record in chosen), min(record.confidence for record in chosen)
    print(f"{output}: trees: {len(chosen)}, words: {words}, confidence {least:.2f} or more")


def _read(paths: Sequence[str]) -> Iterator[ParseRecord]:
    """Yield the records. Raises BadInput, also for partial trees, from which UDPipe cannot learn."""
    for line in read_lines(paths):
        with line.naming():
            yield read_record(line.text)


if __name__ == "__main__":
    main()
