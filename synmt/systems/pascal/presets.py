"""The six tasks of Bugliarello & Okazaki (ACL 2020), each with the settings that its grid search chose.

Those of `pascal` and of what the paper compares it with.
"""

from typing import Any

from synmt.options import Preset

SYSTEMS = ("pascal", "lisa", "multitask", "label-features")
SHARED: dict[str, Any] = dict(
    norm="post", attention_dropout=0.0, activation_dropout=0.0,
    batch_tokens=2048, accumulate=16,  # 16 GPUs of 2,048 tokens each are 16 batches an update
    max_length=1024, learning_rate=1e-3, schedule="inverse-sqrt", warmup=8000, adam_beta2=0.997, clip=0.0,
    word_dropout=0.0, epochs=10_000,
)  # fmt: skip


def _task(merges: int, updates: int, dropout: float, pascal: tuple[int, float], *tuned: tuple[float, float]) -> Preset:
    """Return a preset. pascal: its heads, and q; tuned: learning rate and Adam's second beta of each of SYSTEMS."""
    heads, ignoring = pascal
    pairs = zip(SYSTEMS, tuned, strict=True)
    systems: dict[str, dict[str, Any]] = {
        name: {"learning_rate": rate, "adam_beta2": beta} for name, (rate, beta) in pairs
    }
    systems["pascal"] |= {"pascal_heads": heads, "pascal_dropout": ignoring}
    return Preset(SHARED | {"merges": merges, "updates": updates, "dropout": dropout}, systems)


PRESETS = {
    "nc11-en-de": _task(
        16_000, 20_000, 0.3, (2, 0.4), (7e-4, 0.997), (7e-4, 0.997), (7e-4, 0.997), (7e-4, 0.997)),
    "nc11-de-en": _task(
        16_000, 20_000, 0.3, (8, 0.0), (7e-4, 0.997), (7e-4, 0.98), (7e-4, 0.98), (7e-4, 0.997)),
    "wmt16-en-de": _task(
        32_000, 100_000, 0.1, (5, 0.0), (7e-4, 0.98), (7e-4, 0.997), (1e-3, 0.997), (1e-3, 0.997)),
    "wmt17-en-de": _task(
        32_000, 100_000, 0.1, (7, 0.3), (7e-4, 0.997), (7e-4, 0.997), (1e-3, 0.997), (1e-3, 0.997)),
    "wmt18-en-tr": _task(
        16_000, 20_000, 0.3, (7, 0.3), (7e-4, 0.98), (7e-4, 0.98), (7e-4, 0.997), (7e-4, 0.997)),
    "wat-en-ja": _task(
        32_000, 100_000, 0.1, (7, 0.0), (7e-4, 0.997), (1e-3, 0.997), (7e-4, 0.98), (1e-3, 0.997)),
}  # fmt: skip
