"""`multitask`: one model that translates a sentence and parses it.

Currey & Heafield (2019), "Incorporating Source Syntax into Transformer-Based Neural Machine Translation", WMT, as in
the comparison of Bugliarello & Okazaki (2020). The network does not change. Each training pair becomes two examples,

    <translate> x <translate> → y      and      <parse> x <parse> → L(x),

where L(x) is the constituency tree as brackets without words and parts of speech, `(S (NP ) (VP (NP ) ) )`.
"""

from dataclasses import dataclass
from typing import ClassVar

from synmt.components.contract import (
    EncoderComponent,
    Layout,
    ParseRecord,
    Segment,
    Task,
    check_needs,
    structural,
    subwords,
    task_mark,
)
from synmt.trees.linearization import phrase_tokens


@dataclass(frozen=True)
class Multitask(EncoderComponent):
    """Tokens: the subwords, between two copies of the token that marks the task."""

    cites: ClassVar[tuple[str, ...]] = ("currey2019incorporating", "bugliarello2020enhancing")

    tasks = ("translate", "parse")

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset({"tree"}) if training else frozenset()

    def layout(self, record: ParseRecord, segment: Segment, task: Task) -> Layout:
        inner = subwords(record, segment)
        mark = task_mark(task)
        return Layout([mark, *inner.tokens, mark], [-1, *inner.words, -1])

    def target(self, record: ParseRecord, task: Task) -> list[str]:
        check_needs(record, frozenset({"tree"}))
        assert record.tree
        return [structural(token) for token in phrase_tokens(record.tree)]
