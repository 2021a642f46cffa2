"""How the likeness of two sentences' subwords makes links (see idea.py).

Shapes: J source and I target subwords.
"""

import numpy as np
from numpy.typing import NDArray

from synmt.alignment.embeddings.idea import Embeddings

Floats = NDArray[np.float32]
Cells = NDArray[np.bool_]


def linked(options: Embeddings, source: Floats, target: Floats) -> Cells:
    """Return which subwords are linked, [J,I], by their states [J,d] and [I,d]."""
    if options.rule == "softmax":
        return softmax_links(source @ target.T, options.threshold)
    likeness = _of_length_one(source) @ _of_length_one(target).T
    return itermax_links(likeness, options.iterations if options.rule == "itermax" else 1, options.alpha)


def _of_length_one(states: Floats) -> Floats:
    lengths = np.linalg.norm(states, axis=1, keepdims=True)
    unit: Floats = (states / np.maximum(lengths, np.finfo(np.float32).tiny)).astype(np.float32)
    return unit


def argmax_links(likeness: Floats) -> Cells:
    """Return the cells that are the first greatest of their row and of their column."""
    links = np.zeros(likeness.shape, bool)
    best = likeness.argmax(axis=1)
    rows = np.arange(len(likeness))
    links[rows, best] = likeness.argmax(axis=0)[best] == rows
    return links


def itermax_links(likeness: Floats, iterations: int, alpha: float) -> Cells:
    """Return the links of argmax, and those that it adds where words are still free."""
    links = np.zeros(likeness.shape, bool)
    likeness = likeness - min(0.0, float(likeness.min()))  # so that α makes none more alike
    for _ in range(iterations):
        rows, columns = links.any(axis=1, keepdims=True), links.any(axis=0, keepdims=True)
        weighted = np.where(rows | columns, alpha, 1.0) * likeness
        weighted[rows & columns] = -1  # less than all others, which are not negative
        more = links | (argmax_links(weighted.astype(np.float32)) & ~(rows & columns))
        if (more == links).all():
            break
        links = more
    return links


def softmax_links(likeness: Floats, threshold: float) -> Cells:
    """Return the cells that get more than the threshold from their row and from their column."""
    links: Cells = (_softmax(likeness, axis=0) > threshold) & (_softmax(likeness, axis=1) > threshold)
    return links


def _softmax(values: Floats, axis: int) -> Floats:
    raised: Floats = np.exp(values - values.max(axis=axis, keepdims=True))
    return raised / raised.sum(axis=axis, keepdims=True)
