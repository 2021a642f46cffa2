"""What is found out about words, once each: in a long text most are known."""

from collections.abc import Callable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")
MOST = 200_000  # answers that are kept; bounds the memory of a long stream


class Known(dict[K, V]):
    """Answers by what was asked; `find` gives one that is not known yet. A full one forgets them all."""

    def __init__(self, find: Callable[[K], V], most: int = MOST) -> None:
        self._find, self._most = find, most

    def __missing__(self, key: K) -> V:
        value = self._find(key)
        if len(self) >= self._most:
            self.clear()
        self[key] = value
        return value
