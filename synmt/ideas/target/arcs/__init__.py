"""Targets with arcs among their words, for several ideas: spelling (here), search (search.py), graph (graph.py).

A target string consists of subwords and arcs. Each arc comes as soon as both its words are complete
(synmt.trees.transitions).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from synmt.ideas.target import Spelling
from synmt.text.bpe import Segment
from synmt.text.vocabulary import Vocabulary
from synmt.trees.arc_tokens import arc_labels, is_arc
from synmt.trees.record import ParseRecord
from synmt.trees.transitions import transitions_of_record

if TYPE_CHECKING:
    from synmt.ideas.target.arcs.search import ArcOutput


GRAPH = "synmt.ideas.target.arcs.graph:GraphReading"


@dataclass(frozen=True)
class ArcSpelling(Spelling):
    """Words, with arcs among them, spelled in a style."""

    trees = "among"
    needs = frozenset({"heads", "deprels"})

    def entries(self, record: ParseRecord, segment: Segment) -> list[str]:
        return transitions_of_record(record, segment, self.style)

    def subwords(self, entries: Sequence[str]) -> int:
        return sum(not is_arc(entry) for entry in entries)

    def relations(self, entries: Sequence[str]) -> list[str]:
        return arc_labels(entries)

    def vocabulary(self, counts: Counter[str]) -> tuple[Counter[str], Counter[str]]:
        """Return all entries, and the arcs of each relation in both directions, even arcs that did not occur."""
        every = Counter(counts)
        every.update(dict.fromkeys(self.style.entries(arc_labels(counts)), 0))
        return every, Counter()

    def output(self, vocabulary: Vocabulary, trees: int | None = None) -> "ArcOutput":
        from synmt.ideas.target.arcs.search import ArcOutput

        return ArcOutput(self.style, vocabulary)

    def output_of_other_tasks(self, vocabulary: Vocabulary) -> "ArcOutput":
        from synmt.ideas.target.arcs.search import ArcOutput

        return ArcOutput(self.style, vocabulary, free=True)
