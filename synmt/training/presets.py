"""Settings by name: those of the papers, and what two CPU cores can train. Free of torch, as `--help` is."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from synmt.nn.config import TransformerConfig
from synmt.training.config import TrainingConfig


@dataclass(frozen=True)
class Preset:
    """systems: what else a system has in this preset, of the training or, as `pascal_heads`, of its own options."""

    network: TransformerConfig
    training: TrainingConfig
    systems: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def with_settings(self, settings: Mapping[str, Any]) -> "Preset":
        """With what is a field's of network or training. Raises ValueError for what is out of bounds."""
        network, training = (
            {each.name: settings[each.name] for each in fields(part) if each.name in settings}
            for part in (self.network, self.training)
        )
        return replace(self, network=replace(self.network, **network), training=replace(self.training, **training))


PAPER = Preset(TransformerConfig(), TrainingConfig())
# A network of 1.1 M parameters besides the embeddings, which low-resource tasks of short sentences do not
# outgrow, with a schedule that ends: what two CPU cores can train.
SMALL = Preset(
    TransformerConfig(
        width=128,
        feedforward=256,
        encoder_layers=4,
        decoder_layers=4,
        heads=4,
        dropout=0.15,
        attention_dropout=0.0,
        activation_dropout=0.0,
    ),
    replace(
        PAPER.training,
        merges=6000,
        batch_tokens=2048,
        learning_rate=3e-3,
        schedule="cosine",
        warmup=400,
        adam_beta2=0.98,
        epochs=15,
        max_length=256,
        validation_beam=1,
        average=3,
    ),
)
# The two of Choshen & Abend (CoNLL 2022), whose batch of 128 sentences is so many tokens or a few more here; what
# the paper does not say is from its code, and the BPE from PAPER.
MEDIUM = Preset(
    TransformerConfig(256, 2048, 4, 4, dropout=0.1, attention_dropout=0.1, activation_dropout=0.1),
    replace(
        PAPER.training,
        learning_rate=1e-4,
        schedule="inverse-sqrt",
        warmup=4000,
        label_smoothing=0.0,
        word_dropout=0.0,
        max_length=40,
        epochs=10_000,
        updates=90_000,
    ),
)
LARGE = Preset(
    TransformerConfig(dropout=0.1, attention_dropout=0.1, activation_dropout=0.1),
    replace(MEDIUM.training, updates=150_000),
)
PRESETS = {"paper": PAPER, "small": SMALL, "medium": MEDIUM, "large": LARGE}


def _task(
    *,
    merges: int,
    updates: int,
    dropout: float,
    pascal: tuple[int, float],
    rates: Mapping[str, tuple[float, float]],
) -> Preset:
    """One of the tasks of Bugliarello & Okazaki (ACL 2020), each with the settings that its grid search chose.

    pascal: heads, and q; rates: learning rate and Adam's second beta of each system. 16 GPUs of 2,048 tokens each
    are 16 batches an update.
    """
    heads, ignoring = pascal
    systems: dict[str, dict[str, Any]] = {
        system: {"learning_rate": rate, "adam_beta2": beta} for system, (rate, beta) in rates.items()
    }
    systems["pascal"] |= {"pascal_heads": heads, "pascal_ignoring": ignoring}
    return Preset(
        TransformerConfig(norm="post", dropout=dropout, attention_dropout=0.0, activation_dropout=0.0),
        replace(
            PAPER.training,
            merges=merges,
            batch_tokens=2048,
            accumulate=16,
            max_length=1024,
            learning_rate=1e-3,
            schedule="inverse-sqrt",
            warmup=8000,
            adam_beta2=0.997,
            clip=0.0,
            word_dropout=0.0,
            epochs=10_000,
            updates=updates,
        ),
        systems,
    )


TASKS = {
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
