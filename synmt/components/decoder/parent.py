"""`parent`: a decoder with a head that sees the parents in the tree that it is writing.

Choshen & Abend (2022), "Enhancing the Transformer Decoder with Transition-based Syntax", CoNLL, section 4. The decoder
writes words and arcs, and its positions see the whole prefix. One head (the first of every layer, as in the paper's
code) sees only the position itself and its parents by the arcs written so far. A word of several subwords counts as
several parents, and the arc's own token is one more. No new parameters; labels are not used.

In the paper's code, the token of an arc also attends to its dependent. Here it sees its parents.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from synmt.components.arcs import OF_GRAPH
from synmt.components.contract import DecoderComponent, Heads, TransformerConfig, in_heads
from synmt.components.linearization import ArcLinearization

if TYPE_CHECKING:
    from synmt.nn.hooks import SideRun, Value

HEADS = (0,)


@dataclass(frozen=True)
class Parent(DecoderComponent):
    """Words, with arcs among them, and the graph of the arcs."""

    cites: ClassVar[tuple[str, ...]] = ("choshen2022enhancing",)

    prefixes = True
    writes = ArcLinearization
    state_fields = OF_GRAPH

    def owned_heads(self, config: TransformerConfig) -> Heads:
        return dict.fromkeys(range(1, config.decoder_layers + 1), HEADS)

    def bias(self, run: "SideRun") -> "Value":
        """Return −inf where the heads see nothing: all but the position itself and its parents."""
        import torch

        from synmt.nn.attention import hiding

        births, heads = run.fields["births"], run.own.config.heads
        itself = torch.eye(len(run.queries), dtype=torch.bool, device=births.device)
        hidden = hiding(~((births < len(run.queries)) | itself)).unsqueeze(1)
        return in_heads(hidden, HEADS, heads, 0.0)
