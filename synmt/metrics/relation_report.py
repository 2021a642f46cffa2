"""How well each relation of dependency trees is found, as text, TSV, JSON lines or LaTeX."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from synmt.metrics.attachment import las
from synmt.metrics.config import MetricConfig
from synmt.metrics.reading import Files, open_rows
from synmt.metrics.report import Part, Table, in_form
from synmt.streams import readable
from synmt.trees.record import ParseRecord

HEADER = ["relation", "words", "heads", "precision", "recall", "F1"]


@dataclass
class Found:
    """Words of one relation: of the references, those among them whose head is right, those of the hypotheses, and
    those whose head and relation are right."""

    words: int = 0
    heads: int = 0
    claimed: int = 0
    right: int = 0

    def percentages(self) -> dict[str, float]:
        """Return the share of right heads, and precision, recall and F1 of heads with relations."""
        return {
            "heads": 100 * self.heads / max(1, self.words),
            "precision": 100 * self.right / max(1, self.claimed),
            "recall": 100 * self.right / max(1, self.words),
            "f1": 200 * self.right / max(1, self.words + self.claimed),
        }


def add_relations(counts: Mapping[str, Found], gold: ParseRecord, predicted: ParseRecord) -> None:
    """Add a sentence to the counts, by relation. Raises ValueError as UAS and LAS do."""
    metric = las(MetricConfig())
    right, said = metric.claims(gold), metric.claims(predicted, gold)
    heads = {(span, head) for span, head, _ in said}
    for span, head, relation in right:
        counts[relation].words += 1
        counts[relation].heads += (span, head) in heads
    for claim in said:
        counts[claim[2]].claimed += 1
        counts[claim[2]].right += claim in right


def report_relations(files: Files, config: MetricConfig, form: str) -> Iterator[str]:
    """Return a row a relation for each file of records, the most frequent first. Raises BadInput and ValueError."""
    found: list[dict[str, Found]] = [defaultdict(Found) for _ in files.hypotheses]
    for row in open_rows("--by-relation", "records", files, config)[0]:
        for counts, predicted, line in zip(found, row.hypotheses, row.lines, strict=False):
            with line.naming():
                add_relations(counts, row.references[0], predicted)
    systems = [
        (readable(name), sorted(counts.items(), key=lambda each: (-each[1].words, -each[1].claimed, each[0])))
        for name, counts in zip(files.hypotheses, found, strict=True)
    ]
    fields = (
        {"system": name, "relation": relation, "words": each.words, **each.percentages()}
        for name, relations in systems
        for relation, each in relations
    )
    return in_form(form, _as_text(systems), fields)


def _as_text(systems: list[tuple[str, list[tuple[str, Found]]]]) -> Iterator[Part]:
    for name, relations in systems:
        if len(systems) > 1:
            yield name
        yield Table([HEADER, *(_cells(relation, each) for relation, each in relations)])


def _cells(relation: str, each: Found) -> list[str]:
    return [relation, str(each.words), *(f"{percentage:.2f}" for percentage in each.percentages().values())]
