import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.metrics.config import MetricConfig
from synmt.metrics.metric import corpus_score
from synmt.metrics.reading import LengthBuckets
from synmt.metrics.scoring import report_lengths, report_sentences, score_by_length, score_sentences, score_systems
from synmt.metrics.translations import bleu
from tests.metrics.inputs import given_input

NONE = MetricConfig("none")
METRICS = [bleu(NONE), bleu(MetricConfig("char"))]
REFERENCE = [f"a b {n % 7} d e f g" for n in range(1100)]
SYSTEMS = [[f"a b {n} d e f" for n in range(1100)], [f"a b c {n} e f" for n in range(1100)]]


def test_streams_of_many_windows_score_as_one_corpus() -> None:
    scores = score_systems(given_input(METRICS, SYSTEMS, [REFERENCE]))
    assert scores == [
        (name, [corpus_score(metric, system, [REFERENCE]) for metric in METRICS])
        for name, system in zip("ab", SYSTEMS, strict=True)
    ]


def test_each_bucket_is_scored_as_a_corpus() -> None:
    numbers = [n % 3 if n % 3 < 2 else 3 for n in range(1100)]
    buckets = score_by_length(given_input(METRICS, SYSTEMS, [REFERENCE], numbers), LengthBuckets((10, 20, 30)))
    assert [(bucket.length, bucket.sentences) for bucket in buckets] == [
        ("0-10", 367), ("11-20", 367), ("21-30", 0), ("31-", 366), ("all", 1100),
    ]  # fmt: skip
    for place, bucket in enumerate(buckets[:-1]):
        chosen = [n for n, number in enumerate(numbers) if number == place]
        parts = [[system[n] for n in chosen] for system in [*SYSTEMS, REFERENCE]]
        expected = score_systems(given_input(METRICS, parts[:2], parts[2:])) if chosen else []
        assert bucket.scores == expected
    assert buckets[-1].scores == score_systems(given_input(METRICS, SYSTEMS, [REFERENCE]))


def test_empty_input_has_no_score() -> None:
    with pytest.raises(ValueError, match="no lines to score"):
        score_systems(given_input(METRICS, [[]], [[]]))
    with pytest.raises(ValueError, match="no lines to score"):
        score_by_length(given_input(METRICS, [[]], [[]]), LengthBuckets((1,)))


def test_each_sentence_is_scored_as_a_corpus() -> None:
    sentences = list(score_sentences(given_input(METRICS, SYSTEMS, [REFERENCE])))
    assert len(sentences) == len(REFERENCE)
    for number in (0, 7, 999, 1000, 1099):
        parts = [[system[number]] for system in [*SYSTEMS, REFERENCE]]
        assert sentences[number] == score_systems(given_input(METRICS, parts[:2], parts[2:]))
    lines = list(report_sentences(iter(sentences), "text"))
    assert [len(line.split("\t")) for line in lines] == [4] * len(REFERENCE)
    assert next(report_sentences(iter(sentences), "tsv")) == "sentence\tsystem\tmetric\tscore"
    assert len(list(report_sentences(iter(sentences), "jsonl"))) == 4 * len(REFERENCE)


def test_tables_by_length() -> None:
    given = given_input([bleu(NONE)], [["a b c d", "x"], ["a b c d", "y"]], [["a b c d", "y"]], [0, 0])
    buckets = score_by_length(given, LengthBuckets((3,)))
    text = list(report_lengths(buckets, "text"))
    assert text[:4] == [
        "BLEU           0-3       4-      all",
        "sentences        2        0        2",
        "a            94.57        -    94.57",
        "b           100.00        -   100.00",
    ]
    assert text[4].startswith("BLEU|nrefs:1|case:mixed|eff:no|tok:none|")
    header, *rows = report_lengths(buckets, "tsv")
    assert header == "system\tmetric\tlength\tsentences\tscore\tsignature"
    assert [row.split("\t")[:4] for row in rows] == [
        [name, "BLEU", length, "2"] for length in ("0-3", "all") for name in "ab"
    ]
    assert json.loads(list(report_lengths(buckets, "jsonl"))[1])["score"] == pytest.approx(100)


@given(st.lists(st.integers(1, 50), min_size=1, unique=True).map(sorted), st.integers(0, 60))
def test_lengths_fall_into_the_bucket_with_their_label(limits: list[int], length: int) -> None:
    buckets = LengthBuckets(tuple(limits))
    start, dash, end = buckets.labels()[buckets.bucket(length)].partition("-")
    assert int(start) <= length <= int(end or (length if dash else start))


def test_labels_of_lengths() -> None:
    assert LengthBuckets((10, 11, 20)).labels() == ["0-10", "11", "12-20", "21-"]
