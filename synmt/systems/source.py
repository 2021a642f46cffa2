"""The source side of a model: how a sentence becomes the encoder's tokens, and what syntax does to the encoder.

A published idea on the source side is one subclass of SourceIdea in a file of its own; its fields are its
options. What it says of a sentence are Python lists of O(n) numbers or labels; whatever is n×n is expanded on the
device, once a batch, by the idea's encoder part (synmt.nn), but for matrices of the user's own. Several ideas can
work on one model.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from synmt.nn.config import TransformerConfig, check_settings
from synmt.systems import SOURCE_IDEAS
from synmt.systems.options import check_owners, open_class, options_of
from synmt.trees.record import ParseRecord

if TYPE_CHECKING:
    from torch import nn

    from synmt.systems.batches import Matrix

Segment = Callable[[str], list[str]]
Task = Literal["translate", "parse"]


@dataclass(slots=True)
class Layout:
    """How the encoder reads a sentence.

    tokens: vocabulary entries, [n].
    words: for each token the index of the word that it is a piece of, -1 for structure, [n].
    parents: where the tokens are a tree in preorder, the index of each node's parent, -1 for the root; else empty.
    """

    tokens: list[str]
    words: list[int]
    parents: list[int] = field(default_factory=list)


@dataclass(slots=True)
class SourceFeatures:
    """One sentence as the encoder sees it.

    tokens: vocabulary entries, [n].
    words: how many of them are pieces of words, which bounds the translation's length.
    vectors: named per-token numbers, each [n].
    labels: named per-token labels, each [n], "" where a token has none.
    matrices: named masks, each [n,n].
    word_of: for each token the word that it is a piece of, -1 for structure, [n].
    """

    tokens: list[str]
    words: int
    vectors: dict[str, list[int]] = field(default_factory=dict)
    labels: dict[str, list[str]] = field(default_factory=dict)
    matrices: "dict[str, Matrix]" = field(default_factory=dict)
    word_of: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class SourceIdea:
    """One idea, with its options. What a subclass does not say is that of a plain Transformer on word pieces.

    tasks: what a model learns to do with a sentence; each training pair is an example of every task.
    """

    tasks: ClassVar[tuple[Task, ...]] = ("translate",)

    def __post_init__(self) -> None:
        """Raises ValueError for options out of bounds."""
        check_settings(self)

    def needs(self, training: bool) -> frozenset[str]:
        """Fields that a parse record must have, in training (and validation) or to translate it."""
        return frozenset()

    def lays_out(self) -> bool:
        """Whether this idea decides about the tokens."""
        return type(self).layout is not SourceIdea.layout

    def layout(self, record: ParseRecord, segment: Segment, task: Task) -> Layout | None:
        """The tokens, if this idea decides about them."""
        return None

    def vectors(self, record: ParseRecord, layout: Layout) -> dict[str, list[int]]:
        """Named numbers for each token."""
        return {}

    def target(self, record: ParseRecord, task: Task) -> list[str]:
        """What a model should say to a task of its own, as vocabulary entries."""
        raise NotImplementedError

    def labels(self, record: ParseRecord, layout: Layout) -> dict[str, list[str]]:
        """Named labels for each token."""
        return {}

    def matrices(self, record: ParseRecord, layout: Layout) -> "dict[str, Matrix]":
        """Named truth values for each pair of tokens, a row a query."""
        return {}

    def heads_taken(self) -> dict[int, int]:
        """In which encoder layers, counted from 1, the attention of how many heads is this idea's alone."""
        return {}

    def channels_taken(self) -> int:
        """How many channels of the embeddings are this idea's alone."""
        return 0

    def encoder_part(self, config: TransformerConfig, labels: Mapping[str, int]) -> "nn.Module | None":
        """A module from a SourceBatch to an EncoderPass. labels: how many there are of each name."""
        return None


@dataclass(frozen=True)
class SourceSide:
    """The ideas of a model by name, at least one. Raises ValueError for ideas that exclude each other."""

    ideas: Mapping[str, SourceIdea]

    def __post_init__(self) -> None:
        if not self.ideas:
            raise ValueError("no system")
        deciders = [name for name, idea in self.ideas.items() if idea.lays_out()]
        if len(deciders) > 1:
            raise ValueError(f"{' and '.join(deciders)} cannot be combined: each decides what the encoder reads")

    @property
    def tasks(self) -> dict[Task, SourceIdea]:
        """Each task with the idea that it comes from."""
        return {task: idea for idea in self.ideas.values() for task in idea.tasks}

    @property
    def reads_pieces(self) -> bool:
        """Whether the encoder reads the pieces of the words and nothing else."""
        return not any(idea.lays_out() for idea in self.ideas.values())

    def needs(self, training: bool) -> frozenset[str]:
        """Fields that a record must have."""
        return frozenset().union(*(idea.needs(training) for idea in self.ideas.values()))

    def check_network(self, config: TransformerConfig) -> None:
        """Raises ValueError if a network of these sizes does not have what the ideas take."""
        taken: Counter[int] = Counter()
        for idea in self.ideas.values():
            taken.update(idea.heads_taken())
        for layer, heads in taken.items():
            if layer > config.encoder_layers or heads > config.heads:
                raise ValueError(
                    f"{'+'.join(self.ideas)} takes {heads} heads of layer {layer} of an encoder that has"
                    f" {config.heads} heads and {config.encoder_layers} layers"
                )
        if sum(idea.channels_taken() for idea in self.ideas.values()) >= config.width:
            raise ValueError(f"{'+'.join(self.ideas)} leaves words none of the {config.width} channels")

    def layout(self, record: ParseRecord, segment: Segment, task: Task = "translate") -> Layout:
        """How the encoder reads a record that has what the ideas need."""
        layouts = (idea.layout(record, segment, task) for idea in self.ideas.values())
        return next((each for each in layouts if each), None) or pieces(record, segment)

    def features(self, record: ParseRecord, segment: Segment, task: Task = "translate") -> SourceFeatures:
        """The encoder's view of one record; raises ValueError if the record lacks what an idea needs."""
        check_needs(record, self.needs(training=False))
        layout = self.layout(record, segment, task)
        found = SourceFeatures(layout.tokens, sum(word >= 0 for word in layout.words), word_of=layout.words)
        for idea in self.ideas.values():
            found.vectors |= idea.vectors(record, layout)
            found.labels |= idea.labels(record, layout)
            found.matrices |= idea.matrices(record, layout)
        return found

    def settings(self) -> dict[str, dict[str, Any]]:
        """The options of each idea, from which `source_side` makes the side again."""
        return {name: asdict(idea) for name, idea in self.ideas.items()}


def source_side(settings: Mapping[str, Mapping[str, Any]]) -> SourceSide:
    """The side of these ideas with these options. Raises ValueError or TypeError for unknown or wrong ones."""
    return SourceSide({name: open_idea(name)(**options) for name, options in settings.items()})


def source_side_of(names: Sequence[str], settings: Mapping[str, Any]) -> SourceSide:
    """The side of these ideas with what is theirs of the settings, such as `pascal_heads`. Raises ValueError."""
    return source_side({name: options_of(name, open_idea(name), settings) for name in names})


def sides_of(settings: Mapping[str, Any]) -> tuple[SourceSide, SourceSide]:
    """What the encoders of source and target read, by the settings `source_syntax` and `target_syntax`.

    Raises ValueError, also for options of neither.
    """
    source, target = ((settings.get(f"{side}_syntax") or "sequence").split("+") for side in ("source", "target"))
    ideas = ((name, open_idea(name)) for name in SOURCE_IDEAS)
    check_owners(ideas, [*source, *target], settings, "+".join([*source, *target]))
    return source_side_of(source, settings), source_side_of(target, settings)


def open_idea(name: str) -> type[SourceIdea]:
    """Raises ValueError for a name that is not in SOURCE_IDEAS."""
    if name not in SOURCE_IDEAS:
        raise ValueError(f"unknown system {name!r}")
    return open_class(SOURCE_IDEAS[name])


NAMES = {
    "tree": "constituency tree",
    "heads": "dependency heads",
    "deprels": "dependency relations",
    "upos": "upos",
    "masks": "masks",
}


def check_needs(record: ParseRecord, needs: frozenset[str]) -> None:
    """Raises ValueError for a sentence without one of the fields."""
    for name in sorted(needs):
        if record.tokens and not getattr(record, name):
            raise ValueError(f"record has no {NAMES[name]}")


def pieces(record: ParseRecord, segment: Segment) -> Layout:
    """The pieces of the words, without begin or end of sentence."""
    split = [segment(word) for word in record.tokens]
    words = [word for word, parts in enumerate(split) for _ in parts]
    return Layout([piece for parts in split for piece in parts], words)


def words_of_pieces(record: ParseRecord, segment: Segment, is_piece: list[bool]) -> list[int]:
    """`Layout.words` for tokens of which some are the pieces of all words, in order."""
    words = iter(pieces(record, segment).words)
    return [next(words) if each else -1 for each in is_piece]


def spans_of_words(layout: Layout, words: int) -> tuple[list[int], list[int]]:
    """First and last token of each word, [words] each."""
    first, last = [0] * words, [0] * words
    for token in range(len(layout.words) - 1, -1, -1):
        if layout.words[token] >= 0:
            first[layout.words[token]] = token
    for token, word in enumerate(layout.words):
        if word >= 0:
            last[word] = token
    return first, last
