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
synmt.nn.hooks.SideRun. In a decoder's search, `run.queries` is the last position; `weights` and `after` get the states
of all positions so far, and return what belongs to the queries. A position of a decoder may depend only on earlier
ones.

This module imports no torch, because `--help` reads it. Components import torch inside functions.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import isfunction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from synmt.components.fields import (
    NO_DISTANCE,
    SOME_HEADS,
    Field,
    Kinds,
    check_needs,
    distances_over_tokens,
    lacking,
    mask_over_tokens,
    parents_of_words,
    spans_of_words,
)
from synmt.components.state import Automaton, StateFields, WordState
from synmt.components.values import in_heads, penalties_of, shared_or_per_layer
from synmt.nn.config import TransformerConfig
from synmt.options import Checked, Preset, rate, setting
from synmt.streams import counted
from synmt.text.bpe import JOINER, Segment
from synmt.text.vocabulary import Vocabulary, structural
from synmt.trees.arc_tokens import ArcStyle, Kind, Token
from synmt.trees.record import ParseRecord

if TYPE_CHECKING:
    from torch import Tensor

    from synmt.components.linearization import Linearization
    from synmt.nn.hooks import SideRun, Value

__all__ = [
    "JOINER",
    "NO_DISTANCE",
    "SOME_HEADS",
    "ArcStyle",
    "Automaton",
    "Component",
    "DecoderComponent",
    "EncoderComponent",
    "Field",
    "Heads",
    "Kind",
    "Kinds",
    "Layout",
    "ParseRecord",
    "Preset",
    "Segment",
    "StateFields",
    "Task",
    "Token",
    "TransformerConfig",
    "Vocabulary",
    "WordState",
    "check_needs",
    "distances_over_tokens",
    "in_heads",
    "lacking",
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

AnyValue = TypeVar("AnyValue")
Task = Literal["translate", "parse"]
Heads = Mapping[int, tuple[int, ...]]  # by layer, counted from 1: heads, counted from 0
HOOKS = (
    "embed", "bias", "penalty", "scale", "weights", "after", "cross_bias", "cross_scale", "cross_weights", "loss",
    "accuracies",
)  # fmt: skip


@dataclass(slots=True)
class Layout:
    """The input of the encoder for a sentence.

    tokens: of the vocabulary, [n].
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
class Component(Checked):
    """What components of both sides share.

    training_only: the trained model works as if the component were absent, and needs none of its fields.
    cites: its papers, as in synmt.citations; presets: the settings of their experiments, by name.
    """

    training_only: ClassVar[bool] = False
    cites: ClassVar[tuple[str, ...]] = ()
    presets: ClassVar[Mapping[str, Preset]] = {}

    def check_hooks(self) -> None:
        """Raise TypeError for a declaration that could have no effect."""
        kind, name = type(self), type(self).__name__
        if any(isinstance(each, dataclasses.Field) for each in vars(kind).values()):
            raise TypeError(f"{name} has settings, so it must be a frozen dataclass")
        missing = [each for each in HOOKS if each not in self.hooks]
        known = {*dir(EncoderComponent), *dir(DecoderComponent)}
        for own in (own for own, each in vars(kind).items() if isfunction(each) and own not in known):
            from difflib import get_close_matches  # seldom needed, and not to read --help

            if close := get_close_matches(own, missing, 1, 0.8):
                raise TypeError(f"{name} defines {own}, which is not a hook; did you mean {close[0]}?")
        if unknown := self.needs(True).union(self.needs(False)) - {SOME_HEADS, *ParseRecord.__dataclass_fields__}:
            raise TypeError(f"{name} needs {min(unknown)}, which is not a field of a record")
        read = [each for each in self.reads().values() if each.shape != "label"]
        if read and not self.hooks:
            raise TypeError(f"{name} declares fields, but defines no hook that reads them")
        if self.training_only and (self.needs(False) or not all(each.training for each in read)):
            raise TypeError(f"{name} is for training only, so needs(False) must be empty, and its fields training=True")
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
    def fields_by_name(self) -> Mapping[str, Field]:
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

    def embed(self, run: "SideRun", vectors: "Tensor") -> "Tensor":
        raise NotImplementedError

    def bias(self, run: "SideRun") -> "Value":
        raise NotImplementedError

    def penalty(self, run: "SideRun") -> "Value":
        raise NotImplementedError

    def scale(self, run: "SideRun") -> "Value":
        raise NotImplementedError

    def weights(self, run: "SideRun", layer: int, states: "Tensor") -> "Tensor":
        raise NotImplementedError

    def after(self, run: "SideRun", layer: int, states: "Tensor") -> "Tensor":
        raise NotImplementedError

    def cross_bias(self, run: "SideRun") -> "Value":
        raise NotImplementedError

    def cross_scale(self, run: "SideRun") -> "Value":
        raise NotImplementedError

    def cross_weights(self, run: "SideRun", layer: int, states: "Tensor") -> "Tensor":
        raise NotImplementedError

    def loss(self, run: "SideRun") -> "Tensor | None":
        raise NotImplementedError

    def accuracies(self, run: "SideRun") -> Mapping[str, Callable[[], tuple[int, int]]]:
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
        """Return the tokens that the model should learn to write for a task other than translation."""
        raise NotImplementedError

    def parameters(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
        """Return the parameters, tensors or modules, by name. labels: of the training data, by field."""
        return {}


@dataclass(frozen=True)
class DecoderComponent(Component):
    """A component of the decoder. By default, it behaves as in a plain Transformer on subwords.

    Fields come from two sources: `state_fields` of the decoder's state, in training and in a search; and `read`, which
    needs the whole target, for the fields that `reads` declares, which are for training alone. A field of labels gets
    an output layer of its own, which predicts the label of each token that has one from the state after that token.

    prefixes: whether each position must see its whole prefix (True) or no later position (False); None: either.
    writes: how targets are written, if this component decides it: a class such as ArcLinearization.
    """

    prefixes: ClassVar[bool | None] = None
    writes: "ClassVar[type[Linearization] | None]" = None
    state_fields: ClassVar[StateFields] = StateFields()

    @classmethod
    def writes_arcs(cls) -> bool:
        """Return whether targets have arcs among their words."""
        return cls.writes is not None and cls.writes.trees == "among"

    @cached_property
    def fields_by_name(self) -> Mapping[str, Field]:
        of_training = {name: replace(each, training=True) for name, each in self.reads().items()}
        return {**self.state_fields.fields, **of_training}

    def linearization(self, style: ArcStyle) -> "Linearization | None":
        """Return how targets are written, if this component decides it."""
        return self.writes(style) if self.writes else None

    def state(self, style: ArcStyle) -> Any:
        """Return the state at the begin of sentence, such as WordState, if this component reads one."""
        return None

    def read(self, record: ParseRecord, tokens: Sequence[str]) -> Mapping[str, Sequence[Any]]:
        """Return the fields for training alone, by name, at the begin of sentence and each of these tokens, [1+t]."""
        return {}

    def loss_weight(self) -> float:
        """Return the weight of the loss of its labels in the total."""
        return 1.0

    def parameters(self, config: TransformerConfig, vocabulary: Vocabulary) -> Mapping[str, Any]:
        """Return the parameters, tensors or modules, by name."""
        return {}


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


def task_mark(task: Task) -> str:
    """Return the token that tells an encoder which task to perform. Word dropout never replaces it."""
    return structural(f"<{task}>")


def check_components(components: Mapping[str, Component], config: TransformerConfig, layers: int) -> None:
    """Raise ValueError if a network with so many layers on this side is too small for the components, and TypeError for
    a hook that could have no effect."""
    owners_of_heads(components, config, layers)
    for each in components.values():
        each.check_hooks()
    if sum(each.channels_taken() for each in components.values()) >= config.width:
        raise ValueError(f"{'+'.join(components)} leaves no room for words in a width of {config.width}")


def owners_of_heads(
    components: Mapping[str, Component], config: TransformerConfig, layers: int
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
