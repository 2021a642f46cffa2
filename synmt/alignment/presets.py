"""Presets of neural aligners: the settings of their papers, and settings for two CPU cores."""

from synmt.options import Preset
from synmt.training.presets import SMALL as SMALL_TRANSLATION

# Chen, Sun & Liu (2021), section 3.2, and their code: 50,000 updates of 36,000 tokens.
MASK_ALIGN_PAPER = Preset(dict(
    width=512, feedforward=1024, encoder_layers=6, decoder_layers=6, heads=4, norm="post", cross_attention="last",
    dropout=0.3, attention_dropout=0.0, activation_dropout=0.0,
    merges=40000, batch_tokens=9000, accumulate=4, max_length=256, word_dropout=0.0, epochs=1000, updates=50000,
    learning_rate=5e-4, schedule="inverse-sqrt", warmup=4000, adam_beta2=0.98, clip=0.0,
))  # fmt: skip
# For about ten thousand pairs on two CPU cores, with a schedule that ends.
MASK_ALIGN_SMALL = Preset({**MASK_ALIGN_PAPER.settings, **dict(
    width=128, feedforward=256, encoder_layers=2, decoder_layers=2, dropout=0.05,
    merges=4000, batch_tokens=1024, accumulate=1, epochs=10, updates=0,
    learning_rate=2e-3, schedule="cosine", warmup=400,
)})  # fmt: skip
MASK_ALIGN = {"small": MASK_ALIGN_SMALL, "paper": MASK_ALIGN_PAPER}
# Chen et al. (2020) train translation models with the sizes and settings of Mask-Align, and with sinusoidal positions.
# The error rates in docs/results.md are from these settings.
TRANSLATION = {
    "small": Preset(
        {**SMALL_TRANSLATION.settings, **dict(positions="sinusoidal", dropout=0.15, learning_rate=3e-3, epochs=15)}
    ),
    "paper": Preset({**MASK_ALIGN_PAPER.settings, "cross_attention": "all"}),
}
