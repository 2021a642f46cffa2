"""Scores of a whole corpus, of sentences grouped by length, of each sentence, and of each dependency relation."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from synmt.metrics.config import MetricConfig
from synmt.metrics.metric import Statistics, stream_statistics, stream_totals
from synmt.metrics.parses import Relations, las
from synmt.metrics.reading import Files, Input, LengthBuckets, one_by_one, open_input, open_rows
from synmt.metrics.report import Part, SystemScores, Table, in_form, report, signatures
from synmt.metrics.significance import confidence_intervals, sentence_statistics
from synmt.streams import WrongUsage, readable

RELATION_HEADER = ["relation", "words", "heads", "precision", "recall", "F1"]


@dataclass(frozen=True)
class Bucket:
    """Sentences of similar length, or `all`: their number, and their scores, if any."""

    length: str
    sentences: int
    scores: SystemScores


def score_files(
    names: Sequence[str],
    files: Files,
    config: MetricConfig,
    limits: tuple[int, ...],
    form: str,
    by_sentence: bool = False,
    intervals: bool = False,
) -> Iterator[str]:
    """Return the scores of files in a form: text, tsv, json or latex.

    limits: limits of length buckets; by_sentence: score each sentence; intervals: add confidence intervals to corpus
    scores. No two of them are combined.

    Raises BadInput, and ValueError for inputs that do not fit together.
    """
    if by_sentence:
        given = open_input(names, files, replace(config, effective_order=True))
        return report_sentences(score_sentences(given), form)
    if limits:
        buckets = LengthBuckets(limits)
        return report_lengths(score_by_length(open_input(names, files, config, buckets), buckets), form)
    given = open_input(names, files, config)
    return report(with_intervals(given) if intervals else score_systems(given), form)


def score_systems(given: Input) -> SystemScores:
    """Return one score per metric for each system, in constant memory. Raises ValueError if there are no rows."""
    _, totals = stream_totals(given.metrics, given.rows)
    return _scores(given, [[total[0] for total in row] for row in totals])


def with_intervals(given: Input) -> SystemScores:
    """Return one score per metric for each system, with its interval. Raises ValueError if there are no rows."""
    statistics = sentence_statistics(given)
    scores = _scores(given, [[part.sum(axis=0) for part in row] for row in statistics])
    intervals = confidence_intervals(given.metrics, statistics)
    return [
        (system, [replace(score, interval=interval) for score, interval in zip(row, found, strict=True)])
        for (system, row), found in zip(scores, intervals, strict=True)
    ]


def score_sentences(given: Input) -> Iterator[SystemScores]:
    """Yield the scores of each sentence, in constant memory. Raises ValueError if there are no rows."""
    for buckets, statistics in stream_statistics(given.metrics, one_by_one(given.rows)):
        for sentence in range(len(buckets)):
            yield _scores(given, [[part[sentence] for part in row] for row in statistics])


def report_sentences(sentences: Iterable[SystemScores], form: str) -> Iterator[str]:
    """Return the scores of each sentence in a form: one line, or one row per system and metric.

    Raises WrongUsage for LaTeX.
    """
    if form == "latex":
        raise WrongUsage("LaTeX tables are for whole corpora, not for sentences")
    if form == "text":
        return ("\t".join(f"{score.score:.2f}" for _, row in systems for score in row) for systems in sentences)
    fields = (
        {"sentence": number, "system": system, "metric": score.name, "score": score.score}
        for number, systems in enumerate(sentences, 1)
        for system, row in systems
        for score in row
    )
    return in_form(form, (), fields)


def score_by_length(given: Input, buckets: LengthBuckets) -> list[Bucket]:
    """Return the scores of each bucket, then the scores of all sentences, in constant memory.

    Raises ValueError if there are no rows.
    """
    labels = buckets.labels()
    sentences, totals = stream_totals(given.metrics, given.rows, len(labels))
    scored = []
    for place, (label, size) in enumerate(zip(labels, sentences, strict=True)):
        scores = _scores(given, [[total[place] for total in row] for row in totals]) if size else []
        scored.append(Bucket(label, size, scores))
    everything = _scores(given, [[total.sum(axis=0) for total in row] for row in totals])
    return [*scored, Bucket("all", sum(sentences), everything)]


def _scores(given: Input, totals: Sequence[Sequence[Statistics]]) -> SystemScores:
    """Return the scores computed from total statistics, [systems][metrics] of [k]."""
    return [
        (system, [metric.score(total).noted(note) for metric, total in zip(given.metrics, row, strict=True)])
        for system, note, row in zip(given.systems, given.notes, totals, strict=True)
    ]


def lengths_as_text(buckets: Sequence[Bucket]) -> Iterator[Part]:
    """Yield one table per metric, with a row per system and a column per bucket, then the signatures."""
    everything = buckets[-1].scores
    for metric, score in enumerate(everything[0][1]):
        rows = [
            [score.name, *(bucket.length for bucket in buckets)],
            ["sentences", *(str(bucket.sentences) for bucket in buckets)],
        ]
        for system, (name, _) in enumerate(everything):
            of_buckets = (bucket.scores[system][1][metric].score if bucket.scores else None for bucket in buckets)
            rows.append([name, *("-" if each is None else f"{each:.2f}" for each in of_buckets)])
        yield Table(rows)
    yield from signatures(everything)


def report_lengths(buckets: Sequence[Bucket], form: str) -> Iterator[str]:
    """Return the scores in a form: tables, or one row per bucket, system and metric."""
    fields = (
        {
            "system": system,
            "metric": score.name,
            "length": bucket.length,
            "sentences": bucket.sentences,
            "score": score.score,
            "signature": score.signature,
        }
        for bucket in buckets
        for system, row in bucket.scores
        for score in row
    )
    return in_form(form, lengths_as_text(buckets), fields)


@dataclass
class RelationCounts:
    """Counts for one relation.

    words: words with this relation in the references; heads: how many of them get the correct head.
    claimed: words with this relation in the hypotheses; right: how many of them have the correct head and relation.
    """

    words: int = 0
    heads: int = 0
    claimed: int = 0
    right: int = 0

    def percentages(self) -> dict[str, float]:
        """Return the share of correct heads, and precision, recall and F1 of heads with relations."""
        return {
            "heads": 100 * self.heads / max(1, self.words),
            "precision": 100 * self.right / max(1, self.claimed),
            "recall": 100 * self.right / max(1, self.words),
            "f1": 200 * self.right / max(1, self.words + self.claimed),
        }


def add_relations(counts: Mapping[str, RelationCounts], relations: Relations) -> None:
    """Add a sentence to the counts by relation."""
    for relation in relations.gold:
        counts[relation].words += 1
    for relation in relations.predicted:
        counts[relation].claimed += 1
    for gold, predicted, head in relations.aligned:
        counts[gold].heads += head
        counts[gold].right += head and gold == predicted


def report_relations(files: Files, form: str) -> Iterator[str]:
    """Return one row per relation for each file of records, most frequent first. Raises BadInput and ValueError."""
    found: list[dict[str, RelationCounts]] = [defaultdict(RelationCounts) for _ in files.hypotheses]
    config = MetricConfig()
    metric = las(config)
    rows, notes = open_rows("inspect relations", "records", files, config)
    for row in rows:
        for counts, predicted, line in zip(found, row.hypotheses, row.lines, strict=False):
            with line.naming():
                add_relations(counts, metric.relations(predicted, row.references[0]))
    systems = [
        (readable(name), sorted(counts.items(), key=lambda each: (-each[1].words, -each[1].claimed, each[0])))
        for name, counts in zip(files.hypotheses, found, strict=True)
    ]
    fields = (
        {"system": name, "relation": relation, "words": each.words, **each.percentages(), "signature": notes[0]}
        for name, relations in systems
        for relation, each in relations
    )
    return in_form(form, relations_as_text(systems, notes[0]), fields)


def relations_as_text(systems: list[tuple[str, list[tuple[str, RelationCounts]]]], rules: str) -> Iterator[Part]:
    for name, relations in systems:
        if len(systems) > 1:
            yield name
        rows = [
            [relation, str(each.words), *(f"{percentage:.2f}" for percentage in each.percentages().values())]
            for relation, each in relations
        ]
        yield Table([RELATION_HEADER, *rows])
    yield rules
