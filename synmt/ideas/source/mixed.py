"""`mixed`: one model that translates parsed and unparsed sentences.

Currey & Heafield (2019), "Incorporating Source Syntax into Transformer-Based Neural Machine Translation", WMT. The
network does not change. Each training pair becomes two examples,

    L(x) → y      and      x → y,

where L(x) is the tree as `linearized` writes it.
"""

from dataclasses import dataclass
from typing import ClassVar

from synmt.ideas.source import Layout, SourceIdea, Task
from synmt.ideas.source.linearized import bracketed
from synmt.text.bpe import Segment
from synmt.trees.record import ParseRecord


@dataclass(frozen=True)
class Mixed(SourceIdea):
    """Tokens: the bracketed tree of a parsed sentence, or the subwords of an unparsed one."""

    cites: ClassVar[tuple[str, ...]] = ("currey2019incorporating",)

    tasks = ("translate", "translate-unparsed")

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset({"tree"}) if training else frozenset()

    def layout(self, record: ParseRecord, segment: Segment, task: Task) -> Layout | None:
        return bracketed(record, record.tree, segment) if record.tree else None
