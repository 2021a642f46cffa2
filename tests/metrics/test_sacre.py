import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from synmt.metrics.metric import corpus_score, stream_scores
from synmt.metrics.sacre import SacreBleuMetric, bleu, chrf, sacre_metric

HYPOTHESES = ["The cat sat on the mat.", "", "hello, world", "He is my father."]
REFERENCES = [
    ["The cat is on the mat.", "So it is.", "Hello, World!", "He is my father."],
    ["A cat sat on a mat.", "Yes.", "hello world", "This is my father ."],
]
SENTENCES = st.lists(st.sampled_from(["the", "The", "cat", "sat", ".", ",", "father"]), max_size=8).map(" ".join)


def test_bleu_is_sacrebleus() -> None:
    expected = sacrebleu.metrics.BLEU().corpus_score(HYPOTHESES, REFERENCES)
    result = corpus_score(bleu(), HYPOTHESES, REFERENCES)
    assert result.name == "BLEU"
    assert result.score == expected.score > 0
    assert result.signature.startswith("nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert result.line == f"BLEU|{result.signature} = " + str(expected).removeprefix("BLEU = ")


@pytest.mark.parametrize(("order", "name"), [(0, "chrF2"), (1, "chrF2+"), (2, "chrF2++")])
def test_chrf_is_sacrebleus(order: int, name: str) -> None:
    expected = sacrebleu.metrics.CHRF(word_order=order).corpus_score(HYPOTHESES, REFERENCES)
    result = corpus_score(chrf(order), HYPOTHESES, REFERENCES)
    assert (result.name, result.score) == (name, expected.score)


def test_case_and_tokenization_are_sacrebleus() -> None:
    expected = sacrebleu.metrics.BLEU(tokenize="none", lowercase=True).corpus_score(HYPOTHESES, REFERENCES)
    result = corpus_score(bleu("none", lowercase=True), HYPOTHESES, REFERENCES)
    assert result.score == expected.score
    assert "case:lc" in result.signature
    assert "tok:none" in result.signature


@pytest.mark.parametrize("metric", [bleu(), chrf()])
@settings(max_examples=25)
@given(st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=6), st.integers(0, 6))
def test_a_corpus_is_the_sum_of_its_parts(metric: SacreBleuMetric, pairs: list[tuple[str, str]], cut: int) -> None:
    hypotheses, references = map(list, zip(*pairs, strict=True))
    whole = metric.statistics(hypotheses, [references])
    assert len(whole) == len(pairs)
    parts = [metric.statistics([hypothesis], [[reference]]) for hypothesis, reference in pairs]
    assert (np.concatenate(parts) == whole).all()
    assert metric.score(whole.sum(axis=0)) == metric.score(whole[:cut].sum(axis=0) + whole[cut:].sum(axis=0))


def test_streams_of_many_windows_score_as_one_corpus() -> None:
    rows = [(f"a b {n} d e f", f"a b c {n} e f", f"a b {n % 7} d e f g") for n in range(2345)]
    scores = stream_scores([bleu(), chrf()], iter(rows), systems=2)
    columns = [list(column) for column in zip(*rows, strict=True)]
    for system in range(2):
        for place, metric in enumerate((bleu(), chrf())):
            assert scores[system][place] == corpus_score(metric, columns[system], columns[2:])


def test_no_lines_have_no_score() -> None:
    with pytest.raises(ValueError, match="no lines to score"):
        stream_scores([bleu()], [], systems=1)


def test_empty_hypotheses_score_nothing() -> None:
    for metric in (bleu(), chrf()):
        assert corpus_score(metric, ["", ""], [["a b", "c"]]).score == 0


def test_metrics_by_name() -> None:
    names = {name: sacre_metric(name) for name in ("bleu", "chrf", "chrf+", "chrf++")}
    found = [corpus_score(metric, ["a b c d"], [["a b c d"]]).name for metric in names.values()]
    assert found == ["BLEU", "chrF2", "chrF2+", "chrF2++"]
    with pytest.raises(ValueError, match="no metric is called bertscore"):
        sacre_metric("bertscore")
    with pytest.raises(ValueError, match="tokenization 14b"):
        bleu("14b")
