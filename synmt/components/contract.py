"""The contract of components: what a plug-in of an encoder or a decoder can define, and the helpers that it may use.

A component is a frozen dataclass whose fields are its options. It declares the fields that it reads (`reads`), reads
them from records (`read`, without torch), makes its parameters, and changes a run of the layers by its hooks. Each
method has a default that does nothing, and whatever a hook returns takes effect or is refused with its name:

    embed(run, vectors)         the embedded tokens [B,n,d], before positions are added
    bias(run)                   added to the logits of self-attention, [B or 1, H or 1, Q or 1, n]; −inf hides a key
    penalty(run)                exp of the strengths of masks, which add up over components, subtracted from the logits
    scale(run)                  multiplies the logits
    weights(run, layer, states) weights of the owned heads of a layer, [B, k or 1, Q, n], given the layer's input
    after(run, layer, states)   the output of a layer, or of the embedding (layer 0), where `layers_after` says so
    cross_bias, cross_scale, cross_weights   the same for the decoder's attention to the source
    loss(run), accuracies(run)  a loss, summed over the batch; counts of right predictions and of all, by name

bias, penalty and scale return one tensor for all layers, or tensors by layer, counted from 1. `run` is a
synmt.nn.hooks.Run. In a decoder's search, `run.queries` is the last position; `weights` and `after` get the states of
all positions so far, and return what belongs to the queries. A position of a decoder may depend only on earlier ones.

This module imports no torch, because `--help` reads it. Components import torch inside functions.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from synmt.nn.config import TransformerConfig
from synmt.options import Preset, check_settings, chosen, rate, setting
from synmt.streams import counted
from synmt.text.bpe import JOINER, Segment
from synmt.text.vocabulary import Vocabulary, structural
from synmt.trees.arc_tokens import ArcStyle, Kind, Token
from synmt.trees.record import UNATTACHED, ParseRecord, check_heads
from synmt.trees.transitions import Constraints

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from synmt.components.spelling import Spelling
    from synmt.nn.hooks import Run, Value

__all__ = [
    "JOINER",
    "SOME_HEADS",
    "ArcStyle",
    "Automaton",
    "Component",
    "DecoderComponent",
    "EncoderComponent",
    "Field",
    "Heads",
    "Kind",
    "Layout",
    "ParseRecord",
    "Preset",
    "Segment",
    "Task",
    "Token",
    "TransformerConfig",
    "Vocabulary",
    "WordState",
    "check_needs",
    "in_heads",
    "mask_over_tokens",
    "parents_of_words",
    "penalties_of",
    "rate",
    "setting",
    "shared_or_per_layer",
    "spans_of_words",
    "structural",
    "subwords",
    "task_mark",
    "words_of_subwords",
]

AnyComponent = TypeVar("AnyComponent")
AnyValue = TypeVar("AnyValue")
Task = Literal["translate", "parse"]
Kinds = Literal["bool", "int8", "uint8", "int16", "int32", "float32"]
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
STRENGTH_LIMIT = 10.0
HOOKS = (
    "embed", "bias", "penalty", "scale", "weights", "after", "cross_bias", "cross_scale", "cross_weights", "loss",
    "accuracies",
)  # fmt: skip


@dataclass(frozen=True)
class Field:
    """One input of a component.

    shape: "token": one value per token, [n]; "pair": one per pair of tokens, row = query, [n,n]; "label": one string
        per token, numbered from 1 by the labels of the training data, 0 for "" and unknown ones.
    dtype: of numpy; a value that it cannot hold is refused. Integers of tokens reach the hooks as int64.
    pad: the value at padding.
    training: whether it exists only in training and validation.
    """

    shape: Literal["token", "pair", "label"] = "token"
    dtype: Kinds = "int32"
    pad: float = 0
    training: bool = False

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

    def of_words(self, values: Sequence[AnyValue], otherwise: AnyValue) -> list[AnyValue]:
        """Return each token's value, given one per word: `otherwise` for a token that is part of no word, [n]."""
        return [values[word] if word >= 0 else otherwise for word in self.words]


@dataclass(frozen=True)
class Component:
    """What components of both sides share.

    training_only: the trained model works as if the component were absent, and needs none of its fields.
    cites: its papers, as in synmt.citations; presets: the settings of their experiments, by name.
    derived: the names of what `expand` returns, for a decoder.
    """

    training_only: ClassVar[bool] = False
    cites: ClassVar[tuple[str, ...]] = ()
    presets: ClassVar[Mapping[str, Preset]] = {}
    derived: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        """Raise ValueError for options out of bounds."""
        check_settings(self)

    def check_hooks(self) -> None:
        """Raise TypeError for a hook that could have no effect."""
        if "after" in self.hooks and not self._defines("layers_after"):
            raise TypeError(f"{type(self).__name__} defines after, so it must define layers_after, where it runs")
        if self.hooks & {"weights", "cross_weights"} and not self._defines("owned_heads"):
            raise TypeError(f"{type(self).__name__} replaces weights, so it must define owned_heads, whose weights")

    @classmethod
    def _defines(cls, name: str) -> bool:
        return getattr(cls, name) is not getattr(Component, name)

    @cached_property
    def hooks(self) -> frozenset[str]:
        """The names of the hooks that it defines."""
        return frozenset(name for name in HOOKS if self._defines(name))

    @cached_property
    def fields_by_name(self) -> "Mapping[str, Field]":
        return self.reads()

    def needs(self, training: bool) -> frozenset[str]:
        """Return the record fields that are read in training (and validation), or for translation. `heads` requires
        a whole tree, SOME_HEADS only a partial one."""
        return frozenset()

    def reads(self) -> Mapping[str, Field]:
        """Return what the component reads, by name."""
        return {}

    def owned_heads(self, config: TransformerConfig) -> Heads:
        """Return the heads that only this component changes, whose weights it replaces or whose attention it learns."""
        return {}

    def layers_after(self, config: TransformerConfig) -> Sequence[int]:
        """Return the layers after which `after` runs, counted from 1; 0: the embedded input."""
        return ()

    def channels_taken(self) -> int:
        """Return how many channels of the embeddings this component reserves, `run.own.channels`."""
        return 0

    def embed(self, run: "Run", vectors: "Tensor") -> "Tensor":
        raise NotImplementedError

    def bias(self, run: "Run") -> "Value":
        raise NotImplementedError

    def penalty(self, run: "Run") -> "Value":
        raise NotImplementedError

    def scale(self, run: "Run") -> "Value":
        raise NotImplementedError

    def weights(self, run: "Run", layer: int, states: "Tensor") -> "Tensor":
        raise NotImplementedError

    def after(self, run: "Run", layer: int, states: "Tensor") -> "Tensor":
        raise NotImplementedError

    def cross_bias(self, run: "Run") -> "Value":
        raise NotImplementedError

    def cross_scale(self, run: "Run") -> "Value":
        raise NotImplementedError

    def cross_weights(self, run: "Run", layer: int, states: "Tensor") -> "Tensor":
        raise NotImplementedError

    def loss(self, run: "Run") -> "Tensor | None":
        raise NotImplementedError

    def accuracies(self, run: "Run") -> Mapping[str, Callable[[], tuple[int, int]]]:
        raise NotImplementedError


@dataclass(frozen=True)
class EncoderComponent(Component):
    """A component of the encoder. By default, it behaves as in a plain Transformer on subwords.

    If a sentence lacks the record fields that it needs, `read` gets it as `unparsed` returns it: none of its tokens is
    a word, and its attention should be plain.

    tasks: the tasks that a model learns. Each training pair becomes one example per task, except for tasks whose data
    the sentence lacks.
    """

    tasks: ClassVar[tuple[Task, ...]] = ("translate",)

    @classmethod
    def reads_trees(cls) -> bool:
        """Return whether some of its options make the encoder's input depend on trees. Trees that are only targets do
        not count."""
        return cls._defines("needs") and cls.tasks == EncoderComponent.tasks

    def lays_out(self) -> bool:
        """Return whether this component chooses the tokens."""
        return type(self).layout is not EncoderComponent.layout

    def layout(self, record: ParseRecord, segment: Segment, task: Task) -> Layout | None:
        """Return the tokens if this component chooses them, else None."""
        return None

    def read(self, record: ParseRecord, layout: Layout) -> Mapping[str, Any]:
        """Return the values of the fields, by name: lists, or arrays for pairs."""
        return {}

    def target(self, record: ParseRecord, task: Task) -> list[str]:
        """Return the output that the model should learn for a task other than translation, as vocabulary entries."""
        raise NotImplementedError

    def parameters(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
        """Return the parameters, tensors or modules, by name. labels: of the training data, by field."""
        return {}


@dataclass(frozen=True, slots=True)
class WordState:
    """The state of a decoder that writes subwords. States are immutable: `after` returns a new one.

    open_word: how many subwords of a word that is not complete have been written.
    """

    length: int = 0
    open_word: int = 0

    def after(self, token: Token) -> "WordState":
        return WordState(self.length + 1, self.open_word + 1 if token.kind == Kind.OPEN else 0)

    def allowed(self, constraints: Constraints, left: int) -> int:
        """Return the kinds of token that a search may choose next, at least one; left: how many tokens may follow."""
        subword = Kind.OPEN | Kind.WORD
        return subword if self.open_word else subword | Kind.END

    def most(self, subwords: int) -> int:
        """Return the most tokens of a target with at most so many subwords."""
        return subwords


@dataclass(frozen=True)
class DecoderComponent(Component):
    """A component of the decoder. By default, it behaves as in a plain Transformer on subwords.

    Fields come from two sources: `numbers` of the decoder's state, in training and in a search; and `read`, which needs
    the whole target, for fields that are for training alone.

    prefixes: whether each position must see its whole prefix (True) or no later position (False); None: either.
    writes: how targets are written, if this component decides it: a class such as ArcSpelling.
    """

    prefixes: ClassVar[bool | None] = None
    writes: "ClassVar[type[Spelling] | None]" = None

    def spelling(self, style: ArcStyle) -> "Spelling | None":
        """Return how targets are written, if this component decides it."""
        return self.writes(style) if self.writes else None

    def state(self, style: ArcStyle) -> Any:
        """Return the state at the begin of sentence, such as WordState, if this component reads one."""
        return None

    def numbers(self, vocabulary: Vocabulary) -> Callable[[Any], tuple[int, ...]]:
        """Return a function from a state to the fields that are not for training alone, in order, at the last position
        that the state has read."""
        return lambda state: ()

    def expand(self, fields: "Mapping[str, Tensor]") -> "Mapping[str, Tensor]":
        """Return what hooks read besides fields, by the names in `derived`: [R,n] or [R,n,n], given the fields [R,n] of
        whole targets. It is computed once, also for all prefixes of a target."""
        return {}

    def read(self, record: ParseRecord, entries: Sequence[str]) -> Mapping[str, Sequence[int]]:
        """Return the fields for training alone, by name, at the begin of sentence and each of these entries, [1+t]."""
        return {}

    def parameters(self, config: TransformerConfig, vocabulary: Vocabulary) -> Mapping[str, Any]:
        """Return the parameters, tensors or modules, by name."""
        return {}


@dataclass(frozen=True)
class Automaton:
    """How the state of a decoder moves through targets of one vocabulary.

    start: the state at the begin of sentence; tokens: the vocabulary's entries as the state reads them; style: turns
    other entries into tokens. readers: the names of the fields of each component, and its function of the state.
    """

    start: Any
    tokens: Sequence[Token]
    style: ArcStyle
    readers: Sequence[tuple[tuple[str, ...], Callable[[Any], tuple[int, ...]]]]

    def numbers(self, state: Any) -> dict[str, int]:
        """Return the fields at the last position that a state has read, by name."""
        return {name: value for names, read in self.readers for name, value in zip(names, read(state), strict=True)}

    def fields(self, entries: Sequence[str]) -> dict[str, list[int]]:
        """Return the fields at the begin of sentence and after each entry of a target, [1+t] each."""
        state = self.start
        rows = [self.numbers(state)]
        for entry in entries:
            state = state.after(self.style.token(entry))
            rows.append(self.numbers(state))
        return {name: [row[name] for row in rows] for name in rows[0]}


def in_heads(tensor: "Tensor", heads: tuple[int, ...], count: int, otherwise: float) -> "Tensor":
    """Return a bias or scale for all heads, given one for some: [B, k or 1, …] → [B, count, …]"""
    import torch

    whole = tensor.new_full((len(tensor), count, *tensor.shape[2:]), otherwise)
    return whole.index_copy(1, torch.tensor(heads, device=tensor.device), tensor.expand(-1, len(heads), -1, -1))


def penalties_of(strengths: "Tensor") -> "Tensor":
    """Return the penalty of a mask of each strength, exp(strength), in fp32 or better; masks are not stronger than 10,
    which hides a key in every precision."""
    import torch

    wide = strengths if strengths.dtype == torch.float64 else strengths.float()
    return wide.clamp(max=STRENGTH_LIMIT).exp()


def shared_or_per_layer(tables: "Tensor", cells: "Tensor") -> "Value":
    """Return table[h, cells[b, q, k]], [B,H,n,n], of the table that all layers share, or of each layer's own.

    tables [1 or layers,H,R]; cells [B,n,n] in 0…R−1.
    """
    import torch

    from synmt.nn.lookup import lookup

    with torch.autocast(cells.device.type, enabled=False):
        found = [lookup(table, cells) for table in tables]
    return found[0] if len(found) == 1 else dict(enumerate(found, 1))


def components_of(known: Mapping[str, type[AnyComponent]], options: Any) -> dict[str, AnyComponent]:
    """Return the components with these names and options, as stored in a config.

    Raises ValueError or TypeError for unknown names and invalid options.
    """
    if not isinstance(options, Mapping) or not all(isinstance(each, Mapping) for each in options.values()):
        raise ValueError(f"components must be an object of objects, not {options!r:.40}")
    return {name: named(known, name)(**own) for name, own in options.items()}


def options_of(
    known: Mapping[str, type[AnyComponent]], names: Iterable[str], settings: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return each component's options among the settings, such as `pascal_heads`. Raises ValueError for an unknown
    one."""
    return {name: chosen(named(known, name), settings, f"{name}-") for name in names}


def named(known: Mapping[str, type[AnyComponent]], name: str) -> type[AnyComponent]:
    if name not in known:
        raise ValueError(f"unknown component {name!r}; known: {', '.join(known)}")
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
    """Return a sentence and its layout for a component that may only see the number of tokens."""
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


def owners_of_heads(
    components: Mapping[str, Any], config: TransformerConfig, layers: int
) -> dict[tuple[int, int], str]:
    """Return the component that owns each owned head, by layer, counted from 1, and head, counted from 0.

    Raises ValueError for a head that the network does not have, and for a head that two components own.
    """
    owners: dict[tuple[int, int], str] = {}
    for name, each in components.items():
        for layer, heads in each.owned_heads(config).items():
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
