"""`supervised-heads`: chosen heads learn where to attend, in training only.

After Strubell, Verga, Andor, Weiss & McCallum (2018), "Linguistically-Informed Self-Attention for Semantic Role
Labeling", EMNLP, but without a biaffine scorer and without replacing any weights. In translation, Deguchi, Tamura &
Ninomiya (2019), "Dependency-Based Self-Attention for Transformer NMT", RANLP, supervise heads in this way.

Head h of layer l is an ordinary head. The loss rewards the attention that each token t of a word pays to G(t), the
subwords of its target words:

    L = L_translation − λ Σ_h Σ_t log Σ_{j ∈ G_h(t)} A_h[t, j]

A_h is the head's softmax before dropout. There are no new parameters, and the forward pass does not change. The trained
model is therefore a plain Transformer: it translates without a parser, as fast as `sequence`, and can be exported.

Each head is taught one pattern (patterns.py). It can also be taught one of the user's own masks,
`mask:NAME`: all words that the record's mask marks in the row of the token's word. Words without a head, and sentences
without a tree, add no loss to heads that are taught trees.

"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from synmt.ideas.source import SOME_HEADS, Heads, Layout, SourceIdea, mask_over_tokens
from synmt.ideas.source.supervised_heads.patterns import MASK, OF_TREES, PATTERNS, Taught, read_taught
from synmt.nn.config import TransformerConfig
from synmt.options import setting
from synmt.trees.record import ParseRecord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from synmt.ideas.source.supervised_heads.attention import HeadSupervision


@dataclass(frozen=True)
class SupervisedHeads(SourceIdea):
    """Columns: `taught_words`, the number of each token's word, counted from 1, and per pattern the number of its
    target word, such as `taught_parent`. Both are 0 for padding and for tokens that are no words; the target is also
    0 for words that are not taught. Matrices: the user's own masks, as `taught_mask:NAME`."""

    cites: ClassVar[tuple[str, ...]] = ("strubell2018linguistically", "deguchi2019dependency")

    training_only = True

    teach: str = setting(
        "next",
        f"what each head learns to attend to, joined by +: {', '.join(PATTERNS)}, or {MASK}NAME for a mask of the"
        " records; parent@3 is in layer 3, parent@3.2 its second head",
    )
    layer: int | None = setting(None, "encoder layer of heads without @ (2, or 1 of 1)", 1, 256)
    weight: float = setting(0.03, "weight of the loss of attention: λ")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.taught()

    def taught(self, layers: int = 2) -> list[Taught]:
        """Return the supervised heads of an encoder, as `read_taught` does."""
        return read_taught(self.teach, self.layer or min(2, layers), PATTERNS, masks=True)

    def needs(self, training: bool) -> frozenset[str]:
        names = {each.pattern for each in self.taught()} if training else set()
        of_masks = {"masks"} if any(name.startswith(MASK) for name in names) else set()
        return frozenset(of_masks | ({SOME_HEADS} if names & OF_TREES else set()))

    def columns(self, record: ParseRecord, layout: Layout) -> dict[str, list[int]]:
        found = {"taught_words": [word + 1 for word in layout.words]}
        for name in {each.pattern: None for each in self.taught() if each.pattern in PATTERNS}:
            found[f"taught_{name}"] = layout.of_words([word + 1 for word in PATTERNS[name](record)], 0)
        return found

    def matrices(self, record: ParseRecord, layout: Layout) -> "dict[str, NDArray[np.bool_]]":
        masks = {each.pattern for each in self.taught() if each.pattern not in PATTERNS}
        return {f"taught_{name}": mask_over_tokens(name.removeprefix(MASK), record, layout) for name in sorted(masks)}

    def owned_heads(self, config: TransformerConfig) -> Heads:
        return _heads_of(self.taught(config.encoder_layers))

    def encoder_part(self, config: TransformerConfig, labels: Mapping[str, Sequence[str]]) -> "HeadSupervision":
        from synmt.ideas.source.supervised_heads.attention import HeadSupervision

        return HeadSupervision(config.encoder_layers, self.taught(config.encoder_layers), self.weight)


def _heads_of(taught: Sequence[Taught]) -> Heads:
    """Return the supervised heads of each layer."""
    owned: dict[int, tuple[int, ...]] = {}
    for _, layer, head in taught:
        owned[layer] = (*owned.get(layer, ()), head)
    return owned
