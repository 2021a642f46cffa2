"""The six tasks of Bugliarello & Okazaki (ACL 2020), each with the settings that its grid search chose.

Those of `pascal` and of what the paper compares it with.
"""

from collections.abc import Mapping
from typing import Any

from synmt.options import Preset


def _task(
    *,
    merges: int,
    updates: int,
    dropout: float,
    pascal: tuple[int, float],
    rates: Mapping[str, tuple[float, float]],
) -> Preset:
    """pascal: heads, and q; rates: learning rate and Adam's second beta of each system.

    16 GPUs of 2,048 tokens each are 16 batches an update.
    """
    heads, ignoring = pascal
    systems: dict[str, dict[str, Any]] = {
        system: {"learning_rate": rate, "adam_beta2": beta} for system, (rate, beta) in rates.items()
    }
    systems["pascal"] |= {"pascal_heads": heads, "pascal_dropout": ignoring}
    settings = {
        "norm": "post",
        "dropout": dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "merges": merges,
        "batch_tokens": 2048,
        "accumulate": 16,
        "max_length": 1024,
        "learning_rate": 1e-3,
        "schedule": "inverse-sqrt",
        "warmup": 8000,
        "adam_beta2": 0.997,
        "clip": 0.0,
        "word_dropout": 0.0,
        "epochs": 10_000,
        "updates": updates,
    }
    return Preset(settings, systems)


PRESETS = {
    "nc11-en-de": _task(
        merges=16_000,
        updates=20_000,
        dropout=0.3,
        pascal=(2, 0.4),
        rates={
            "pascal": (7e-4, 0.997),
            "lisa": (7e-4, 0.997),
            "multitask": (7e-4, 0.997),
            "label-features": (7e-4, 0.997),
        },
    ),
    "nc11-de-en": _task(
        merges=16_000,
        updates=20_000,
        dropout=0.3,
        pascal=(8, 0.0),
        rates={
            "pascal": (7e-4, 0.997),
            "lisa": (7e-4, 0.98),
            "multitask": (7e-4, 0.98),
            "label-features": (7e-4, 0.997),
        },
    ),
    "wmt16-en-de": _task(
        merges=32_000,
        updates=100_000,
        dropout=0.1,
        pascal=(5, 0.0),
        rates={
            "pascal": (7e-4, 0.98),
            "lisa": (7e-4, 0.997),
            "multitask": (1e-3, 0.997),
            "label-features": (1e-3, 0.997),
        },
    ),
    "wmt17-en-de": _task(
        merges=32_000,
        updates=100_000,
        dropout=0.1,
        pascal=(7, 0.3),
        rates={
            "pascal": (7e-4, 0.997),
            "lisa": (7e-4, 0.997),
            "multitask": (1e-3, 0.997),
            "label-features": (1e-3, 0.997),
        },
    ),
    "wmt18-en-tr": _task(
        merges=16_000,
        updates=20_000,
        dropout=0.3,
        pascal=(7, 0.3),
        rates={
            "pascal": (7e-4, 0.98),
            "lisa": (7e-4, 0.98),
            "multitask": (7e-4, 0.997),
            "label-features": (7e-4, 0.997),
        },
    ),
    "wat-en-ja": _task(
        merges=32_000,
        updates=100_000,
        dropout=0.1,
        pascal=(7, 0.0),
        rates={
            "pascal": (7e-4, 0.997),
            "lisa": (1e-3, 0.997),
            "multitask": (7e-4, 0.98),
            "label-features": (1e-3, 0.997),
        },
    ),
}
