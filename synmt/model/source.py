"""The source side of a model: the components of its encoder, and the features that it reads."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from synmt.components import ENCODER_COMPONENTS, PLAIN, options_of
from synmt.components.contract import (
    EncoderComponent,
    Field,
    Layout,
    Task,
    check_components,
    owners_of_heads,
    subwords,
    unparsed,
)
from synmt.components.fields import lacking
from synmt.nn.config import TransformerConfig
from synmt.registry import parts_of
from synmt.text.bpe import Segment
from synmt.trees.record import ParseRecord

RESERVED = "ids", "words"  # what the data of sentences have besides fields
ENCODERS = "source-syntax", "target-syntax"  # the options that choose the encoders of an aligner


@dataclass(slots=True)
class SourceFeatures:
    """One sentence as the encoder sees it.

    tokens: of the vocabulary, [n].
    words: how many of the tokens are subwords, which bounds the length of the translation.
    values: by name, of each field: labels, each [n], "" for a token without a label; or arrays, [n], [n,d] or [n,n].
    fields: these fields, by name.
    word_of: the word of each subword, -1 for structure, [n].
    beside: the same sentence for the other models of an ensemble.
    """

    tokens: list[str]
    words: int
    values: dict[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Field] = field(default_factory=dict)
    word_of: list[int] = field(default_factory=list)
    beside: "list[SourceFeatures]" = field(default_factory=list)

    @property
    def forms(self) -> "list[SourceFeatures]":
        return [self, *self.beside]


@dataclass(frozen=True)
class SourceSide:
    """The components of an encoder by name, at least one. Raises ValueError for components that cannot be combined."""

    components: Mapping[str, EncoderComponent]

    def __post_init__(self) -> None:
        if not self.components:
            raise ValueError("the encoder needs a component, such as sequence")
        deciders = [name for name, each in self.components.items() if each.lays_out()]
        if len(deciders) > 1:
            raise ValueError(
                f"{' and '.join(deciders)} cannot be combined, because each changes what the encoder reads"
            )

    @cached_property
    def fields(self) -> dict[str, Field]:
        """Return all fields that the encoder reads, by name. Raises ValueError for a name that two components use."""
        found: dict[str, Field] = dict.fromkeys(RESERVED, Field())
        for each in self.components.values():
            if twice := found.keys() & each.fields_by_name.keys():
                raise ValueError(f"two components use the same name for fields: {', '.join(sorted(twice))}")
            found |= each.fields_by_name
        return {name: each for name, each in found.items() if name not in RESERVED}

    @property
    def tasks(self) -> dict[Task, EncoderComponent]:
        """Return each task with its component."""
        return {task: each for each in self.components.values() for task in each.tasks}

    @property
    def reads_subwords(self) -> bool:
        """Return whether the encoder reads only subwords."""
        return not any(each.lays_out() for each in self.components.values())

    def needs(self, training: bool) -> frozenset[str]:
        """Return the fields of a record that the components read; a record without them counts as unparsed."""
        return frozenset().union(*(each.needs(training) for each in self.components.values()))

    @property
    def reads_trees(self) -> bool:
        """Return whether the encoder's input depends on trees. Trees that are only targets do not count."""
        return any(
            each.needs(training=True) for each in self.components.values() if each.tasks == EncoderComponent.tasks
        )

    def for_translation(self) -> "SourceSide":
        """Return the side without the components for training only."""
        kept = {name: each for name, each in self.components.items() if not each.training_only}
        return SourceSide(kept or {PLAIN: EncoderComponent()})

    def owners(self, config: TransformerConfig) -> dict[tuple[int, int], str]:
        """Return the owners of heads, as `owners_of_heads`."""
        return owners_of_heads(self.components, config, config.encoder_layers)

    def check_network(self, config: TransformerConfig) -> None:
        """Raise ValueError if a network of these sizes is too small for the components."""
        check_components(self.components, config, config.encoder_layers)
        self.fields  # noqa: B018 (a name that two components use is refused)

    def layout(self, record: ParseRecord, segment: Segment, task: Task = "translate") -> Layout:
        """Return how the encoder reads a record."""
        decider = next((each for each in self.components.values() if each.lays_out()), None)
        if decider is None or lacking(record, decider.needs(training=False)):
            return subwords(record, segment)
        return decider.layout(record, segment, task) or subwords(record, segment)

    def features(self, record: ParseRecord, segment: Segment, task: Task = "translate") -> SourceFeatures:
        """Return the features of a record; a component whose record fields are missing treats it as `unparsed`.

        Raises ValueError for a record that no component can read.
        """
        layout = self.layout(record, segment, task)
        words = sum(word >= 0 for word in layout.words)
        features = SourceFeatures(layout.tokens, words, fields=self.fields, word_of=layout.words)
        for name, each in self.components.items():
            if each.fields_by_name:
                lacks = lacking(record, each.needs(training=False))
                values = each.read(*(unparsed(record, layout) if lacks else (record, layout)))
                features.values |= checked(name, each, values, len(layout.tokens))
        return features

    def settings(self) -> dict[str, dict[str, Any]]:
        """Return the options of each component, from which `source_side` restores the side."""
        return {name: asdict(each) for name, each in self.components.items()}


def checked(name: str, component: EncoderComponent, values: Mapping[str, Any], length: int) -> dict[str, Any]:
    """Return the values of a component's fields for a sentence, in the types of the fields.

    Raises ValueError for values that are not declared or missing, and for values that a field cannot hold.
    """
    if wrong := values.keys() ^ component.fields_by_name.keys():
        kind = "reads, but does not declare," if wrong & values.keys() else "declares, but does not read,"
        raise ValueError(f"{name} {kind} the field {min(wrong)}")
    found: dict[str, Any] = {}
    for each, field_ in component.fields_by_name.items():
        found[each] = list(values[each]) if field_.shape == "label" else field_.array(each, values[each])
        size = (length, length) if field_.shape == "pair" else (length, *field_.vector)
        if (shape := getattr(found[each], "shape", (len(found[each]),))) != size:
            raise ValueError(f"{name} reads the field {each} with the shape {list(shape)}, not {list(size)}")
    return found


def source_side(components: Mapping[str, Mapping[str, Any]]) -> SourceSide:
    """Return the side with these components and options. Raises ValueError or TypeError for invalid ones."""
    return SourceSide(ENCODER_COMPONENTS.made(components))


def source_side_of(names: Sequence[str], settings: Mapping[str, Any]) -> SourceSide:
    """Return the side with these components and their own settings, such as `pascal_heads`. Raises ValueError."""
    return source_side(options_of(ENCODER_COMPONENTS, names, settings))


def encoders_of(settings: Mapping[str, Any]) -> tuple[SourceSide, SourceSide]:
    """Return the sides of the encoders of source and target, from the settings `source_syntax` and `target_syntax`.

    Raises ValueError.
    """
    source, target = (parts_of(settings.get(f"{side}_syntax") or PLAIN) for side in ("source", "target"))
    return source_side_of(source, settings), source_side_of(target, settings)
