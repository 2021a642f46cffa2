"""The target side of a model: ideas at work in one decoder, what it says of a sentence, and how it reads that."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from synmt.nn.config import TransformerConfig
from synmt.systems import TARGET_IDEAS
from synmt.systems.idea import Segment, TargetIdea, ideas_of, options_of, owners_of_heads
from synmt.text.vocabulary import Vocabulary
from synmt.trees.arc_tokens import ArcStyle, arc_labels
from synmt.trees.record import ParseRecord
from synmt.trees.tags import read_tag, tagged, transitions_of_tags
from synmt.trees.transitions import transitions_of_record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from synmt.nn.decoders import CausalDecoder, PrefixDecoder
    from synmt.trees.transition_graph import Edges


@dataclass(frozen=True)
class TargetSide:
    """The ideas of a model by name, at least one, and how they spell arcs.

    Raises ValueError for ideas that exclude each other, and for a spelling of arcs where there are none.
    """

    ideas: Mapping[str, TargetIdea]
    style: ArcStyle = field(default_factory=ArcStyle)

    def __post_init__(self) -> None:
        if not self.ideas:
            raise ValueError("no idea of the target side")
        if self.style != ArcStyle() and not self.writes_arcs:
            raise ValueError(f"{'+'.join(self.ideas)} writes no arcs")
        if self.writes_tags and (len(self.ideas) > 1 or self.style != ArcStyle()):
            raise ValueError("tags stand alone, and have one spelling")
        if self.reads_stacks and self.reads_prefixes:
            names = "+".join(self.ideas)
            raise ValueError(f"{names} cannot be: some positions would see the whole prefix, others what precedes them")

    @property
    def writes_arcs(self) -> bool:
        return any(idea.writes_arcs for idea in self.ideas.values())

    @property
    def writes_tags(self) -> bool:
        return any(idea.writes_tags for idea in self.ideas.values())

    @property
    def reads_prefixes(self) -> bool:
        return any(idea.reads_prefixes for idea in self.ideas.values())

    @property
    def reads_graphs(self) -> bool:
        return any(idea.reads_graphs for idea in self.ideas.values())

    @property
    def reads_stacks(self) -> bool:
        return any(idea.reads_stacks for idea in self.ideas.values())

    @property
    def needs(self) -> frozenset[str]:
        """Return the fields that a target's parse record must have."""
        return frozenset({"heads", "deprels"} if self.writes_arcs else ())

    def owners(self, config: TransformerConfig) -> dict[tuple[int, int], str]:
        """Return the owners of heads, as `owners_of_heads`."""
        return owners_of_heads(self.ideas, config, config.decoder_layers)

    def check_network(self, config: TransformerConfig) -> None:
        """Raise ValueError if such a network cannot do what the ideas need."""
        self.owners(config)
        if self.reads_prefixes and config.positions == "rotary":
            raise ValueError(f"{'+'.join(self.ideas)} has no rotary positions")

    def entries(self, record: ParseRecord, segment: Segment) -> list[str]:
        """Return what the decoder should say, as vocabulary entries.

        Raises TreeNotDerivable for a tree of several roots, ValueError for a record that cannot be used.
        """
        if self.writes_arcs:
            string = transitions_of_record(record, segment, self.style)
            return tagged(string) if self.writes_tags else string
        return [subword for word in record.tokens for subword in segment(word)]

    def tags(self, vocabulary: Vocabulary) -> int:
        """Return how many tags a vocabulary ends with. Raises ValueError for one before other tokens."""
        if not self.writes_tags:
            return 0
        is_tag = [read_tag(entry) is not None for entry in vocabulary.target]
        if is_tag != sorted(is_tag):
            raise ValueError("a target vocabulary with tags ends with them")
        return sum(is_tag)

    def arcs(self, entries: Sequence[str]) -> Sequence[str]:
        """Return what the decoder says, with its arcs as `synmt transitions` writes them."""
        return transitions_of_tags(entries) if self.writes_tags else entries

    def relations(self, entries: Iterable[str]) -> list[str]:
        """Return those of all arcs among vocabulary entries, each once, sorted."""
        if self.writes_tags:
            return sorted({tag.relation for tag in map(read_tag, entries) if tag})
        return arc_labels(entries)

    def edges(self, entries: Sequence[str], labels: Mapping[str, int]) -> "Edges":
        """Return the graph of what the decoder says. labels: the number of each, as `numbered_labels` gives them."""
        from synmt.trees.transition_graph import edges_of_string

        return edges_of_string(entries, self.style, defaultdict(int, labels))  # a label may be new to the model

    def stack(self, entries: Sequence[str]) -> "NDArray[np.int32]":
        """Return the stack of what the decoder says, as `stack_of_string`."""
        from synmt.trees.transition_stack import stack_of_string

        return stack_of_string(entries, self.style)

    def decoder(self, config: TransformerConfig, vocabulary: Vocabulary) -> "CausalDecoder | PrefixDecoder":
        from synmt.nn.decoders import CausalDecoder, PrefixDecoder

        heads = [part for part in (idea.heads_part(config) for idea in self.ideas.values()) if part is not None]
        if not self.reads_prefixes:
            tags = self.tags(vocabulary)
            if self.writes_tags and not tags:
                raise ValueError("a target vocabulary without tags")
            return CausalDecoder(heads, tags, min(idea.share_of_tags() for idea in self.ideas.values()))
        labels = 1 + len(numbered_labels(vocabulary))
        inputs = [idea.input_part(config, labels) for idea in self.ideas.values()]
        return PrefixDecoder([part for part in inputs if part is not None], heads)

    def settings(self) -> dict[str, Any]:
        """Return what `target_side` makes the side from again."""
        return {"ideas": {name: asdict(idea) for name, idea in self.ideas.items()}, "arcs": asdict(self.style)}


def target_side(ideas: Mapping[str, Mapping[str, Any]], arcs: Mapping[str, bool] | None = None) -> TargetSide:
    """Return the side of these ideas with these options. Raises ValueError or TypeError for unknown or wrong ones."""
    style = ArcStyle(**(arcs or {}))
    if not all(type(value) is bool for value in asdict(style).values()):
        raise ValueError("arcs are split or not, and the root has one or not")
    return TargetSide(ideas_of(TARGET_IDEAS, ideas), style)


def target_side_of(
    names: Sequence[str], settings: Mapping[str, Any], arcs: Mapping[str, bool] | None = None
) -> TargetSide:
    """Return the side of these ideas with their own of the settings, such as `gcn_layers`. Raises ValueError."""
    return target_side(options_of(TARGET_IDEAS, names, settings), arcs)


def numbered_labels(vocabulary: Vocabulary) -> dict[str, int]:
    """Return the relations of all arcs in a vocabulary, numbered from 1."""
    return {label: number for number, label in enumerate(arc_labels(vocabulary.target), 1)}
