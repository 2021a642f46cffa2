"""The settings that the published aligners share; the presets of each aligner live with it."""

# Chen, Sun & Liu (2021), section 3.2, and their code: 50,000 updates of 36,000 tokens.
PAPER = dict(
    width=512, feedforward=1024, encoder_layers=6, decoder_layers=6, heads=4, norm="post", cross_attention="last",
    dropout=0.3, attention_dropout=0.0, activation_dropout=0.0,
    merges=40000, batch_tokens=9000, accumulate=4, max_length=256, word_dropout=0.0, epochs=1000, updates=50000,
    learning_rate=5e-4, schedule="inverse-sqrt", warmup=4000, adam_beta2=0.98, clip=0.0,
)  # fmt: skip
