"""`gcn`: a decoder whose input passes through a graph convolution over the tree that it is writing.

Choshen & Abend (2022), "Enhancing the Transformer Decoder with Transition-based Syntax", CoNLL, section 4, after
Bastings et al. (2017). The decoder writes words and arcs, its positions see the whole prefix, and the embeddings pass
through these layers before the first decoder layer:

    h_v ← h_v + relu(Σ_u g_uv (W_dir h_u + b_lab)),   g_uv = σ(h_u · ŵ_dir + b̂_lab)

over v itself, its parents (dir: right) and its children (left) by the arcs written so far. Without `labels`, b and b̂
are absent; without `gates`, g = 1. The paper's "− Gates" has neither.

Variant `reference` computes what the paper's code computes, so it is the published system: u is replaced by v in all
products, so a neighbour counts but passes nothing on; only the head's row has the label, for the dependent; and the
token of an arc has edges only in its own row, left with the head and right with the dependent.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from synmt.ideas.target import PREFIXES, TargetIdea
from synmt.ideas.target.arcs import GRAPH, ArcSpelling
from synmt.nn.config import TransformerConfig
from synmt.options import setting
from synmt.text.vocabulary import Vocabulary
from synmt.trees.arc_tokens import ArcStyle, arc_labels

if TYPE_CHECKING:
    from synmt.ideas.target.gcn.convolution import GraphConvolutions


@dataclass(frozen=True)
class Gcn(TargetIdea):
    """Words, with arcs among them, and the graph of the arcs with their labels."""

    cites: ClassVar[tuple[str, ...]] = ("choshen2022enhancing", "bastings2017graph")

    layers: int = setting(2, "graph convolutions below the decoder's layers", 1, 100)
    labels: bool = setting(True, "biases of the arcs' labels")
    gates: bool = setting(True, "gates of the edges")
    variant: Literal["paper", "reference"] = setting("paper", "the formula of the paper, or of its code")

    runs = PREFIXES
    reads = GRAPH

    def spelling(self, style: ArcStyle) -> ArcSpelling:
        return ArcSpelling(style)

    def decoder_part(self, config: TransformerConfig, vocabulary: Vocabulary) -> "GraphConvolutions":
        from synmt.ideas.target.gcn.convolution import GraphConvolutions

        labels = 1 + len(arc_labels(vocabulary.target)) if self.labels else 0  # one more for no arc
        return GraphConvolutions(config.width, self.layers, labels, self.gates, self.variant)
