"""How decoders write targets as tokens of the vocabulary: words, or words with arcs among them. It imports no torch."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from synmt.components.contract import Automaton
from synmt.text.bpe import Segment
from synmt.text.vocabulary import Vocabulary
from synmt.trees.arc_tokens import ArcStyle, arc_labels, is_arc
from synmt.trees.record import ParseRecord
from synmt.trees.transitions import State, transitions_of_record

if TYPE_CHECKING:
    from synmt.components.output import Output


@dataclass(frozen=True)
class Linearization:
    """How records are written as tokens of the vocabulary. By default, as subwords only.

    trees: where the tree of a target is written. "among": between its words. "apart": in labels of its words.
    needs: the fields that a target's record must have.
    style: how arcs are spelled, if the targets contain any.
    """

    trees: ClassVar[Literal["", "among", "apart"]] = ""
    needs: ClassVar[frozenset[str]] = frozenset()

    style: ArcStyle = field(default_factory=ArcStyle)

    def state(self) -> Any:
        """Return the state of the decoder at the begin of sentence, None if targets need none."""
        return None

    def tokens(self, record: ParseRecord, segment: Segment) -> list[str]:
        """Return the target tokens of a record.

        Raises TreeNotDerivable for a tree that cannot be written, ValueError for a record that cannot be used.
        """
        return [subword for word in record.tokens for subword in segment(word)]

    def subwords(self, tokens: Sequence[str]) -> int:
        """Return how many tokens of a target are subwords."""
        return len(tokens)

    def relations(self, tokens: Sequence[str]) -> list[str]:
        """Return the relations of all arcs among tokens, sorted and without duplicates."""
        return []

    def vocabulary(self, counts: Counter[str]) -> Counter[str]:
        """Return the tokens that a vocabulary needs, with their counts in targets."""
        return counts

    def output(self, vocabulary: Vocabulary, automaton: Automaton | None, trees: int | None = None) -> "Output":
        """Return how a search writes such targets. automaton: of the decoder's states, if it has any; trees: the number
        of best hypotheses per sentence that need a tree written apart from their words; None for all."""
        from synmt.components.output import Output

        return Output(automaton)


@dataclass(frozen=True)
class ArcLinearization(Linearization):
    """Words, with arcs among them, spelled in a style."""

    trees = "among"
    needs = frozenset({"heads", "deprels"})

    def state(self) -> State:
        return State(self.style)

    def tokens(self, record: ParseRecord, segment: Segment) -> list[str]:
        return transitions_of_record(record, segment, self.style)

    def subwords(self, tokens: Sequence[str]) -> int:
        return sum(not is_arc(token) for token in tokens)

    def relations(self, tokens: Sequence[str]) -> list[str]:
        return arc_labels(tokens)

    def vocabulary(self, counts: Counter[str]) -> Counter[str]:
        """Return all tokens, and the arcs of each relation in both directions, even arcs that did not occur."""
        every = Counter(counts)
        every.update(dict.fromkeys(self.style.tokens(arc_labels(counts)), 0))
        return every

    def output(self, vocabulary: Vocabulary, automaton: Automaton | None, trees: int | None = None) -> "Output":
        from synmt.components.output import ArcOutput

        assert automaton is not None
        return ArcOutput(automaton)
