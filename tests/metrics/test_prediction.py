import numpy as np
import pytest

from synmt.metrics.config import CATEGORIES
from synmt.metrics.links import Prediction, PredictionCategory, read_prediction
from synmt.text.links import read_links

FOUND = '{"links": [[0, 0, 0.9], [1, 1], [1, 2]], "predicted": [true, true, false, false], "target": ["ignored"]}'


def test_each_target_word_is_in_one_category() -> None:
    """Word 0 is predicted right and linked right, word 1 is predicted right with a wrong link, word 2 is predicted
    wrong with a possible link, and word 3 is predicted wrong without a link."""
    hypothesis, gold = read_prediction(FOUND), read_links("0-0 2-1 1p2 3-3")
    statistics = PredictionCategory("cPcA").statistics([hypothesis], [[gold]])
    assert statistics.tolist() == [[1, 1, 1, 1]]
    scores = [PredictionCategory(name).score(statistics.sum(axis=0)) for name in CATEGORIES]
    assert [score.score for score in scores] == [25, 25, 25, 25]
    assert scores[0].line.startswith("cPcA|words:4|synmt:")
    assert scores[0].line.endswith(" = 25.00 (1 words)")


def test_one_right_link_is_enough() -> None:
    hypothesis = Prediction(frozenset({(0, 0), (1, 0)}), (False,))
    assert PredictionCategory("wPcA").statistics([hypothesis], [[read_links("1p0")]]).tolist() == [[0, 1, 0, 0]]


def test_without_words_there_are_no_shares() -> None:
    assert read_prediction(" ") == read_prediction("{}") == Prediction()
    assert PredictionCategory("cPcA").scores(np.zeros((1, 4))).tolist() == [0]


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("{", "not JSON"),
        ("[]", 'needs "links"'),
        ('{"links": []}', 'needs "predicted"'),
        ('{"links": [0], "predicted": [true]}', "0 is not a link"),
        ('{"links": [[0]], "predicted": [true]}', r"\[0\] is not a link"),
        ('{"links": [[0, -1]], "predicted": [true]}', r"\[0, -1\] is not a link"),
        ('{"links": [[0.5, 0]], "predicted": [true]}', r"\[0.5, 0\] is not a link"),
        ('{"links": [[true, 0]], "predicted": [true]}', r"\[True, 0\] is not a link"),
        ('{"links": [[0, 0]], "predicted": [1]}', "true or false"),
        ('{"links": [[0, 1]], "predicted": [true]}', "a link to a word beyond the 1 target words"),
    ],
)
def test_invalid_predictions(line: str, cause: str) -> None:
    with pytest.raises(ValueError, match=cause):
        read_prediction(line)


def test_references_of_another_sentence() -> None:
    with pytest.raises(ValueError, match="a reference link to a word beyond the 1 target words"):
        PredictionCategory("cPcA").statistics([Prediction(predicted=(True,))], [[read_links("0-1")]])
