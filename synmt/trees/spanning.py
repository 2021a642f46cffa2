"""Maximum spanning trees: the tree over n words, with one root, whose arcs have the largest total score.

Any tree: Chu & Liu (1965) and Edmonds (1967), as used by McDonald, Pereira, Ribarov & Hajič (2005), "Non-Projective
Dependency Parsing using Spanning Tree Algorithms", HLT/EMNLP. Projective trees: Eisner (1996), "Three New Probabilistic
Models for Dependency Parsing", COLING.

Scores are [n+1,n+1], finite: row h, column m is the score of head h for word m, where 0 is the root. Column 0 and the
diagonal are not read.
"""

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]


def spanning_tree(scores: Scores, projective: bool) -> list[int]:
    """Return the head of each word, [n], exactly one of them 0."""
    if len(scores) == 1:
        return []
    return _projective(scores) if projective else _any(scores)


def _any(scores: Scores) -> list[int]:
    # A second root costs more than any two trees can differ by, so the best tree has one root.
    words = scores[:, 1:]
    cost = 1 + (words.max(axis=0) - words.min(axis=0)).sum()
    scores = scores.copy()
    scores[0] -= cost
    return _arborescence(scores)[1:]


def _arborescence(scores: Scores) -> list[int]:
    """Return the head of each node, [n+1], -1 for node 0, which may have several dependents."""
    scores = scores.copy()
    np.fill_diagonal(scores, -np.inf)
    heads = [-1, *scores[:, 1:].argmax(axis=0).tolist()]
    cycle = _cycle(heads)
    if not cycle:
        return heads
    # Contract the cycle to one node, the last. The score of an arc into it is the gain over the cycle's arc it
    # replaces.
    rest = [node for node in range(len(heads)) if node not in cycle]
    within = np.array([scores[heads[node], node] for node in cycle])
    into = scores[np.ix_(rest, cycle)] - within
    out_of = scores[np.ix_(cycle, rest)]
    smaller = np.full((len(rest) + 1, len(rest) + 1), -np.inf)
    smaller[:-1, :-1] = scores[np.ix_(rest, rest)]
    smaller[:-1, -1], smaller[-1, :-1] = into.max(axis=1), out_of.max(axis=0)
    entered, left = into.argmax(axis=1), out_of.argmax(axis=0)
    *of_rest, of_cycle = _arborescence(smaller)
    for place, head in enumerate(of_rest[1:], 1):
        heads[rest[place]] = rest[head] if head < len(rest) else cycle[left[place]]
    heads[cycle[entered[of_cycle]]] = rest[of_cycle]
    return heads


def _cycle(heads: list[int]) -> list[int]:
    """Return the nodes of a cycle, or []."""
    done = {0}
    for node in range(1, len(heads)):
        path: list[int] = []
        while node not in done and node not in path:
            path.append(node)
            node = heads[node]
        if node not in done:
            return path[path.index(node) :]
        done.update(path)
    return []


def _projective(scores: Scores) -> list[int]:
    """Return the head of each word by Eisner's algorithm, which handles all spans of one width at a time.

    right[s,k], left[s,k]: score of the best tree over s … s+k with the first or last word as its root. right_to[t,k],
    left_to[t,k]: the same for t-k … t. In an open span, an arc joins both ends.
    """
    n = len(scores) - 1
    shape = (n + 1, n + 1)
    right, left, right_to, left_to, open_right, open_left = (np.zeros(shape) for _ in range(6))
    split, left_split, right_split = (np.zeros(shape, np.int64) for _ in range(3))
    for k in range(1, n):
        s, t = np.arange(1, n + 1 - k), np.arange(1 + k, n + 1)
        rows = np.arange(len(s))

        both = right[s, :k] + left_to[t, :k][:, ::-1]
        split[s, k] = best = both.argmax(axis=1)
        open_right[s, k] = both[rows, best] + scores[s, t]
        open_left[t, k] = both[rows, best] + scores[t, s]

        ends = left[s, :k] + open_left[t, 1 : k + 1][:, ::-1]
        left_split[s, k] = best = ends.argmax(axis=1)
        left[s, k] = left_to[t, k] = ends[rows, best]

        ends = open_right[s, 1 : k + 1] + right_to[t, :k][:, ::-1]
        right_split[s, k] = best = ends.argmax(axis=1)
        right[s, k] = right_to[t, k] = ends[rows, best]
    roots = np.arange(1, n + 1)
    root = 1 + int((left[1, roots - 1] + right[roots, n - roots] + scores[0, 1:]).argmax())

    heads = [0] * (n + 1)
    waiting = [("left", 1, root), ("right", root, n)]
    while waiting:
        side, first, last = waiting.pop()
        width = last - first
        if width == 0:
            continue
        if side == "left":
            middle = first + int(left_split[first, width])
            waiting += [("left", first, middle), ("open", middle, last)]
            heads[middle] = last
        elif side == "right":
            middle = first + 1 + int(right_split[first, width])
            waiting += [("open", first, middle), ("right", middle, last)]
            heads[middle] = first
        else:
            middle = first + int(split[first, width])
            waiting += [("right", first, middle), ("left", middle + 1, last)]
    return heads[1:]
