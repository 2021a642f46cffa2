import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from synmt.metrics.config import MetricConfig
from synmt.metrics.metric import corpus_score
from synmt.metrics.translations import SacreBleuMetric, bleu, chrf, chrf_plus, chrf_plus_plus, ter

HYPOTHESES = ["The cat sat on the mat.", "", "hello, world", "He is my father."]
REFERENCES = [
    ["The cat is on the mat.", "So it is.", "Hello, World!", "He is my father."],
    ["A cat sat on a mat.", "Yes.", "hello world", "This is my father ."],
]
SENTENCES = st.lists(st.sampled_from(["the", "The", "cat", "sat", ".", ",", "father"]), max_size=8).map(" ".join)


def test_bleu_equals_sacrebleu() -> None:
    expected = sacrebleu.metrics.BLEU().corpus_score(HYPOTHESES, REFERENCES)
    result = corpus_score(bleu(), HYPOTHESES, REFERENCES)
    assert result.name == "BLEU"
    assert result.score == expected.score > 0
    assert result.signature.startswith("nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert result.line == f"BLEU|{result.signature} = " + str(expected).removeprefix("BLEU = ")


@pytest.mark.parametrize(("order", "name"), [(0, "chrF2"), (1, "chrF2+"), (2, "chrF2++")])
def test_chrf_equals_sacrebleu(order: int, name: str) -> None:
    expected = sacrebleu.metrics.CHRF(word_order=order).corpus_score(HYPOTHESES, REFERENCES)
    result = corpus_score(chrf(word_order=order), HYPOTHESES, REFERENCES)
    assert (result.name, result.score) == (name, expected.score)


def test_case_and_tokenization_equal_sacrebleu() -> None:
    expected = sacrebleu.metrics.BLEU(tokenize="none", lowercase=True).corpus_score(HYPOTHESES, REFERENCES)
    result = corpus_score(bleu(MetricConfig("none", "lower")), HYPOTHESES, REFERENCES)
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


def test_empty_hypotheses_score_zero() -> None:
    for metric in (bleu(), chrf()):
        assert corpus_score(metric, ["", ""], [["a b", "c"]]).score == 0


def test_ter_equals_sacrebleu() -> None:
    expected = sacrebleu.metrics.TER().corpus_score(HYPOTHESES, REFERENCES)
    result = corpus_score(ter(), HYPOTHESES, REFERENCES)
    assert result.score == expected.score > 0
    assert result.signature.startswith("nrefs:2|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:")
    with_case = corpus_score(ter(MetricConfig(case="mixed")), HYPOTHESES, REFERENCES)
    assert with_case.score == sacrebleu.metrics.TER(case_sensitive=True).corpus_score(HYPOTHESES, REFERENCES).score
    assert "case:mixed" in with_case.signature
    assert [metric.higher_is_better for metric in (bleu(), chrf(), ter())] == [True, True, False]


def test_both_averages_of_chrf() -> None:
    """The first is chrF+ of Choshen & Abend, computed by the script chrF++.py with one word order and beta 3."""
    pair = ["the group aimed at the plan"], [["the group to which the plan is aimed"]]
    script = corpus_score(chrf_plus(MetricConfig(chrf_beta=3, chrf_average="script")), *pair)
    assert script.score == pytest.approx(50.238545, abs=5e-7)
    assert (script.name, script.signature[:31]) == ("chrF3+", "nrefs:1|case:mixed|eff:no|nc:6|")
    sacre = corpus_score(chrf_plus(MetricConfig(chrf_beta=3)), *pair)
    assert sacre.score == pytest.approx(50.239924, abs=5e-7)
    assert sacre.signature.startswith("nrefs:1|case:mixed|eff:yes|nc:6|")
    assert corpus_score(chrf(MetricConfig(chrf_beta=3)), *pair).score == pytest.approx(47.929389, abs=5e-7)


def test_bleu_of_the_specification() -> None:
    hypotheses, references = (
        ["The dog, it barked at me.", "Good day to them"],
        ["The dog barked at me.", "Good day to you"],
    )
    line = corpus_score(bleu(), hypotheses, [references]).line
    assert line.endswith(" = 40.95 75.0/60.0/37.5/16.7 (BP = 1.000 ratio = 1.200 hyp_len = 12 ref_len = 10)")


def test_unavailable_tokenizations() -> None:
    with pytest.raises(ValueError, match="tokenize cannot be '14b'"):
        bleu(MetricConfig("14b"))  # type: ignore[arg-type]


@pytest.mark.parametrize("metric", [bleu(), chrf_plus_plus(), chrf_plus(MetricConfig(chrf_average="script")), ter()])
def test_many_corpora_are_scored_like_single_ones(metric: SacreBleuMetric) -> None:
    statistics = metric.statistics(HYPOTHESES, REFERENCES)
    assert metric.scores(statistics).tolist() == [metric.score(row).score for row in statistics]
