"""`fixed-heads`: encoder heads with fixed positional attention, the control for every claim about syntax.

Raganato, Scherrer & Tiedemann (2020), "Fixed Encoder Self-Attention Patterns in Transformer-Based Machine Translation",
Findings of EMNLP.

In every encoder layer, the first heads do not learn where to attend. In a sentence of n tokens, token i attends to
token j, both counted from 1, with a weight that depends only on their positions:

    previous   j = i − 1; the first token attends to itself
    self       j = i
    next       j = i + 1; the last token attends to itself
    left       j ≤ i − 2, in proportion to j³
    right      j ≥ i + 2, in proportion to (n + 1 − j)³
    start      any j, in proportion to (n + 1 − j)³
    end        any j, in proportion to j³

A token without such a context to its left or right attends to itself. The other heads learn their weights, and all
heads learn their values. The paper fixes seven of eight heads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from synmt.ideas.source import Heads, SourceIdea
from synmt.nn.config import TransformerConfig
from synmt.options import setting

if TYPE_CHECKING:
    from synmt.ideas.source.fixed_heads.attention import FixedAttention

PATTERNS = "previous", "self", "next", "left", "right", "start", "end"


@dataclass(frozen=True)
class FixedHeads(SourceIdea):
    """No columns: the patterns depend only on positions."""

    cites: ClassVar[tuple[str, ...]] = ("raganato2020fixed",)

    patterns: str = setting(
        "previous+next", f"what the first heads of each layer attend to, joined by +: {', '.join(PATTERNS)}"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not set(self._patterns) <= set(PATTERNS):
            raise ValueError(f"patterns cannot be {self.patterns!r}; choose from {', '.join(PATTERNS)}")

    @property
    def _patterns(self) -> list[str]:
        return self.patterns.split("+")

    def owned_heads(self, config: TransformerConfig) -> Heads:
        return dict.fromkeys(range(1, config.encoder_layers + 1), tuple(range(len(self._patterns))))

    def encoder_part(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> "FixedAttention":
        from synmt.ideas.source.fixed_heads.attention import FixedAttention

        return FixedAttention(config.encoder_layers, self._patterns)
