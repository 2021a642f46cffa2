"""The source side of a model: the ideas of its encoder, and the features that it reads."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from synmt.ideas import PLAIN, SOURCE_IDEAS
from synmt.ideas.source import (
    Layout,
    SourceIdea,
    Task,
    ideas_of,
    lacking,
    options_of,
    owners_of_heads,
    subwords,
    unparsed,
)
from synmt.nn.config import TransformerConfig
from synmt.text.bpe import Segment
from synmt.trees.record import ParseRecord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ENCODERS = "source-syntax", "target-syntax"  # the options that choose the encoders of an aligner


@dataclass(slots=True)
class SourceFeatures:
    """One sentence as the encoder sees it.

    tokens: vocabulary entries, [n].
    words: how many of the tokens are subwords, which bounds the length of the translation.
    columns: integers by name, each [n].
    labels: labels by name, each [n], "" for a token without a label.
    matrices: masks by name, each [n,n].
    word_of: the word of each subword, -1 for structure, [n].
    beside: the same sentence for the other models of an ensemble.
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
        """Add columns, labels or matrices. Raises ValueError for a name that another idea uses."""
        features = getattr(self, kind)
        if twice := features.keys() & more.keys():
            raise ValueError(f"two ideas use the same name for {kind}: {', '.join(sorted(twice))}")
        features.update(more)


@dataclass(frozen=True)
class SourceSide:
    """The ideas of an encoder by name, at least one. Raises ValueError for ideas that cannot be combined."""

    ideas: Mapping[str, SourceIdea]

    def __post_init__(self) -> None:
        if not self.ideas:
            raise ValueError("the encoder needs an idea, such as sequence")
        deciders = [name for name, idea in self.ideas.items() if idea.lays_out()]
        if len(deciders) > 1:
            raise ValueError(
                f"{' and '.join(deciders)} cannot be combined, because each changes what the encoder reads"
            )

    @property
    def tasks(self) -> dict[Task, SourceIdea]:
        """Return each task with its idea."""
        return {task: idea for idea in self.ideas.values() for task in idea.tasks}

    @property
    def reads_subwords(self) -> bool:
        """Return whether the encoder reads only subwords."""
        return not any(idea.lays_out() for idea in self.ideas.values())

    def needs(self, training: bool) -> frozenset[str]:
        """Return the fields of a record that the ideas read; a record without them counts as unparsed."""
        return frozenset().union(*(idea.needs(training) for idea in self.ideas.values()))

    @property
    def reads_trees(self) -> bool:
        """Return whether the encoder's input depends on trees. Trees that are only targets do not count."""
        return any(idea.needs(training=True) for idea in self.ideas.values() if idea.tasks == SourceIdea.tasks)

    def for_translation(self) -> "SourceSide":
        """Return the side without the ideas for training only."""
        kept = {name: idea for name, idea in self.ideas.items() if not idea.training_only}
        return SourceSide(kept or {PLAIN: SourceIdea()})

    def owners(self, config: TransformerConfig) -> dict[tuple[int, int], str]:
        """Return the owners of heads, as `owners_of_heads`."""
        return owners_of_heads(self.ideas, config, config.encoder_layers)

    def check_network(self, config: TransformerConfig) -> None:
        """Raise ValueError if a network of these sizes is too small for the ideas."""
        self.owners(config)
        if sum(idea.channels_taken() for idea in self.ideas.values()) >= config.width:
            raise ValueError(f"{'+'.join(self.ideas)} leaves no room for words in a width of {config.width}")

    def layout(self, record: ParseRecord, segment: Segment, task: Task = "translate") -> Layout:
        """Return how the encoder reads a record."""
        layouts = (
            idea.layout(record, segment, task)
            for idea in self.ideas.values()
            if not lacking(record, idea.needs(training=False))
        )
        return next((each for each in layouts if each), None) or subwords(record, segment)

    def features(self, record: ParseRecord, segment: Segment, task: Task = "translate") -> SourceFeatures:
        """Return the features of a record; an idea whose fields are missing treats it as `unparsed`.

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
        """Return the options of each idea, from which `source_side` restores the side."""
        return {name: asdict(idea) for name, idea in self.ideas.items()}


def source_side(ideas: Mapping[str, Mapping[str, Any]]) -> SourceSide:
    """Return the side with these ideas and options. Raises ValueError or TypeError for invalid ones."""
    return SourceSide(ideas_of(SOURCE_IDEAS, ideas))


def source_side_of(names: Sequence[str], settings: Mapping[str, Any]) -> SourceSide:
    """Return the side with these ideas and their own settings, such as `pascal_heads`. Raises ValueError."""
    return source_side(options_of(SOURCE_IDEAS, names, settings))


def encoders_of(settings: Mapping[str, Any]) -> tuple[SourceSide, SourceSide]:
    """Return the sides of the encoders of source and target, from the settings `source_syntax` and `target_syntax`.

    Raises ValueError.
    """
    source, target = ((settings.get(f"{side}_syntax") or PLAIN).split("+") for side in ("source", "target"))
    return source_side_of(source, settings), source_side_of(target, settings)
