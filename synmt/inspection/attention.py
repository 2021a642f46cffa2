"""The heads of a model on one sentence: their attention, or the strengths of their masks.

Figure 2 of McDonald & Chiang (NAACL SRW 2021) shows strengths. Rows are queries, columns are keys.
"""

from dataclasses import replace
from typing import Literal

import numpy as np

from synmt.inspection.matrix import Legend, Matrix
from synmt.inspection.sentence import ReadSentence, Weights
from synmt.inspection.strengths import strengths_legend
from synmt.streams import BadInput

Quantity = Literal["weights", "strengths"]


def head_matrices(
    sentence: ReadSentence, quantity: Quantity, layer: int, head: int | None
) -> tuple[list[Matrix], Legend]:
    """Return all heads of a layer, or one, counted from 1. Raises BadInput for what the model does not have."""
    layers, heads = sentence.weights.shape[:2]
    if not 1 <= layer <= layers or (head is not None and not 1 <= head <= heads):
        raise BadInput(f"no layer {layer} with a head {head or 1}: {layers} layers have {heads} heads each")
    values, legend = of_all_heads(sentence, quantity)
    tokens = sentence.layout.tokens
    chosen = range(heads) if head is None else [head - 1]
    shared = quantity == "strengths" and sentence.strengths is not None and len(sentence.strengths) == 1
    place = "" if shared else f"layer {layer}, "
    matrices = [Matrix(place + sentence.head_name(layer - 1, h), tokens, tokens, values[layer - 1, h]) for h in chosen]
    if quantity == "weights":
        legend = replace(legend, high=max(float(matrix.values.max()) for matrix in matrices))
    return matrices, legend


def of_all_heads(sentence: ReadSentence, quantity: Quantity) -> tuple[Weights, Legend]:
    """Return [L,H,n,n], and one scale for all of them. Raises BadInput for strengths of a model without masks."""
    if quantity == "weights":
        most = float(sentence.weights.max())
        return sentence.weights, Legend("query", "key", "attention weight", "Blues", 0.0, most)
    if sentence.mask is None or sentence.strengths is None:
        raise BadInput("the model has no masks, so its heads have no strengths")
    legend = strengths_legend("query", "key", [sentence.mask])
    most = max(legend.high, float(np.nanmax(sentence.strengths, initial=legend.high)))  # several masks hide more
    return np.broadcast_to(sentence.strengths, sentence.weights.shape), replace(legend, high=most)
