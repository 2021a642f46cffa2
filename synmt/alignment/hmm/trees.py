"""Inside–outside over the places that the words of a target come from, where each depends on its head (see idea.py).

Shapes: B pairs of I target and J source words, padded.
"""

from dataclasses import dataclass

import numpy as np

from synmt.alignment.hmm.chains import Floats, JumpCounts, Moves, Numbers, Posteriors, columns, rows

NEAR, FAR = 3, 8  # words
# what a word is to another: itself; a dependent, head or sibling before or after it; a dependent's dependent or the
# head's head; another word that is near, far or farther
FIRST_WEIGHTS = 1, 6, 6, 1, 1, 1, 1, 0.5, 0.3, 0.3, 0.1, 0.05
TINY = np.float32(1e-37)


def relations(heads: Numbers) -> Numbers:
    """Return what each word k is to each word j, [B,J,J], by its place in FIRST_WEIGHTS.

    heads [B,J]: −1 of a root, and where padded.
    """
    words = np.arange(heads.shape[1])
    distance = np.broadcast_to(words[None, :] - words[:, None], (len(heads), len(words), len(words)))
    after = (distance > 0).astype(np.intp)
    above = _heads_of(heads, heads)
    head, grandhead = (each[:, :, None] == words for each in (heads, above))  # k is that of j
    sibling = (heads[:, :, None] == heads[:, None, :]) & (heads >= 0)[:, :, None]
    return np.select(
        [distance == 0, head.transpose(0, 2, 1), head, sibling, grandhead.transpose(0, 2, 1), grandhead],
        [0, 1 + after, 3 + after, 5 + after, 7, 8],
        default=9 + (np.abs(distance) > NEAR) + (np.abs(distance) > FAR),
    )


def _heads_of(words: Numbers, heads: Numbers) -> Numbers:
    """Return the heads [B,J] of words [B,J]; −1 of none."""
    return np.where(words < 0, -1, np.take_along_axis(heads, words.clip(0), axis=1))


def upwards(heads: Numbers) -> Numbers:
    """Return words in an order in which all dependents come before their heads, [B,I]."""
    depth, above = np.zeros_like(heads), heads
    while (above >= 0).any():
        depth += above >= 0
        above = _heads_of(above, heads)
    return np.argsort(-depth, axis=1, kind="stable")


@dataclass
class Trees:
    """Targets of pairs of similar lengths, in which each word depends on where its head comes from.

    likely [B,I,J]: (1 − p₀) t(y_i | x_j), 0 where padded; unlinked [B,I]: p₀ t(y_i | no word), 1 where padded;
    start [B,J]: p(j) of a root; heads [B,I]: −1 of a root, and where padded.
    """

    moves: Moves
    likely: Floats
    unlinked: Floats
    start: Floats
    heads: Numbers

    def posteriors(self) -> tuple[Posteriors, JumpCounts]:
        """Return what the pairs say."""
        batch, length, size = self.likely.shape
        pairs, order = np.arange(batch), upwards(self.heads)
        heads = np.where(self.heads < 0, length, self.heads)  # above the roots is a word that nothing is made of
        inside, message, belief = np.ones((3, batch, length + 1, size), np.float32)
        likelihood = 0.0
        for words in order.T:
            above = heads[pairs, words]
            none = self.unlinked[pairs, words, None] * inside[pairs, words]
            arrived = self.likely[pairs, words] * inside[pairs, words]
            root = above == length
            likelihood += float(np.log((self.start * (arrived + none)).sum(axis=1)[root]).sum())
            sent = columns(self.moves.likely, arrived) + none
            message[pairs, words], scale = _scaled(sent)
            inside[pairs, above], more = _scaled(inside[pairs, above] * message[pairs, words])
            likelihood += float((scale + more)[~root].sum())
        links, unlinked = np.empty_like(self.likely), np.empty_like(self.unlinked)
        before, arrivals = np.zeros((2, batch, length, size), np.float32)
        for words in order.T[::-1]:
            above = heads[pairs, words]
            root = (above == length)[:, None]
            state = np.where(root, self.start, belief[pairs, above] / np.maximum(message[pairs, words], TINY))
            arrived = self.likely[pairs, words] * inside[pairs, words]
            linked = np.where(root, state, rows(state, self.moves.likely)) * arrived
            stayed = state * self.unlinked[pairs, words, None] * inside[pairs, words]
            total = np.maximum((linked + stayed).sum(axis=1, keepdims=True), TINY)
            links[pairs, words], unlinked[pairs, words] = linked / total, (stayed / total).sum(axis=1)
            belief[pairs, words] = (linked + stayed) / total
            before[pairs, words], arrivals[pairs, words] = np.where(root, 0, state / total), arrived
        return Posteriors(links, unlinked, likelihood), self.moves.counts(before, arrivals)


def _scaled(states: Floats) -> tuple[Floats, Floats]:
    """Return states [B,J] of which the greatest is 1, and the logarithm of what they were divided by, [B]."""
    most = states.max(axis=1, keepdims=True)
    return states / most, np.log(most[:, 0])
