"""Links between similar states (see aligner.py). likeness [J,I]: of source and target subwords."""

import numpy as np
from numpy.typing import NDArray

from synmt.alignment.embeddings.config import EmbeddingsConfig
from synmt.alignment.encoders.similarity import unit

Floats = NDArray[np.float32]
Cells = NDArray[np.bool_]


def linked(config: EmbeddingsConfig, source: Floats, target: Floats) -> Cells:
    """Return which subwords are linked, [J,I], given their states [J,d] and [I,d]."""
    if config.rule == "softmax":
        return softmax_links(source @ target.T, config.threshold)
    likeness = unit(source) @ unit(target).T
    return itermax_links(likeness, config.iterations if config.rule == "itermax" else 1, config.alpha)


def argmax_links(likeness: Floats) -> Cells:
    """Return the cells that are the first maximum of their row and of their column."""
    links = np.zeros(likeness.shape, bool)
    best = likeness.argmax(axis=1)
    rows = np.arange(len(likeness))
    links[rows, best] = likeness.argmax(axis=0)[best] == rows
    return links


def itermax_links(likeness: Floats, iterations: int, alpha: float) -> Cells:
    """Return the links of argmax and the links that further passes add."""
    links = np.zeros(likeness.shape, bool)
    likeness = likeness - min(0.0, float(likeness.min()))  # or α would increase negative values
    for _ in range(iterations):
        rows, columns = links.any(axis=1, keepdims=True), links.any(axis=0, keepdims=True)
        weighted = np.where(rows | columns, alpha, 1.0) * likeness
        weighted[rows & columns] = -1  # below all other values, which are not negative
        more = links | (argmax_links(weighted.astype(np.float32)) & ~(rows & columns))
        if (more == links).all():
            break
        links = more
    return links


def softmax_links(likeness: Floats, threshold: float) -> Cells:
    """Return the cells whose softmax over the row and over the column both exceed the threshold."""
    links: Cells = (_softmax(likeness, axis=0) > threshold) & (_softmax(likeness, axis=1) > threshold)
    return links


def _softmax(values: Floats, axis: int) -> Floats:
    raised: Floats = np.exp(values - values.max(axis=axis, keepdims=True))
    return raised / raised.sum(axis=axis, keepdims=True)
