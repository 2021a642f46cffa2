"""`mask-align`: a model that aligns words by guessing each from all others and from its translation.

Chen, Sun & Liu (2021), "Mask-Align: Self-Supervised Neural Word Alignment", ACL. A Transformer of each direction,
trained together. The decoder's queries begin as positions, its keys and values are the embedded words and stay so
through all layers, and no position sees its own word (static-KV attention, section 2.1): what predicts y_i never
reads it, so one pass predicts all words. Only the last layer attends to the source, with a key and a value besides
for words that have no counterpart (leaky attention). W_xy [I,J] are the weights of that attention, the mean of its
heads, and

    L = L_xy + L_yx + α ‖W_xy − W_yxᵀ‖² + β (H(W̃_xy) + H(W̃_yx)),   W̃ = (W + λ) / Σ_j (W + λ)

The square is a mean over cells, and H the mean entropy of a row (`loss_form` paper). The paper's code, with which
α and β were tuned, halves L_xy + L_yx and takes the entropy over cells instead of rows (`loss_form` code).

Ablations (Table 2): `causal` decoders, `no_leak`, `no_agreement` (neither α nor β; links are those of each word's
best counterpart, symmetrized), and `--cross-attention all`.

Of our own, `diagonal` κ: the logits of the attention to the source are lowered by κ_h |(i+½)/I − (j+½)/J|, κ_h ≥ 0
learnt by each head from κ on. Words that have not been learnt then link as fast_align's would (Dyer, Chahuneau & Smith
2013), and those around them learn sooner.

With links to learn from (a guide), as in the guided systems of Table 1, and of our own: + γ times the
cross-entropy of W with the links of each word that has some, in both directions. What predicts y_i attends to where
it expects y_i to come from; with few pairs it cannot know. So the W of a guided model is that of a second pass, as
in Garg et al. (2019), that predicts nothing and in which every word sees itself; and what a subword attends to is
words: W_ij is the weight of all subwords of the word of x_j.

What differs from the code: sides of one word are trained on and aligned; there, such a word saw itself. No softmax
runs over padding; label smoothing is that of all systems here.
"""

from dataclasses import dataclass
from typing import Literal

from synmt.options import check_settings, setting


@dataclass(frozen=True)
class MaskAlign:
    loss_form: Literal["code", "paper"] = setting("code", "how the parts of Mask-Align's loss are normalized")
    agreement: float = setting(5.0, "α, the weight of both directions' agreement", unless="no_agreement")
    entropy: float = setting(1.0, "β, the weight of the entropy of attention", unless="no_agreement")
    entropy_smoothing: float = setting(
        0.05, "λ, what is added to attention weights for their entropy", 1e-9, unless="no_agreement"
    )
    guidance: float = setting(4.0, "γ, the weight of the links that --guide gives", needs="--guide")
    diagonal: float = setting(0.0, "κ, how much attention begins by favouring the diagonal; 4 with few pairs")
    causal: bool = setting(False, "words are predicted from those before them alone")
    no_leak: bool = setting(False, "every word attends to the source with all its weight")
    no_agreement: bool = setting(False, "two directions on their own: α and β are 0")

    def __post_init__(self) -> None:
        """Raise ValueError for options out of bounds."""
        check_settings(self)
