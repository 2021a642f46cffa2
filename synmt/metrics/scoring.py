"""Scores of whole corpora, of sentences in buckets by their length, and of each sentence."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from synmt.metrics.config import MetricConfig
from synmt.metrics.lengths import LengthBuckets
from synmt.metrics.metric import Statistics, stream_statistics, stream_totals
from synmt.metrics.reading import Files, Input, open_input
from synmt.metrics.report import Part, SystemScores, Table, in_form, report, signatures
from synmt.metrics.significance import confidence_intervals, sentence_statistics
from synmt.streams import WrongUsage


@dataclass(frozen=True)
class Bucket:
    """Sentences of like length, or `all`: how many they are, and their scores, if there are any."""

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
    """Return the scores of files in a form, text, tsv, json or latex.

    limits: of buckets of their sentences; by_sentence: the scores of each; intervals: those of the corpora with what
    chance makes of them.

    Raises BadInput, and ValueError for what does not fit together.
    """
    if by_sentence + intervals + bool(limits) > 1:
        raise WrongUsage("scores are by length, by sentence or with intervals")
    if by_sentence:
        given = open_input(names, files, replace(config, effective_order=True))
        return report_sentences(score_sentences(given), form)
    if intervals:
        return report(with_intervals(open_input(names, files, config)), form)
    if not limits:
        return report(score_systems(open_input(names, files, config)), form)
    buckets = LengthBuckets(limits)
    return report_lengths(score_by_length(open_input(names, files, config, buckets), buckets), form)


def score_systems(given: Input) -> SystemScores:
    """Return one score a metric for each system, in constant memory. Raises ValueError if there are no rows."""
    _, totals = stream_totals(given.metrics, given.rows)
    return _scores(given, [[total[0] for total in row] for row in totals])


def with_intervals(given: Input) -> SystemScores:
    """Return one score a metric for each system, with its interval. Raises ValueError if there are no rows."""
    statistics = sentence_statistics(given)
    scores = _scores(given, [[part.sum(axis=0) for part in row] for row in statistics])
    intervals = confidence_intervals(given.metrics, statistics)
    return [
        (system, [replace(score, interval=interval) for score, interval in zip(row, found, strict=True)])
        for (system, row), found in zip(scores, intervals, strict=True)
    ]


def score_sentences(given: Input) -> Iterator[SystemScores]:
    """Yield the scores of each sentence, in constant memory. Raises ValueError if there are no rows."""
    for buckets, statistics in stream_statistics(given.metrics, given.rows):
        for sentence in range(len(buckets)):
            yield _scores(given, [[part[sentence] for part in row] for row in statistics])


def report_sentences(sentences: Iterable[SystemScores], form: str) -> Iterator[str]:
    """Return the scores of each sentence in a form: a line of them, or a row of TSV or JSON a sentence, system and
    metric. Raises ValueError for another form."""
    if form == "latex":
        raise WrongUsage("LaTeX has tables of whole corpora, not of sentences")
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


def lengths_as_text(buckets: Sequence[Bucket]) -> Iterator[Part]:
    """Yield a table a metric, a row a system and a column a bucket; then the signatures."""
    everything = buckets[-1].scores
    for metric, score in enumerate(everything[0][1]):
        yield Table(
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
