"""Projected trees as a treebank to train a parser on: the surest ones, and what forms say of words without links.

A word without links has no part of speech, and hangs on a near one as `dep`. Both are what words of its form most often
have elsewhere, as in a tag dictionary (Täckström, Das, Petrov, McDonald & Nivre 2013, "Token and Type Constraints for
Cross-Lingual Part-of-Speech Tagging", TACL). So is a tag that words of the form hardly ever have.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import nlargest
from pathlib import Path

import click

from synmt.streams import BadInput, complain, read_lines
from synmt.trees.dependency import UNKNOWN, write_conllu
from synmt.trees.record import ParseRecord, read_record

UNSAID = "dep"  # a relation that says nothing
NO_TAG = "X"
RARE = 0.2  # share of a form's words below which a tag is taken for an error
SHORTEST, LONGEST = 4, 40  # words of a sentence; what is shorter teaches little, what is longer is projected badly


class Dictionary:
    """How often the words of each form, in lower case, have each part of speech and each relation."""

    def __init__(self) -> None:
        self._tags: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._relations: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def counting(self, records: Iterable[ParseRecord]) -> Iterator[ParseRecord]:
        """Yield the records, once their words are counted."""
        for record in records:
            for counts, labels, unknown in (
                (self._tags, record.upos, (UNKNOWN,)),
                (self._relations, record.deprels, (UNKNOWN, UNSAID, "root")),
            ):
                for form, label in zip(record.tokens, labels, strict=False):
                    if label not in unknown:
                        counts[form.lower()][label] += 1
            yield record

    def tag(self, form: str, tag: str) -> str:
        """Return the part of speech of a word: that one, unless it is unknown, or rare for the form."""
        known = self._tags.get(form.lower(), Counter[str]())
        if known[tag] < RARE * known.total():
            return known.most_common(1)[0][0]
        return NO_TAG if tag == UNKNOWN else tag

    def relation(self, form: str, relation: str) -> str:
        known = self._relations.get(form.lower())
        return known.most_common(1)[0][0] if known and relation == UNSAID else relation

    def complete(self, record: ParseRecord) -> ParseRecord:
        """Return the record with a part of speech and a relation for each word."""
        tags = record.upos or [UNKNOWN] * len(record.tokens)
        return replace(
            record,
            upos=[self.tag(form, tag) for form, tag in zip(record.tokens, tags, strict=True)],
            deprels=[self.relation(form, each) for form, each in zip(record.tokens, record.deprels, strict=True)],
        )


def surest(records: Iterable[ParseRecord], most: int, least: float) -> list[ParseRecord]:
    """Return at most so many trees, of at least that mean confidence: those of the highest, in their order."""
    fitting = (
        (number, record)
        for number, record in enumerate(records)
        if SHORTEST <= len(record.tokens) <= LONGEST and record.confidences and record.confidence >= least
    )
    best = nlargest(most, fitting, key=lambda each: each[1].confidence)
    return [record for _, record in sorted(best, key=lambda each: each[0])]


@click.command()
@click.option("--most", default=3000, show_default=True, help="Sentences, at most: those of the highest confidence.")
@click.option("--min-confidence", default=0.5, show_default=True, help="Least mean confidence of a sentence.")
@click.option("--output", type=click.Path(path_type=Path), required=True)
@click.argument("paths", nargs=-1, required=True)
def main(most: int, min_confidence: float, output: Path, paths: tuple[str, ...]) -> None:
    """Write the surest of the trees that `synmt project` has made as a treebank: CoNLL-U."""
    dictionary = Dictionary()
    try:
        chosen = surest(dictionary.counting(_read(paths)), most, min_confidence)
        if not chosen:
            raise BadInput(f"no tree of {SHORTEST} to {LONGEST} words has the confidence {min_confidence}", paths[0])
    except BadInput as error:
        raise SystemExit(complain("projected", str(error))) from None
    blocks = (write_conllu(dictionary.complete(record)) for record in chosen)
    output.write_text("".join(f"{block}\n\n" for block in blocks), encoding="utf-8")
    words, least = sum(len(record.tokens) for record in chosen), min(record.confidence for record in chosen)
    print(f"{output}: {len(chosen)} sentences, {words} words, confidence {least:.2f} or more")


def _read(paths: Sequence[str]) -> Iterator[ParseRecord]:
    """Yield the records. Raises BadInput, also for partial trees, which UDPipe does not learn from."""
    for line in read_lines(paths):
        with line.naming():
            yield read_record(line.text)


if __name__ == "__main__":
    main()
