"""The features of words and arcs from which a grammar learns.

A feature combines several properties of one or two words in one hashed number (Weinberger, Dasgupta, Langford, Smola &
Attenberg 2009, "Feature Hashing for Large Scale Multitask Learning", ICML). The features of arcs follow McDonald,
Crammer & Pereira (2005), "Online Large-Margin Training of Dependency Parsers", ACL: both words, their neighbours, and
the words between them.

Shapes: n words, k features.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synmt.projection.votes import is_mark
from synmt.trees.dependency import UNKNOWN

Codes = NDArray[np.uint64]  # of properties, or of several combined
NOWHERE = np.uint64(0)  # code of a missing neighbour, before the first or after the last word
ENDINGS = 1, 2, 3, 4  # letters
BEGINNING = 3
DISTANCES = np.array([0, 1, 2, 3, 4, 4, 5, 5, 5, 5, 6])  # group of each distance; longer distances get the last group
VERBS, NOUNS, CONJUNCTIONS = ("VERB", "AUX"), ("NOUN", "PROPN", "PRON"), ("SCONJ", "CCONJ")
ROOT = "ROOT"  # as a word and its tag
FACTOR, SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)


def code(text: str) -> int:
    return zlib.crc32(text.encode())


def crossed(*columns: Codes | int) -> Codes:
    """Combine columns in one; the first may identify the kind of feature."""
    found = np.full(1, len(columns), np.uint64)
    for column in columns:
        found = (found ^ np.asarray(column, np.uint64)) * FACTOR
        found = found ^ (found >> SHIFT)
    return found


@dataclass(frozen=True, slots=True)
class WordFeatures:
    """The words of a sentence. forms, beginnings, shapes: [n]; endings: [4,n]; marks: whether punctuation, [n]."""

    forms: Codes
    beginnings: Codes
    endings: Codes
    shapes: Codes
    marks: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.forms)


def words_of(tokens: Sequence[str]) -> WordFeatures:
    """Return the properties of the tokens of a sentence. Case only affects the shape."""
    forms = [token.lower() for token in tokens]
    marks = [is_mark(token) for token in tokens]
    starts = [not place or marks[place - 1] for place in range(len(tokens))]  # where any word may be capitalized
    return WordFeatures(
        _codes(forms),
        _codes([form[:BEGINNING] for form in forms]),
        np.stack([_codes([form[-letters:] for form in forms]) for letters in ENDINGS]),
        np.array([_shape(*each) for each in zip(tokens, marks, starts, strict=True)], np.uint64),
        np.array(marks, np.bool_),
    )


def _codes(texts: Sequence[str]) -> Codes:
    return np.array([code(text) for text in texts], np.uint64)


def _shape(token: str, mark: bool, start: bool) -> int:
    kind = 1 if mark else 2 if token[0].isdigit() else 3 if token[0].isupper() else 4
    return 2 * kind + start


def _moved(column: Codes, steps: int) -> Codes:
    """Return for each word the code of the word `steps` positions after it, or before it if `steps` is negative."""
    padded = np.pad(column, abs(steps), constant_values=NOWHERE)
    return padded[abs(steps) + steps :][: len(column)]


def _features(columns: Sequence[tuple[Codes | int, ...]], shape: tuple[int, ...]) -> Codes:
    """Return features, [*shape,k], from columns that broadcast to the shape."""
    found = np.empty((*shape, len(columns)), np.uint64)
    for number, column in enumerate(columns):
        found[..., number] = crossed(number, *column)
    return found


def tag_features(words: WordFeatures) -> Codes:
    """Return the features of each word for its part of speech, [n,k]."""
    form, shape, (one, two, three, four) = words.forms, words.shapes, words.endings
    before, after = _moved(form, -1), _moved(form, 1)
    columns: list[tuple[Codes | int, ...]] = [
        (form,), (before,), (after,), (before, form), (form, after),
        (one, shape), (two, shape), (three, shape), (four, shape), (words.beginnings, shape),
        (_moved(three, 1), shape), (_moved(three, -1), shape), (three, _moved(three, 1)), (three, _moved(three, -1)),
        (_moved(shape, -1), shape, _moved(shape, 1)),
    ]  # fmt: skip
    return _features(columns, (len(words),))


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    """Words and their parts of speech, preceded by the root: forms, endings (of 3 letters), tags: [n+1]."""

    words: WordFeatures
    forms: Codes
    endings: Codes
    tags: Codes

    def between(self, tags: Sequence[str], most: int) -> Codes:
        """Return the number of words with these tags between head and word, up to `most`, [n+1,n]."""
        return self._between(np.isin(self.tags, _codes(tags)), most)

    def marks_between(self, most: int) -> Codes:
        return self._between(np.concatenate([[False], self.words.marks]), most)

    def _between(self, counted: NDArray[np.bool_], most: int) -> Codes:
        until = counted.cumsum()
        head, word = np.ogrid[: len(counted), 1 : len(counted)]
        counts = until[np.maximum(head, word) - 1] - until[np.minimum(head, word)]
        return np.clip(counts, 0, most).astype(np.uint64)


def sentence(words: WordFeatures, tags: Sequence[str]) -> TaggedSentence:
    root = np.array([code(ROOT)], np.uint64)
    parts = words.forms, words.endings[2], _codes([tag or UNKNOWN for tag in tags])
    return TaggedSentence(words, *(np.concatenate([root, part]) for part in parts))


def directions(n: int) -> Codes:
    """Return whether the head precedes the word (0), follows it (1) or is the root (2), [n+1,n]."""
    head, word = np.ogrid[: n + 1, 1 : n + 1]
    return np.where(head == 0, 2, head > word).astype(np.uint64)


def distances(n: int) -> Codes:
    """Return the group of the distance between head and word, combined with the direction, [n+1,n]."""
    head, word = np.ogrid[: n + 1, 1 : n + 1]
    groups = DISTANCES[np.minimum(abs(head - word), len(DISTANCES) - 1)] * (head > 0)
    return (groups * 3).astype(np.uint64) + directions(n)


def arc_features(seen: TaggedSentence) -> Codes:
    """Return the features of each arc, [n+1,n,k]; row 0 is the root."""
    n = len(seen.words)
    head, its_tag, its_ending = seen.forms[:, None], seen.tags[:, None], seen.endings[:, None]
    word, tag, ending = seen.forms[None, 1:], seen.tags[None, 1:], seen.endings[None, 1:]
    before, after = _moved(seen.tags, -1), _moved(seen.tags, 1)
    way, far = directions(n), distances(n)
    both = crossed(its_tag, tag, way)
    verbs, nouns, marks = seen.between(VERBS, 2), seen.between(NOUNS, 3), seen.marks_between(2)
    conjunctions = seen.between(CONJUNCTIONS, 1)
    inside = crossed(verbs, marks, conjunctions)
    columns: list[tuple[Codes | int, ...]] = [
        (its_tag, tag, far), (tag, far), (word, far), (head, way), (head, word, way),
        (its_tag, word, way), (head, tag, way), (its_tag, ending, far), (its_ending, tag, far),
        (its_ending, ending, way),
        (both, after[:, None], before[None, 1:]), (both, before[:, None], after[None, 1:]),
        (both, after[:, None], after[None, 1:]), (both, before[:, None], before[None, 1:]),
        (both, verbs, marks), (both, nouns), (both, conjunctions, marks), (both, nouns, verbs, marks),
        (word, inside, way), (its_tag, word, nouns, way), (tag, inside, nouns, way),
    ]  # fmt: skip
    return _features(columns, (n + 1, n))


def relation_features(seen: TaggedSentence, heads: NDArray[np.int64], words: NDArray[np.int64]) -> Codes:
    """Return the features of arcs for their relations, [m,k]. heads, words: [m], from 1; head 0 is the root."""
    before, after = _moved(seen.tags, -1), _moved(seen.tags, 1)
    head, its_tag = seen.forms[heads], seen.tags[heads]
    word, tag, ending = seen.forms[words], seen.tags[words], seen.endings[words]
    way, far = (grid[heads, words - 1] for grid in (directions(len(seen.words)), distances(len(seen.words))))
    both = crossed(its_tag, tag, way)
    columns: list[tuple[Codes | int, ...]] = [
        (both,), (word, way), (its_tag, word, way), (word, tag), (head, tag, way), (its_tag, ending, way),
        (head, word, way), (its_tag, tag, far), (both, before[words], after[words]), (both, after[heads]),
        (both, _moved(seen.forms, -1)[words]), (its_tag, _moved(seen.endings, -1)[words], ending, way),
    ]  # fmt: skip
    return _features(columns, (len(heads),))
