"""Buckets of sentences by their length."""

from bisect import bisect_left
from dataclasses import dataclass


@dataclass(frozen=True)
class LengthBuckets:
    """limits: the greatest length of each bucket but the last, which has none; ascending."""

    limits: tuple[int, ...]

    def bucket(self, length: int) -> int:
        """Return the index of the bucket of sentences of that length."""
        return bisect_left(self.limits, length)

    def labels(self) -> list[str]:
        """Return the names of the buckets, for 10 and 20 `0-10`, `11-20`, `21-`."""
        starts = (0, *(limit + 1 for limit in self.limits))
        return [f"{start}-{end}" for start, end in zip(starts, (*self.limits, ""), strict=True)]
