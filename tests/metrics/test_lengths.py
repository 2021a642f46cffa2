import pytest
from hypothesis import given
from hypothesis import strategies as st

from synmt.metrics.lengths import LengthBuckets, words_of
from synmt.trees.record import RecordError


@given(st.lists(st.integers(1, 50), min_size=1, unique=True).map(sorted), st.integers(0, 60))
def test_a_length_is_in_the_bucket_whose_label_says_so(limits: list[int], length: int) -> None:
    buckets = LengthBuckets(tuple(limits))
    start, end = buckets.labels()[buckets.bucket(length)].split("-")
    assert int(start) <= length <= int(end or length)


def test_labels() -> None:
    assert LengthBuckets((10, 20)).labels() == ["0-10", "11-20", "21-"]


def test_words_of_text_and_records() -> None:
    lines = ["", " a  b ", "{ a", "{}", '{"tokens": ["a", "b", "c"]}', '{"tree": "(NP (DT the) (NN dog))"}']
    assert [words_of(line) for line in lines] == [0, 2, 2, 0, 3, 2]
    with pytest.raises(RecordError):
        words_of('{"tokens": 1}')
