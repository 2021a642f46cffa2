"""`compose`: a causal decoder with heads that compose the tree it is writing.

The decoder writes words and arcs, as in `transitions`. Its positions see only earlier positions, so one pass trains on
a whole target, and a search caches keys and values. In each layer, some heads see less than the others. The latest
token of a word is its last subword, until the word becomes the head of an arc; then it is the token of that arc, which
is the new version of the head, with the dependent composed into it. At position t, which has read the token there,
these heads see:

    head       where the token is an arc                                          elsewhere
    compose    itself; all subwords of the head and of the dependent; the tokens
               that were the latest tokens of these two words before              itself
    stack      itself; the latest token of each word that waits for a head; the subwords of a word that is not
               complete

The idea is our own. It applies to translation what Sartran et al. (2022), "Transformer Grammars" (TACL), do for
language models of constituents, and Zhao, Lou & Tu (2024), "Dependency Transformer Grammars" (arXiv:2407.17406), for
dependencies. No new parameters; labels enter the model as the embeddings of arcs.

With mask `random`, each head sees the same number of positions, but a fixed random choice of them: a control.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from synmt.ideas.source import Heads
from synmt.ideas.target import CAUSAL, TargetIdea
from synmt.ideas.target.arcs import ArcSpelling
from synmt.nn.config import TransformerConfig
from synmt.options import setting
from synmt.text.vocabulary import Vocabulary
from synmt.trees.arc_tokens import ArcStyle

if TYPE_CHECKING:
    from synmt.ideas.target.compose.heads import TreeHeads


@dataclass(frozen=True)
class Compose(TargetIdea):
    """Words, with arcs among them, and the stack of words that wait for a head. The first heads of a layer compose."""

    cites: ClassVar[tuple[str, ...]] = ("sartran2022transformer", "zhao2024dependency")

    heads: int = setting(1, "heads per layer that compose: an arc sees the two words that it links", 0, 2**16)
    stack_heads: int = setting(1, "heads per layer that see the words waiting for a head", 0, 2**16)
    layers: int = setting(0, "number of decoder layers with such heads, lowest first; 0: all", 0, 256)
    mask: Literal["tree", "random"] = setting("tree", "what they see; random: the same number of positions (a control)")

    runs = CAUSAL
    reads = "synmt.ideas.target.compose.heads:StackReading"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.heads + self.stack_heads:
            raise ValueError("compose needs at least one head; without any, use transitions")

    def spelling(self, style: ArcStyle) -> ArcSpelling:
        return ArcSpelling(style)

    def owned_heads(self, config: TransformerConfig) -> Heads:
        return dict.fromkeys(self._layers(config), tuple(range(self.heads + self.stack_heads)))

    def decoder_part(self, config: TransformerConfig, vocabulary: Vocabulary) -> "TreeHeads":
        from synmt.ideas.target.compose.heads import TreeHeads

        return TreeHeads(self.heads, self.stack_heads, config.decoder_layers, self._layers(config), self.mask)

    def _layers(self, config: TransformerConfig) -> range:
        return range(1, 1 + (self.layers or config.decoder_layers))
