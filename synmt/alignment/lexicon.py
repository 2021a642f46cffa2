"""Which words were linked with which, as a table."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from synmt.model.files import naming, write_aside
from synmt.streams import BadInput
from synmt.text.links import Link

HEADER = "source\ttarget\tcount\tp(target|source)\tp(source|target)"


class Lexicon:
    """Counts links between words; probabilities are shares of the links of a word."""

    def __init__(self, path: Path) -> None:
        """Raise BadInput where no file can be written."""
        if not path.parent.is_dir() or path.is_dir():
            raise BadInput("no file can be written there", str(path))
        self.path = path
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._sources: Counter[str] = Counter()
        self._targets: Counter[str] = Counter()

    def add(self, source: list[str], target: list[str], links: Iterable[Link]) -> None:
        """Count the links of a pair of sentences."""
        for i, j in links:
            self._pairs[source[i], target[j]] += 1
            self._sources[source[i]] += 1
            self._targets[target[j]] += 1

    def rows(self) -> Iterator[str]:
        """Yield a header, and a row for each pair of words, the most frequent first."""
        yield HEADER
        for (source, target), count in sorted(self._pairs.items(), key=lambda each: (-each[1], each[0])):
            yield (
                f"{source}\t{target}\t{count}\t{count / self._sources[source]:.6f}\t{count / self._targets[target]:.6f}"
            )

    def write(self) -> None:
        """Write the table to its file. Raises BadInput."""
        with naming(self.path):
            write_aside(self.path, "".join(f"{row}\n" for row in self.rows()).encode())
