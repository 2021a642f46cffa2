"""The fields of components: their types, and helpers that read them from parse records. It imports no torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from synmt.trees.record import UNATTACHED, ParseRecord, check_heads

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from synmt.components.contract import Layout

Kinds = Literal["bool", "int8", "uint8", "int16", "int32", "float16", "float32"]
SOME_HEADS = "some heads"  # among needs: the heads of a partial tree suffice
NAMES = {
    "tree": "constituency tree",
    "heads": "dependency heads",
    SOME_HEADS: "dependency heads",
    "deprels": "dependency relations",
    "upos": "upos",
    "lemmas": "lemmas",
    "masks": "masks",
    "states": "states of an encoder",
}
FIELDS = {SOME_HEADS: "heads"}
GIVEN = frozenset({"lemmas", "masks", "states"})  # fields that no embedded parser makes
WHOLE = "whole dependency tree"
NO_DISTANCE = 255  # of two tokens one of which is no word of a tree


@dataclass(frozen=True)
class Field:
    """One input of a component.

    shape: "token": one value per token, [n]; "pair": one per pair of tokens, row = query, [n,n]; "label": one string
        per token, numbered from 1 by the labels of the training data, 0 for "" and unknown ones.
    vector: the shape of what each token has instead of one value, such as (384,).
    dtype: of numpy; a value that it cannot hold is refused. Integers of tokens reach the hooks as int64, and uint8 of
        pairs as int16, which has negative numbers.
    pad: the value at padding.
    training: whether it exists only in training and validation.
    """

    shape: Literal["token", "pair", "label"] = "token"
    dtype: Kinds = "int32"
    pad: float = 0
    training: bool = False
    vector: tuple[int, ...] = ()

    def array(self, name: str, values: Any) -> "NDArray[Any]":
        """Return values as an array of this field. Raises ValueError for values that it cannot hold."""
        import numpy as np

        given = np.asarray(values)
        if given.size == 0:
            given = given.astype(self.dtype)
        found = given.astype(self.dtype, copy=False)
        if not np.array_equal(found, given, equal_nan=found.dtype.kind == "f") and not (
            self.dtype == "float32" and np.allclose(found, given, rtol=1e-6, equal_nan=True)
        ):
            raise ValueError(f"the field {name} has values that {self.dtype} cannot hold")
        return found


def lacking(record: ParseRecord, needs: frozenset[str]) -> list[str]:
    """Return the needed fields that a sentence lacks, in words. A partial tree does not count as a whole one."""
    if not record.tokens:
        return []
    missing = [NAMES.get(name, name) for name in sorted(needs) if not getattr(record, FIELDS.get(name, name))]
    return [*missing, WHOLE] if "heads" in needs and UNATTACHED in record.heads else missing


def check_needs(record: ParseRecord, needs: frozenset[str]) -> None:
    """Raise ValueError if a sentence lacks a needed field, or has a partial tree where a whole one is needed."""
    for name in lacking(record, needs):
        if name == WHOLE:
            check_heads(record.heads, record.sentences)
        raise ValueError(f"record has no {name}")


def parents_of_words(record: ParseRecord) -> list[int]:
    """Return the index of each word's head: the word itself if it is the root, -1 if its head is unknown."""
    if not record.heads:
        return [-1] * len(record.tokens)
    return [-1 if head == UNATTACHED else head - 1 if head else word for word, head in enumerate(record.heads)]


def spans_of_words(layout: "Layout", words: int) -> tuple[list[int], list[int]]:
    """Return the first and the last token of each word, [words] each."""
    first, last = [0] * words, [0] * words
    places = [(word, token) for token, word in enumerate(layout.words) if word >= 0]
    for word, token in places:
        last[word] = token
    for word, token in reversed(places):
        first[word] = token
    return first, last


def mask_over_tokens(name: str, record: ParseRecord, layout: "Layout") -> "NDArray[np.bool_]":
    """Return one of the record's own masks over the tokens of a layout, [n,n], with one row per query.

    If the record has no masks at all, no pair is marked. Raises ValueError if it has masks, but not this one.
    """
    import numpy as np

    if not record.masks:
        return np.zeros((len(layout.tokens),) * 2, bool)
    if name not in record.masks:
        raise ValueError(f"record has no mask {name!r}")
    rows = record.masks[name]
    cells = np.frombuffer("".join(rows).encode(), np.uint8).reshape(len(rows), len(rows)) == ord("1")
    places = np.array(_rows_of_tokens(record, layout, len(rows)))
    with_none = np.pad(cells, ((0, 1), (0, 1)))  # index -1: the row and column of tokens outside the mask
    return with_none[places[:, None], places]


def _rows_of_tokens(record: ParseRecord, layout: "Layout", size: int) -> list[int]:
    """Return each token's row in a mask over the record's words or over the nodes of its tree; -1 if it has no row."""
    if size == len(record.tokens):
        return layout.words
    assert record.tree
    if not layout.parents:
        leaves = [node for node, leaf in enumerate(record.tree.is_leaf()) if leaf]
        return layout.of_words(leaves, -1)
    nodes: list[int] = []  # in preorder, with all subwords of a word in place of its leaf
    before = -1
    for word in layout.words:
        same = nodes and word == before >= 0
        nodes.append(nodes[-1] + (not same) if nodes else 0)
        before = word
    return nodes


def distances_over_tokens(record: ParseRecord, layout: "Layout") -> list[list[int]]:
    """Return the number of arcs between the words of each two tokens, at most 254, with all roots under one node.

    NO_DISTANCE for a token that is no word, for words in different pieces of a partial tree, and without a tree."""
    none = [[NO_DISTANCE] * len(record.tokens)] * len(record.tokens)
    known = tree_distances(record.heads) if record.heads else none
    of_words = [[*row, NO_DISTANCE] for row in known] + [[NO_DISTANCE] * (len(known) + 1)]  # the last ones: of no word
    return [[of_words[q][k] for k in layout.words] for q in layout.words]


def tree_distances(heads: Sequence[int]) -> list[list[int]]:
    """Return the number of arcs between each two words, as `distances_over_tokens`; heads from 1, 0 for a root."""
    above: list[set[int]] = []  # each word, its ancestors, and 0 in a tree with a root
    for word in range(1, len(heads) + 1):
        above.append({word})
        while word > 0 and (word := heads[word - 1]) != UNATTACHED:
            above[-1].add(word)
    return [
        [min(NO_DISTANCE - 1, len(own ^ other)) if own & other else NO_DISTANCE for other in above] for own in above
    ]
