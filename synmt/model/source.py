"""The source side of a model: ideas at work in one encoder, and what it reads of a sentence."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from synmt.nn.config import TransformerConfig
from synmt.systems import PLAIN, SOURCE_IDEAS
from synmt.systems.idea import (
    Layout,
    Segment,
    SourceIdea,
    Task,
    ideas_of,
    lacking,
    options_of,
    owners_of_heads,
    subwords,
    unparsed,
)
from synmt.trees.record import ParseRecord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ENCODERS = "source-syntax", "target-syntax"  # the options by which an aligner's encoders are chosen


@dataclass(slots=True)
class SourceFeatures:
    """One sentence as the encoder sees it.

    tokens: vocabulary entries, [n].
    words: how many of them are subwords, which bounds the translation's length.
    columns: integers of each token, by name, each [n].
    labels: labels of each token, by name, each [n], "" where a token has none.
    matrices: masks by name, each [n,n].
    word_of: for each token the word that it is a subword of, -1 for structure, [n].
    beside: the same sentence as further models of an ensemble see it.
    """

    tokens: list[str]
    words: int
    columns: dict[str, list[int]] = field(default_factory=dict)
    labels: dict[str, list[str]] = field(default_factory=dict)
    matrices: "dict[str, NDArray[np.bool_]]" = field(default_factory=dict)
    word_of: list[int] = field(default_factory=list)
    beside: "list[SourceFeatures]" = field(default_factory=list)

    @property
    def forms(self) -> "list[SourceFeatures]":
        return [self, *self.beside]

    def add(self, kind: str, more: Mapping[str, Any]) -> None:
        """Add columns, labels or matrices. Raises ValueError for a name that another idea has taken."""
        features = getattr(self, kind)
        if twice := features.keys() & more.keys():
            raise ValueError(f"two ideas have {kind} called {', '.join(sorted(twice))}")
        features.update(more)


@dataclass(frozen=True)
class SourceSide:
    """The ideas of an encoder by name, at least one. Raises ValueError for ideas that exclude each other."""

    ideas: Mapping[str, SourceIdea]

    def __post_init__(self) -> None:
        if not self.ideas:
            raise ValueError("no idea of the source side")
        deciders = [name for name, idea in self.ideas.items() if idea.lays_out()]
        if len(deciders) > 1:
            raise ValueError(f"{' and '.join(deciders)} cannot be combined: each decides what the encoder reads")

    @property
    def tasks(self) -> dict[Task, SourceIdea]:
        """Return each task with the idea that it comes from."""
        return {task: idea for idea in self.ideas.values() for task in idea.tasks}

    @property
    def reads_subwords(self) -> bool:
        """Return whether the encoder reads the subwords of the words and nothing else."""
        return not any(idea.lays_out() for idea in self.ideas.values())

    def needs(self, training: bool) -> frozenset[str]:
        """Return the fields of a record that the ideas read; one that lacks some is read as if it were not parsed."""
        return frozenset().union(*(idea.needs(training) for idea in self.ideas.values()))

    @property
    def reads_trees(self) -> bool:
        """Return whether a sentence is read otherwise without its trees; those that are a target alone do not count."""
        return any(idea.needs(training=True) for idea in self.ideas.values() if idea.tasks == SourceIdea.tasks)

    def for_translation(self) -> "SourceSide":
        """Return the side without the ideas that only take part in training."""
        kept = {name: idea for name, idea in self.ideas.items() if not idea.training_only}
        return SourceSide(kept or {PLAIN: SourceIdea()})

    def owners(self, config: TransformerConfig) -> dict[tuple[int, int], str]:
        """Return the owners of heads, as `owners_of_heads`."""
        return owners_of_heads(self.ideas, config, config.encoder_layers)

    def check_network(self, config: TransformerConfig) -> None:
        """Raise ValueError if a network of these sizes does not have what the ideas take."""
        self.owners(config)
        if sum(idea.channels_taken() for idea in self.ideas.values()) >= config.width:
            raise ValueError(f"{'+'.join(self.ideas)} leaves words none of the {config.width} channels")

    def layout(self, record: ParseRecord, segment: Segment, task: Task = "translate") -> Layout:
        """Return how the encoder reads a record."""
        layouts = (
            idea.layout(record, segment, task)
            for idea in self.ideas.values()
            if not lacking(record, idea.needs(training=False))
        )
        return next((each for each in layouts if each), None) or subwords(record, segment)

    def features(self, record: ParseRecord, segment: Segment, task: Task = "translate") -> SourceFeatures:
        """Return the encoder's view of one record; to an idea that it has not enough for, it is `unparsed`.

        Raises ValueError for a record that no idea can read.
        """
        layout = self.layout(record, segment, task)
        features = SourceFeatures(layout.tokens, sum(word >= 0 for word in layout.words), word_of=layout.words)
        for idea in self.ideas.values():
            lacks = lacking(record, idea.needs(training=False))
            seen = unparsed(record, layout) if lacks else (record, layout)
            features.add("columns", idea.columns(*seen))
            features.add("labels", idea.labels(*seen))
            features.add("matrices", idea.matrices(*seen))
        return features

    def settings(self) -> dict[str, dict[str, Any]]:
        """Return the options of each idea, from which `source_side` makes the side again."""
        return {name: asdict(idea) for name, idea in self.ideas.items()}


def source_side(ideas: Mapping[str, Mapping[str, Any]]) -> SourceSide:
    """Return the side of these ideas with these options. Raises ValueError or TypeError for unknown or wrong ones."""
    return SourceSide(ideas_of(SOURCE_IDEAS, ideas))


def source_side_of(names: Sequence[str], settings: Mapping[str, Any]) -> SourceSide:
    """Return the side of these ideas with their own of the settings, such as `pascal_heads`. Raises ValueError."""
    return source_side(options_of(SOURCE_IDEAS, names, settings))


def encoders_of(settings: Mapping[str, Any]) -> tuple[SourceSide, SourceSide]:
    """Return what the encoders of source and target read, by the settings `source_syntax` and `target_syntax`.

    Raises ValueError.
    """
    source, target = ((settings.get(f"{side}_syntax") or PLAIN).split("+") for side in ("source", "target"))
    return source_side_of(source, settings), source_side_of(target, settings)
