"""Scores of whole corpora, and of sentences in buckets by their length."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from synmt.metrics.config import MetricConfig
from synmt.metrics.lengths import LengthBuckets
from synmt.metrics.metric import Statistics, stream_totals
from synmt.metrics.reading import Files, Input, open_input
from synmt.metrics.report import SystemScores, in_form, report, signatures, table


@dataclass(frozen=True)
class Bucket:
    """Sentences of like length, or `all`: how many they are, and their scores, if there are any."""

    length: str
    sentences: int
    scores: SystemScores


def score_files(
    names: Sequence[str], files: Files, config: MetricConfig, limits: tuple[int, ...], form: str
) -> Iterator[str]:
    """Return the scores of files in a form, text, tsv or json; limits: of buckets of their sentences.

    Raises BadInput, and ValueError for what does not fit together.
    """
    if not limits:
        return report(score_systems(open_input(names, files, config)), form)
    buckets = LengthBuckets(limits)
    return report_lengths(score_by_length(open_input(names, files, config, buckets), buckets), form)


def score_systems(given: Input) -> SystemScores:
    """Return one score a metric for each system, in constant memory. Raises ValueError if there are no rows."""
    _, totals = stream_totals(given.metrics, given.rows)
    return _scores(given, [[total[0] for total in row] for row in totals])


def score_by_length(given: Input, buckets: LengthBuckets) -> list[Bucket]:
    """Return the buckets that the rows were put into, and all sentences as the last; in constant memory.

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
    """Return the scores of totals, [systems][metrics] of [k]."""
    return [
        (system, [metric.score(total).noted(note) for metric, total in zip(given.metrics, row, strict=True)])
        for system, note, row in zip(given.systems, given.notes, totals, strict=True)
    ]


def lengths_as_text(buckets: Sequence[Bucket]) -> Iterator[str]:
    """Yield a table a metric, a row a system and a column a bucket; then the signatures."""
    everything = buckets[-1].scores
    for metric, score in enumerate(everything[0][1]):
        yield from table(
            [
                [score.name, *(bucket.length for bucket in buckets)],
                ["sentences", *(str(bucket.sentences) for bucket in buckets)],
                *(
                    [
                        name,
                        *(
                            f"{bucket.scores[system][1][metric].score:.2f}" if bucket.scores else "-"
                            for bucket in buckets
                        ),
                    ]
                    for system, (name, _) in enumerate(everything)
                ),
            ]
        )
    yield from signatures(everything)


def report_lengths(buckets: Sequence[Bucket], form: str) -> Iterator[str]:
    """Return the scores in a form: tables, or a row of TSV or JSON a bucket, system and metric."""
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
