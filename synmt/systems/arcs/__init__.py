"""Targets with arcs among their words, which several ideas write: how they are spelled (here), searched for (search.py)
and read as a graph (graph.py).

A target string is subwords and arcs, each arc as soon as both its words are complete (synmt.trees.transitions).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from synmt.systems.idea import Segment
from synmt.systems.target import Spelling
from synmt.text.vocabulary import Vocabulary
from synmt.trees.arc_tokens import arc_labels, is_arc
from synmt.trees.record import ParseRecord
from synmt.trees.transitions import transitions_of_record

if TYPE_CHECKING:
    from synmt.systems.arcs.search import ArcOutput


GRAPH = "synmt.systems.arcs.graph:GraphReading"


@dataclass(frozen=True)
class ArcSpelling(Spelling):
    """Words and arcs, spelled in a style."""

    trees = "among"
    needs = frozenset({"heads", "deprels"})

    def entries(self, record: ParseRecord, segment: Segment) -> list[str]:
        return transitions_of_record(record, segment, self.style)

    def subwords(self, entries: Sequence[str]) -> int:
        return sum(not is_arc(entry) for entry in entries)

    def relations(self, entries: Sequence[str]) -> list[str]:
        return arc_labels(entries)

    def vocabulary(self, counts: Counter[str]) -> tuple[Counter[str], Counter[str]]:
        """Return all entries, with the arcs of every relation in both directions, also those that were not seen."""
        every = Counter(counts)
        every.update(dict.fromkeys(self.style.entries(arc_labels(counts)), 0))
        return every, Counter()

    def output(self, vocabulary: Vocabulary, trees: int | None = None) -> "ArcOutput":
        from synmt.systems.arcs.search import ArcOutput

        return ArcOutput(self.style, vocabulary)
