"""The interface between the core and ideas of the source side, and the code that ideas of both sides share.

A published idea is one subclass of SourceIdea or TargetIdea (synmt.ideas.target) in its own place. Its fields are its
options. An idea returns Python lists of O(n) numbers or labels per sentence. Its module expands them to n×n on the
device, once per batch; only matrices that users provide are n×n from the start. One side of a model can combine several
ideas.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from synmt.nn.config import TransformerConfig
from synmt.options import check_settings, chosen
from synmt.streams import counted
from synmt.text.bpe import Segment
from synmt.text.vocabulary import structural
from synmt.trees.record import UNATTACHED, ParseRecord, check_heads

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import nn

Idea = TypeVar("Idea")
Value = TypeVar("Value")
Task = Literal["translate", "parse"]
Heads = Mapping[int, tuple[int, ...]]  # by layer, counted from 1: heads, counted from 0
SOME_HEADS = "some heads"  # among needs: the heads of a partial tree suffice
NAMES = {
    "tree": "constituency tree",
    "heads": "dependency heads",
    SOME_HEADS: "dependency heads",
    "deprels": "dependency relations",
    "upos": "upos",
    "masks": "masks",
}
FIELDS = {SOME_HEADS: "heads"}
WHOLE = "whole dependency tree"


@dataclass(slots=True)
class Layout:
    """The input of the encoder for a sentence.

    tokens: vocabulary entries, [n].
    words: the index of the word that each token is a subword of, -1 for structure, [n].
    parents: if the tokens are a tree in preorder, the index of each node's parent, -1 for the root; else empty.
    """

    tokens: list[str]
    words: list[int]
    parents: list[int] = field(default_factory=list)

    def of_words(self, values: Sequence[Value], otherwise: Value) -> list[Value]:
        """Return each token's value, given one per word: `otherwise` for a token that is part of no word, [n]."""
        return [values[word] if word >= 0 else otherwise for word in self.words]


@dataclass(frozen=True)
class SourceIdea:
    """An idea of the source side. By default, methods behave as in a plain Transformer on subwords.

    If a sentence lacks the fields that the idea needs, the core lays it out as subwords. `columns`, `labels` and
    `matrices` then get it as `unparsed` returns it: none of its tokens is a word, and its attention should be plain.

    tasks: the tasks that a model learns. Each training pair becomes one example per task, except for tasks whose data
    the sentence lacks.
    training_only: the trained model translates as if the idea were absent. Its columns are then not computed, and its
    module must not change a batch that lacks them.
    cites: its papers, as in synmt.citations.
    """

    tasks: ClassVar[tuple[Task, ...]] = ("translate",)
    training_only: ClassVar[bool] = False
    cites: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        """Raise ValueError for options out of bounds."""
        check_settings(self)

    def needs(self, training: bool) -> frozenset[str]:
        """Return the record fields that are read in training (and validation), or for translation. `heads` requires
        a whole tree, SOME_HEADS only a partial one."""
        return frozenset()

    def lays_out(self) -> bool:
        """Return whether this idea chooses the tokens."""
        return type(self).layout is not SourceIdea.layout

    def layout(self, record: ParseRecord, segment: Segment, task: Task) -> Layout | None:
        """Return the tokens if this idea chooses them, else None."""
        return None

    def columns(self, record: ParseRecord, layout: Layout) -> dict[str, list[int]]:
        """Return integers, one per token, by name."""
        return {}

    def labels(self, record: ParseRecord, layout: Layout) -> dict[str, list[str]]:
        """Return labels, one per token, by name; "" for a token without a label."""
        return {}

    def matrices(self, record: ParseRecord, layout: Layout) -> "dict[str, NDArray[np.bool_]]":
        """Return truth values for each pair of tokens, by name, with one row per query."""
        return {}

    def target(self, record: ParseRecord, task: Task) -> list[str]:
        """Return the output that the model should learn for a task other than translation, as vocabulary entries."""
        raise NotImplementedError

    def owned_heads(self, config: TransformerConfig) -> Heads:
        """Return the encoder heads that only this idea edits."""
        return {}

    def channels_taken(self) -> int:
        """Return how many channels of the embeddings this idea reserves."""
        return 0

    def encoder_part(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> "nn.Module | None":
        """Return a module from a SourceBatch to an EncoderPass, or None.

        labels: by name, the labels of the training data. A batch contains them as numbers from 1; 0 stands for any
        other.
        """
        return None


def ideas_of(known: Mapping[str, type[Idea]], options: Any) -> dict[str, Idea]:
    """Return the ideas with these names and options, as stored in a config.

    Raises ValueError or TypeError for unknown names and invalid options.
    """
    if not isinstance(options, Mapping) or not all(isinstance(each, Mapping) for each in options.values()):
        raise ValueError(f"ideas must be an object of objects, not {options!r:.40}")
    return {name: _named(known, name)(**own) for name, own in options.items()}


def options_of(
    known: Mapping[str, type[Idea]], names: Iterable[str], settings: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return each idea's options among the settings, such as `pascal_heads`. Raises ValueError for an unknown idea."""
    return {name: chosen(_named(known, name), settings, f"{name}-") for name in names}


def _named(known: Mapping[str, type[Idea]], name: str) -> type[Idea]:
    if name not in known:
        raise ValueError(f"unknown idea {name!r}; known: {', '.join(known)}")
    return known[name]


def task_mark(task: Task) -> str:
    """Return the token that tells an encoder which task to perform. Word dropout never replaces it."""
    return structural(f"<{task}>")


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


def unparsed(record: ParseRecord, layout: Layout) -> tuple[ParseRecord, Layout]:
    """Return a sentence and its layout for an idea that may only see the number of tokens."""
    return record.without_trees(), Layout(layout.tokens, [-1] * len(layout.words))


def subwords(record: ParseRecord, segment: Segment) -> Layout:
    """Return the subwords of all words, without begin or end of sentence."""
    split = [segment(word) for word in record.tokens]
    words = [word for word, parts in enumerate(split) for _ in parts]
    return Layout([subword for parts in split for subword in parts], words)


def words_of_subwords(record: ParseRecord, segment: Segment, is_subword: list[bool]) -> list[int]:
    """Return `Layout.words` for tokens among which the subwords of all words occur in order."""
    words = iter(subwords(record, segment).words)
    return [next(words) if each else -1 for each in is_subword]


def parents_of_words(record: ParseRecord) -> list[int]:
    """Return the index of each word's head: the word itself if it is the root, -1 if its head is unknown."""
    if not record.heads:
        return [-1] * len(record.tokens)
    return [-1 if head == UNATTACHED else head - 1 if head else word for word, head in enumerate(record.heads)]


def spans_of_words(layout: Layout, words: int) -> tuple[list[int], list[int]]:
    """Return the first and the last token of each word, [words] each."""
    first, last = [0] * words, [0] * words
    places = [(word, token) for token, word in enumerate(layout.words) if word >= 0]
    for word, token in places:
        last[word] = token
    for word, token in reversed(places):
        first[word] = token
    return first, last


def mask_over_tokens(name: str, record: ParseRecord, layout: Layout) -> "NDArray[np.bool_]":
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


def _rows_of_tokens(record: ParseRecord, layout: Layout, size: int) -> list[int]:
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


def owners_of_heads(ideas: Mapping[str, Any], config: TransformerConfig, layers: int) -> dict[tuple[int, int], str]:
    """Return the idea that owns each owned head, by layer, counted from 1, and head, counted from 0.

    Raises ValueError for a head that the network does not have, and for a head that two ideas own.
    """
    owners: dict[tuple[int, int], str] = {}
    for name, idea in ideas.items():
        for layer, heads in idea.owned_heads(config).items():
            for head in heads:
                if not (0 < layer <= layers and 0 <= head < config.heads):
                    sizes = f"{counted(layers, 'layer')} of {counted(config.heads, 'head')}"
                    raise ValueError(
                        f"{name} takes {counted(len(heads), 'head')} of layer {layer}, but the network has {sizes}"
                    )
                if (layer, head) in owners:
                    raise ValueError(f"{owners[layer, head]} and {name} both take head {head + 1} of layer {layer}")
                owners[layer, head] = name
    return owners
