"""The likeliest trees of words whose tags are independent: a search through all stacks, exact.

How many words wait on a stack is all that decides which tags may follow. Besides, a tree has one root: when that word
is read, all before it hang on it, at any depth, and it stays at the bottom of the stack from then on. So a state is a
depth, before the root or after it, and a tag leads from one to another (Viterbi).

Shapes: S sentences of n words, G tags.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from synmt.trees.arc_tokens import ROOT_RELATION
from synmt.trees.tags import Tag

Numbers = NDArray[np.float32]
Places = NDArray[np.int64]
BEFORE, AFTER = 0, 1  # the root


class TagSearch:
    """tags [G]: all that may be said of a word."""

    def __init__(self, tags: Sequence[Tag]) -> None:
        self.taken = np.array([tag.arcs for tag in tags])  # off the stack
        self.counts = sorted(set(self.taken.tolist()))
        is_root = np.array([tag.relation == ROOT_RELATION for tag in tags])
        to_the_right = np.array([tag.right > 0 for tag in tags])
        # What a tag leads from and to, whether alone or among others; after the root, a word cannot take it off the
        # stack, and so hangs on it where nothing else is left.
        self.moves = [
            (BEFORE, BEFORE, (True, True), ~is_root),
            (BEFORE, AFTER, (True, False), is_root & ~to_the_right),
            (AFTER, AFTER, (True, False), ~is_root & to_the_right),
            (AFTER, AFTER, (False, True), ~is_root),
        ]

    def trees(self, log_probabilities: Sequence[Numbers]) -> list[list[int] | None]:
        """Return the tags of the likeliest tree of each sentence, by [n,G] of it; None where no tags spell one."""
        lengths = np.array([len(each) for each in log_probabilities])
        padded = np.full((len(lengths), lengths.max(), len(self.taken)), -np.inf, np.float32)
        for row, each in zip(padded, log_probabilities, strict=True):
            row[: len(each)] = each
        bests = [self._best(padded, tags) for _, _, _, tags in self.moves]
        scores = np.full((len(lengths), 2, 1 + lengths.max()), -np.inf, np.float32)  # by depth
        scores[:, BEFORE, 0] = 0.0
        final, origins = np.full(len(lengths), -np.inf), []
        for word in range(lengths.max()):
            scores, origin = self._step(scores, [best[:, word] for best, _ in bests])
            origins.append(origin)
            final[lengths == word + 1] = scores[lengths == word + 1, AFTER, 1]
        return [
            self._way(row, length, origins, bests) if np.isfinite(final[row]) else None
            for row, length in enumerate(lengths.tolist())
        ]

    def _best(self, log_probabilities: Numbers, allowed: NDArray[np.bool_]) -> tuple[Numbers, Places]:
        """Return the best of some tags by how many words they take, and which one that is, [S,n,C] each."""
        size = (*log_probabilities.shape[:2], len(self.counts))
        best, chosen = np.full(size, -np.inf, np.float32), np.zeros(size, np.int64)
        for place, count in enumerate(self.counts):
            tags = (allowed & (self.taken == count)).nonzero()[0]
            if len(tags):
                chosen[:, :, place] = tags[log_probabilities[:, :, tags].argmax(axis=2)]
                best[:, :, place] = np.take_along_axis(log_probabilities, chosen[:, :, place, None], axis=2)[:, :, 0]
        return best, chosen

    def _step(self, scores: Numbers, bests: Sequence[Numbers]) -> tuple[Numbers, Places]:
        """Return the scores [S,2,D] after one more word, and by which move and tag's count each is reached.

        bests: of each move, [S,C].
        """
        new = np.full_like(scores, -np.inf)
        origins = np.full(scores.shape, -1, np.int64)
        for number, (start, goal, (alone, among_others), _) in enumerate(self.moves):
            for place, count in enumerate(self.counts):
                # The stack is one word deeper, less those taken.
                first, last = 1 if alone else 2, min(scores.shape[2], scores.shape[2] - count + 1)
                depths = slice(first, max(first, last if among_others else min(2, last)))
                found = scores[:, start, depths.start + count - 1 : depths.stop + count - 1]
                found = found + bests[number][:, place, None]
                better = found > new[:, goal, depths]
                np.copyto(new[:, goal, depths], found, where=better)
                np.copyto(origins[:, goal, depths], number * len(self.counts) + place, where=better)
        return new, origins

    def _way(
        self, row: int, length: int, origins: Sequence[Places], bests: Sequence[tuple[Numbers, Places]]
    ) -> list[int]:
        """Return the tags that lead to the end."""
        side, depth, tags = AFTER, 1, []
        for word in range(length - 1, -1, -1):
            number, place = divmod(int(origins[word][row, side, depth]), len(self.counts))
            tags.append(int(bests[number][1][row, word, place]))
            side, depth = self.moves[number][0], depth + self.counts[place] - 1
        return tags[::-1]
