"""Compounds, cut into the words that they are made of (see idea.py).

Koehn & Knight (2003), "Empirical Methods for Compound Splitting", EACL. No list of words is needed: a word is cut where
the geometric mean of how often its parts have been seen is greater than how often it has been seen itself. Of several
ways to cut it, the one with the greatest mean is taken. Letters that join words stay with the word before them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import log

JOINING = "s", "n", "es", "en", "-"  # of German and its kin; a hyphen is everyone's
LEAST_COUNT = 3  # of a part
MOST_PARTS = 3
LONGEST = 100  # letters of a word that is cut
UNSEEN = 0.5  # how often a word has been seen that has not been

Parts = tuple[str, ...]


@dataclass(frozen=True)
class Compounds:
    """The words of one side. counts: how often each has been seen; letters: of a part, at least; 0 leaves all words
    whole; parts: those of each known word."""

    counts: Mapping[str, float]
    letters: int
    parts: dict[str, Parts] = field(default_factory=dict)

    @classmethod
    def learn(cls, counts: Mapping[str, float], letters: int) -> "Compounds":
        """Cut all words."""
        compounds = cls(counts, letters)
        compounds.parts.update((word, compounds.cut(word)) for word in counts)
        return compounds

    def of(self, word: str) -> Parts:
        """Return the parts of a word, of which it is the sum."""
        return self.parts.get(word) or self.cut(word)

    def counts_of_parts(self) -> dict[str, float]:
        """Return how often each part has been seen in the known words."""
        counts: dict[str, float] = {}
        for word, parts in self.parts.items():
            for part in parts:
                counts[part] = counts.get(part, 0) + self.counts[word]
        return counts

    def cut(self, word: str) -> Parts:
        """Return the best way to cut a word, which may be not to."""
        best: Parts = (word,)
        most = log(self.counts.get(word, UNSEEN))
        if self.letters and 2 * self.letters <= len(word) <= LONGEST:
            for parts, total in self._ways(word, MOST_PARTS):
                if total / len(parts) > most:
                    best, most = parts, total / len(parts)
        return best

    def _ways(self, word: str, most: int) -> Iterator[tuple[Parts, float]]:
        """Yield ways to cut a word into at most so many known parts, each with the sum of the logarithms of counts."""
        if (count := self.counts.get(word, 0)) >= LEAST_COUNT:
            yield (word,), log(count)
        if most == 1:
            return
        for place in range(self.letters, len(word) - self.letters + 1):
            part = word[:place]
            if (count := self._joined(part)) >= LEAST_COUNT:
                for parts, total in self._ways(word[place:], most - 1):
                    yield (part, *parts), log(count) + total

    def _joined(self, part: str) -> float:
        """Return how often a part has been seen, with or without letters that join it to the next one."""
        whole = self.counts.get(part, 0)
        if whole >= LEAST_COUNT:
            return whole
        shorter = (part.removesuffix(letters) for letters in JOINING if part.endswith(letters))
        return max((self.counts.get(each, 0) for each in shorter if len(each) >= self.letters), default=0)
