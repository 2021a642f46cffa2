"""The target side of a model: the ideas of its decoder, the entries that it writes, and the columns that it reads."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from synmt.ideas import PLAIN, TARGET_IDEAS
from synmt.ideas.source import ideas_of, options_of, owners_of_heads
from synmt.ideas.target import CAUSAL, PREFIXES, Reading, Spelling, TargetIdea
from synmt.nn.config import TransformerConfig
from synmt.registry import attribute
from synmt.streams import Message
from synmt.text.bpe import Segment
from synmt.text.vocabulary import Vocabulary
from synmt.trees.arc_tokens import ArcStyle
from synmt.trees.record import ParseRecord

if TYPE_CHECKING:
    from synmt.nn.decoders import CausalDecoder
    from synmt.nn.prefixes import PrefixDecoder


@dataclass(frozen=True)
class TargetSide:
    """The ideas of a decoder by name, at least one, and how they spell arcs.

    Raises ValueError for ideas that cannot be combined, and for a spelling of arcs without ideas that write arcs.
    """

    ideas: Mapping[str, TargetIdea]
    style: ArcStyle = field(default_factory=ArcStyle)

    def __post_init__(self) -> None:
        if not self.ideas:
            raise ValueError("the decoder needs an idea, such as sequence")
        names = "+".join(self.ideas)
        spellings = [spelling for idea in self.ideas.values() if (spelling := idea.spelling(self.style))]
        if any(each != spellings[0] for each in spellings):
            raise ValueError(f"{names} cannot be combined, because they write targets differently")
        if self.style != self.spelling.style:
            raise ValueError(Message("{} writes no arcs, so --split-arcs and --root-arc have no effect", names))
        if len({idea.runs for idea in self.ideas.values()} - {""}) > 1:
            raise ValueError(f"{names} cannot be combined, because one is causal and the other is not")

    @cached_property
    def spelling(self) -> Spelling:
        """Return how targets are written."""
        found = (idea.spelling(self.style) for idea in self.ideas.values())
        return next((each for each in found if each), Spelling())

    @property
    def runs(self) -> str:
        """Return which decoder runs the layers, as `TargetIdea.runs`."""
        return next((idea.runs for idea in self.ideas.values() if idea.runs), CAUSAL)

    @property
    def reads_prefixes(self) -> bool:
        """Return whether the decoder reads its whole prefix at each step."""
        return self.runs == PREFIXES

    @property
    def is_plain(self) -> bool:
        """Return whether the decoder translates like a plain Transformer on subwords."""
        kept = [idea for idea in self.ideas.values() if not idea.training_only]
        parts = [idea for idea in kept if type(idea).decoder_part is not TargetIdea.decoder_part]
        return self.writes_words_alone and self.runs == CAUSAL and not parts

    @property
    def writes_words_alone(self) -> bool:
        """Return whether the vocabulary has only subwords of targets."""
        return type(self.spelling) is Spelling

    def needs(self, training: bool) -> frozenset[str]:
        """Return the fields of a target record that the ideas read; the fields of the spelling are required."""
        return self.spelling.needs.union(*(idea.needs(training) for idea in self.ideas.values()))

    def owners(self, config: TransformerConfig) -> dict[tuple[int, int], str]:
        """Return the owners of heads, as `owners_of_heads`."""
        return owners_of_heads(self.ideas, config, config.decoder_layers)

    def check_network(self, config: TransformerConfig) -> None:
        """Raise ValueError if a network of these sizes does not suit the ideas."""
        self.owners(config)

    def entries(self, record: ParseRecord, segment: Segment) -> list[str]:
        """Return the entries that the decoder should write, as `Spelling.entries`."""
        return self.spelling.entries(record, segment)

    def columns(self, record: ParseRecord, entries: Sequence[str]) -> dict[str, Sequence[int]]:
        """Return the columns of a target for losses. Raises ValueError for a name that two ideas use."""
        found: dict[str, Sequence[int]] = {}
        entries = self.spelling.read(entries)
        for idea in self.ideas.values():
            more = idea.columns(record, entries)
            if twice := found.keys() & more.keys():
                raise ValueError(f"two ideas use the same name for columns: {', '.join(sorted(twice))}")
            found.update(more)
        return found

    def readings(self, vocabulary: Vocabulary) -> list[Reading]:
        """Return the distinct inputs of the decoder other than tokens."""
        places = dict.fromkeys(idea.reads for idea in self.ideas.values() if idea.reads)
        return [attribute(place)(self.style, vocabulary) for place in places]

    def decoder(self, config: TransformerConfig, vocabulary: Vocabulary) -> "CausalDecoder | PrefixDecoder":
        """Return the decoder. Raises ValueError for a vocabulary that lacks its tokens."""
        unread = self.spelling.unread(vocabulary)
        if self.spelling.trees == "apart" and not unread:
            raise ValueError(f"the target vocabulary lacks tokens of {'+'.join(self.ideas)}")
        parts = {name: idea.decoder_part(config, vocabulary) for name, idea in self.ideas.items()}
        kept = {name: part for name, part in parts.items() if part is not None}
        decoder: CausalDecoder = attribute(self.runs)(kept, self.readings(vocabulary), unread, self.spelling.share)
        return decoder

    def settings(self) -> dict[str, Any]:
        """Return the settings from which `target_side` restores the side."""
        return {"ideas": {name: asdict(idea) for name, idea in self.ideas.items()}, "arcs": asdict(self.style)}


WORDS = TargetSide({PLAIN: TargetIdea()})


def target_side(ideas: Mapping[str, Mapping[str, Any]], arcs: Mapping[str, bool] | None = None) -> TargetSide:
    """Return the side with these ideas and options. Raises ValueError or TypeError for invalid ones."""
    style = ArcStyle(**(arcs or {}))
    if not all(type(value) is bool for value in asdict(style).values()):
        raise ValueError("split and root_arc must be true or false")
    return TargetSide(ideas_of(TARGET_IDEAS, ideas), style)


def target_side_of(
    names: Sequence[str], settings: Mapping[str, Any], arcs: Mapping[str, bool] | None = None
) -> TargetSide:
    """Return the side with these ideas and their own settings, such as `gcn_layers`. Raises ValueError."""
    return target_side(options_of(TARGET_IDEAS, names, settings), arcs)
