from hypothesis import given
from hypothesis import strategies as st

from synmt.metrics.reading import LengthBuckets


@given(st.lists(st.integers(1, 50), min_size=1, unique=True).map(sorted), st.integers(0, 60))
def test_lengths_fall_into_the_bucket_with_their_label(limits: list[int], length: int) -> None:
    buckets = LengthBuckets(tuple(limits))
    start, end = buckets.labels()[buckets.bucket(length)].split("-")
    assert int(start) <= length <= int(end or length)


def test_labels() -> None:
    assert LengthBuckets((10, 20)).labels() == ["0-10", "11-20", "21-"]
