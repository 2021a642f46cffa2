"""`transitions`: a decoder that writes the tree between the words.

Choshen & Abend (2022), "Enhancing the Transformer Decoder with Transition-based Syntax", CoNLL, the ablation
Linearized. The arcs of the dependency tree are tokens of the target string, written as soon as both their words are
complete (synmt.trees.transitions). The decoder is causal, as in `sequence`. The graph decoders write the same string.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from synmt.components.contract import DecoderComponent, Preset
from synmt.components.linearization import ArcLinearization

# The two networks of the paper. Its batch of 128 sentences is about 4,096 tokens here. Settings that the paper omits
# come from its code, and the BPE from McDonald & Chiang (2021).
MEDIUM = dict(
    width=256, encoder_layers=4, decoder_layers=4, dropout=0.1, attention_dropout=0.1, activation_dropout=0.1,
    learning_rate=1e-4, schedule="inverse-sqrt", warmup=4000, label_smoothing=0.0, word_dropout=0.0, max_length=40,
    epochs=10_000, updates=90_000,
)  # fmt: skip
LARGE = {"width": 512, "encoder_layers": 6, "decoder_layers": 6, "updates": 150_000}
PRESETS = {"medium": Preset(MEDIUM), "large": Preset(MEDIUM | LARGE)}


@dataclass(frozen=True)
class Transitions(DecoderComponent):
    """Words, with arcs among them."""

    cites: ClassVar[tuple[str, ...]] = ("choshen2022enhancing",)
    presets: ClassVar[Mapping[str, Preset]] = PRESETS

    writes = ArcLinearization
