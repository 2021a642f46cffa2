"""The target side of a model: what the decoder says of a sentence, and how it reads what it has said so far.

A published idea on the target side is one subclass of TargetIdea in a file of its own; its fields are its options.
Several ideas can work in one decoder: `parent+gcn`.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from synmt.nn.config import TransformerConfig, check_settings
from synmt.systems import TARGET_IDEAS
from synmt.systems.options import open_class, options_of
from synmt.systems.source import Segment
from synmt.text.vocabulary import Vocabulary
from synmt.trees.arc_tokens import ArcStyle, arc_labels
from synmt.trees.record import ParseRecord
from synmt.trees.transitions import transitions_of_record

if TYPE_CHECKING:
    from torch import nn

    from synmt.nn.decoders import CausalDecoder, PrefixDecoder
    from synmt.trees.transition_graph import Edges


@dataclass(frozen=True)
class TargetIdea:
    """One idea, with its options. What a subclass does not say is that of a plain Transformer on word pieces.

    writes_arcs: the tokens are words and the arcs between them, not words alone.
    reads_prefixes: positions see what comes after them in the prefix.
    reads_graphs: the graph of the arcs changes how.
    """

    writes_arcs: ClassVar[bool] = False
    reads_prefixes: ClassVar[bool] = False
    reads_graphs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Raises ValueError for options out of bounds."""
        check_settings(self)

    def input_part(self, config: TransformerConfig, labels: int) -> "nn.Module | None":
        """A module on the decoder's input, as in PrefixDecoder. labels: how many there are, with that of no arc."""
        return None

    def heads_part(self) -> "nn.Module | None":
        """A module that decides what the first heads see, as in PrefixDecoder."""
        return None


@dataclass(frozen=True)
class TargetSide:
    """The ideas of a model by name, at least one, and how they spell arcs.

    Raises ValueError for ideas that exclude each other, and for a spelling of arcs where there are none.
    """

    ideas: Mapping[str, TargetIdea]
    style: ArcStyle

    def __post_init__(self) -> None:
        if not self.ideas:
            raise ValueError("no target syntax")
        if self.style != ArcStyle() and not self.writes_arcs:
            raise ValueError(f"{'+'.join(self.ideas)} writes no arcs")

    @property
    def writes_arcs(self) -> bool:
        return any(idea.writes_arcs for idea in self.ideas.values())

    @property
    def reads_prefixes(self) -> bool:
        return any(idea.reads_prefixes for idea in self.ideas.values())

    @property
    def reads_graphs(self) -> bool:
        return any(idea.reads_graphs for idea in self.ideas.values())

    @property
    def needs(self) -> frozenset[str]:
        """Fields that a target's parse record must have."""
        return frozenset({"heads", "deprels"} if self.writes_arcs else ())

    def entries(self, record: ParseRecord, segment: Segment) -> list[str]:
        """What the decoder should say, as vocabulary entries.

        Raises TreeNotDerivable for a tree that cannot be spelled, ValueError for a record that cannot be used.
        """
        if self.writes_arcs:
            return transitions_of_record(record, segment, self.style)
        return [piece for word in record.tokens for piece in segment(word)]

    def edges(self, entries: list[str], labels: Mapping[str, int]) -> "Edges":
        """The graph of what the decoder says. labels: the number of each, as `numbered_labels` gives them."""
        from synmt.trees.transition_graph import edges_of_string

        return edges_of_string(entries, self.style, defaultdict(int, labels))  # a label may be new to the model

    def decoder(self, config: TransformerConfig, vocabulary: Vocabulary) -> "CausalDecoder | PrefixDecoder":
        from synmt.nn.decoders import CausalDecoder, PrefixDecoder

        if not self.reads_prefixes:
            return CausalDecoder()
        labels = 1 + len(numbered_labels(vocabulary))
        inputs = [idea.input_part(config, labels) for idea in self.ideas.values()]
        heads = [idea.heads_part() for idea in self.ideas.values()]
        return PrefixDecoder(
            [part for part in inputs if part is not None], next((part for part in heads if part is not None), None)
        )

    def settings(self) -> dict[str, Any]:
        """From which `target_side` makes the side again."""
        return {"ideas": {name: asdict(idea) for name, idea in self.ideas.items()}, "arcs": asdict(self.style)}


def target_side(ideas: Mapping[str, Mapping[str, Any]], arcs: Mapping[str, bool] | None = None) -> TargetSide:
    """The side of these ideas with these options. Raises ValueError or TypeError for unknown or wrong ones."""
    style = ArcStyle(**(arcs or {}))
    if not all(type(value) is bool for value in asdict(style).values()):
        raise ValueError("arcs are split or not, and the root has one or not")
    return TargetSide({name: open_target_idea(name)(**options) for name, options in ideas.items()}, style)


def target_side_of(
    names: Sequence[str], settings: Mapping[str, Any], arcs: Mapping[str, bool] | None = None
) -> TargetSide:
    """The side of these ideas with what is theirs of the settings, such as `gcn_layers`. Raises ValueError."""
    return target_side({name: options_of(name, open_target_idea(name), settings) for name in names}, arcs)


def open_target_idea(name: str) -> type[TargetIdea]:
    """Raises ValueError for a name that is not in TARGET_IDEAS."""
    if name not in TARGET_IDEAS:
        raise ValueError(f"unknown target syntax {name!r}")
    return open_class(TARGET_IDEAS[name])


def numbered_labels(vocabulary: Vocabulary) -> dict[str, int]:
    """The relations of all arcs in a vocabulary, numbered from 1."""
    return {label: number for number, label in enumerate(arc_labels(vocabulary.target), 1)}
