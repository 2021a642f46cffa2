"""Word links from the output of a method: soft weights over subwords, or links of both directions.

Chen, Sun & Liu (2021), "Mask-Align: Self-Supervised Neural Word Alignment", ACL, section 2.3: the score of a pair
of subwords is the harmonic mean of its weights in both directions, and two words are linked if a pair of their subwords
reaches a threshold. If the weights are probabilities, the plain mean keeps links of which only one direction is sure:
two words that share one counterpart each get half of its weight. The older way picks the best subword for each subword,
in each direction, and symmetrizes.

Symmetrization merges the links of both directions into one set. forward: links from a model of the target given the
source, at most one source word per target word; backward: links from the reverse model. Both are (source, target).
Some heuristics exist in variants, and published error rates depend on the variant:

- `grow-diag`, `grow-diag-final`, `grow-diag-final-and`: Och & Ney (2003), Koehn et al. (2005), as in Moses' symal.
  A neighbour of a link is added if it is in the union and *either* of its words is still unaligned; targets are
  scanned first. Then `final` adds the links of one direction after the other if either word is unaligned, and
  `final-and` if both are.
- `grow-diag-lilt`: as in the scripts of Zenkel, Wuebker & DeNero (2019), which Mask-Align also uses. *Both* words
  must be unaligned; sources are scanned first.

Shapes: J source and I target subwords of m source and n target words.
"""

from bisect import insort
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from synmt.alignment.config import Heuristic, Symmetrization
from synmt.data.records import SentencePair
from synmt.metrics.reliability import tempered
from synmt.text.links import DirectedLinks, Link
from synmt.text.tokenization import is_punctuation

Weights = NDArray[np.float32]
HARMONIC_THRESHOLD = 0.2
MEAN_THRESHOLD = 0.45  # tuned on 44 hand-aligned pairs
FINAL: dict[Symmetrization, int] = {"grow-diag-final": 1, "grow-diag-final-and": 2}  # unaligned words per link
NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


@dataclass(frozen=True, slots=True)
class SoftLinks:
    """forward [J,I]: how much target subword i attends to source subword j, or to its word, from 0 to 1;
    backward [J,I]: how much source subword j attends to target subword i, or to its word.

    source_words [J], target_words [I]: index of each subword's word, ascending; every word has a subword.
    threshold: the default for the harmonic mean above which a pair is a link.
    """

    forward: Weights
    backward: Weights
    source_words: Sequence[int]
    target_words: Sequence[int]
    threshold: float = HARMONIC_THRESHOLD


@dataclass(frozen=True)
class Extraction:
    """How links are chosen.

    heuristic: `harmonic` or `mean`, or how the links of both directions are merged.
    threshold: least mean of a link, or with other heuristics the weight that a direction's best subword must exceed;
    None: MEAN_THRESHOLD, the threshold that comes with the weights, or 0.
    end_punctuation: if a source ends in a punctuation mark, link it only to the punctuation mark at the end of the
    target, if any (Chen et al. 2020, "Accurate Word Alignment Induction from Neural Machine Translation", EMNLP).
    """

    heuristic: Heuristic = "harmonic"
    threshold: float | None = None
    end_punctuation: bool = False


@dataclass(frozen=True, slots=True)
class ExtractedLinks:
    """links: each with its score, from 0 to 1; scores [m,n]: of all pairs of words."""

    links: dict[Link, float]
    scores: Weights

    @property
    def confidence(self) -> float:
        """Return the best score of each word, averaged over all words of both sides; 0 if one side is empty."""
        if not self.scores.size:
            return 0.0
        return float((self.scores.max(axis=0).sum() + self.scores.max(axis=1).sum()) / sum(self.scores.shape))

    def tempered(self, temperature: float) -> "ExtractedLinks":
        """Return the same links with softened scores: the higher the temperature, the less confident."""
        return replace(self, scores=tempered(self.scores, temperature).astype(np.float32)).with_links(self.links.keys())

    def with_links(self, more: Set[Link]) -> "ExtractedLinks":
        """Return a copy with additional links, each with the score of its words."""
        links = {link: float(self.scores[link]) for link in sorted(self.links.keys() | more)}
        return replace(self, links=links)


def extract(
    given: SoftLinks | DirectedLinks, source: Sequence[str], target: Sequence[str], how: Extraction
) -> ExtractedLinks:
    """Return the links between the words of a source and a target. Neither is empty.

    The score of a link is the harmonic or plain mean of its weights; for hard links without scores, it is the share of
    directions that contain the link. Raises ValueError for a mean of hard links, and for weights that are not finite.
    """
    if isinstance(given, SoftLinks) and not (np.isfinite(given.forward).all() and np.isfinite(given.backward).all()):
        raise ValueError("this aligner computes weights that are not finite")
    scores = np.minimum(word_scores(given, len(source), len(target), how.heuristic), np.float32(1))
    last = len(source) - 1, len(target) - 1
    drop_last = how.end_punctuation and is_punctuation(source[-1])
    if how.heuristic == "harmonic" or how.heuristic == "mean":
        if isinstance(given, DirectedLinks):
            raise ValueError("only links with weights have a mean")
        usual = given.threshold if how.heuristic == "harmonic" else MEAN_THRESHOLD
        reached = scores >= (usual if how.threshold is None else how.threshold)
        if drop_last:
            reached[last[0]] = False
        links = set(zip(*(axis.tolist() for axis in reached.nonzero()), strict=True))
    else:
        considered = _without_source_word(given, last[0]) if drop_last else given
        links = symmetrize(*directions(considered, how.threshold or 0.0), how.heuristic)
    if drop_last and is_punctuation(target[-1]):
        links.add(last)
    return ExtractedLinks({}, scores).with_links(links)


def word_scores(
    given: SoftLinks | DirectedLinks, source_words: int, target_words: int, heuristic: Heuristic = "harmonic"
) -> Weights:
    """Return for each pair of words the best mean of their subwords [m,n]: plain if the heuristic is `mean`, otherwise
    harmonic. For hard links the score is 1 if both directions contain the link, 0.5 if one does, otherwise 0; or the
    score that comes with them."""
    if isinstance(given, DirectedLinks):
        scores = np.zeros((source_words, target_words), np.float32)
        if given.scores is not None:
            for link, score in given.scores.items():
                scores[link] = score
            return scores
        for links in (given.forward, given.backward):
            for link in links:
                scores[link] += 0.5
        return scores
    if heuristic == "mean":
        subwords = (given.forward + given.backward) / np.float32(2)
    else:
        subwords = harmonic_mean(given.forward, given.backward)
    return of_words(subwords, given.source_words, given.target_words)


def harmonic_mean(forward: Weights, backward: Weights) -> Weights:
    """Return 2fb / (f + b), or 0 if both are 0."""
    total = forward + backward
    mean: Weights = np.divide(2 * forward * backward, total, out=np.zeros_like(total), where=total > 0)
    return mean


def of_words(scores: Weights, source_words: Sequence[int], target_words: Sequence[int]) -> Weights:
    """Return the highest score of any two subwords of two words: […,J,I] → […,m,n]"""
    for axis, words in ((-2, source_words), (-1, target_words)):
        if len(words) > words[-1] + 1:  # some word has several subwords
            starts = np.append(0, 1 + np.flatnonzero(np.diff(words)))
            scores = np.maximum.reduceat(scores, starts, axis=axis)
    return scores


def mean_of_words(pair: SentencePair, *given: SoftLinks | DirectedLinks) -> SoftLinks:
    """Return the mean of the weights of several aligners between words; the weight of a hard link is 1."""
    source, target = range(len(pair.source.tokens)), range(len(pair.target.tokens))
    forward, backward = np.mean([_of_directions(each, len(source), len(target)) for each in given], axis=0)
    return SoftLinks(forward, backward, source, target)


def _of_directions(given: SoftLinks | DirectedLinks, source_words: int, target_words: int) -> Weights:
    """Return the weights between words of each direction [2,m,n]."""
    if isinstance(given, SoftLinks):
        return of_words(np.stack((given.forward, given.backward)), given.source_words, given.target_words)
    weights = np.zeros((2, source_words, target_words), np.float32)
    for direction, links in zip(weights, (given.forward, given.backward), strict=True):
        for link in links:
            direction[link] = 1
    return weights


def directions(given: SoftLinks | DirectedLinks, threshold: float = 0.0) -> tuple[Set[Link], Set[Link]]:
    """Return the links of each direction; for weights, each subword's best one if it exceeds `threshold`."""
    if isinstance(given, DirectedLinks):
        return given.forward, given.backward
    best_source, best_target = given.forward.argmax(axis=0), given.backward.argmax(axis=1)
    forward = {
        (given.source_words[j], given.target_words[i])
        for i, j in enumerate(best_source.tolist())
        if given.forward[j, i] > threshold
    }
    backward = {
        (given.source_words[j], given.target_words[i])
        for j, i in enumerate(best_target.tolist())
        if given.backward[j, i] > threshold
    }
    return forward, backward


def _without_source_word(given: SoftLinks | DirectedLinks, word: int) -> SoftLinks | DirectedLinks:
    if isinstance(given, DirectedLinks):
        forward, backward = ({link for link in links if link[0] != word} for links in (given.forward, given.backward))
        return replace(given, forward=forward, backward=backward)
    others = (np.asarray(given.source_words) != word)[:, None]
    return replace(given, forward=given.forward * others, backward=given.backward * others)


def symmetrize(forward: Set[Link], backward: Set[Link], method: Symmetrization) -> set[Link]:
    if method == "forward" or method == "backward":
        return set(forward if method == "forward" else backward)
    if method == "intersection":
        return set(forward & backward)
    if method == "union":
        return set(forward | backward)
    if method == "grow-diag-lilt":
        return _grow(forward, backward, 2)
    forward, backward = _flipped(forward), _flipped(backward)
    links = _grow(forward, backward, 1)
    if unaligned := FINAL.get(method):
        _take_unaligned(links, forward, unaligned)
        _take_unaligned(links, backward, unaligned)
    return _flipped(links)


def _flipped(links: Set[Link]) -> set[Link]:
    return {(column, row) for row, column in links}


def _grow(forward: Set[Link], backward: Set[Link], unaligned: int) -> set[Link]:
    """Add links of the union to the intersection: neighbours of its links with at least `unaligned` unaligned words.

    Scans the links in order, repeatedly, until a pass adds nothing; links added behind the scan wait for the next pass.
    """
    union = forward | backward
    links = sorted(forward & backward)
    rows, columns = {row for row, _ in links}, {column for _, column in links}
    size = -1
    while size < len(links):
        size, place = len(links), 0
        while place < len(links):
            row, column = links[place]
            for down, right in NEIGHBOURS:
                new = row + down, column + right
                if new in union and (new[0] not in rows) + (new[1] not in columns) >= unaligned:
                    insort(links, new)
                    rows.add(new[0])
                    columns.add(new[1])
                    place += new < (row, column)
            place += 1
    return set(links)


def _take_unaligned(links: set[Link], direction: Set[Link], unaligned: int) -> None:
    """Add the links of one direction that have at least `unaligned` unaligned words, in order."""
    rows, columns = {row for row, _ in links}, {column for _, column in links}
    for row, column in sorted(direction):
        if (row not in rows) + (column not in columns) >= unaligned:
            links.add((row, column))
            rows.add(row)
            columns.add(column)
