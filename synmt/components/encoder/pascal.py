"""`pascal`: parent-scaled self-attention in the encoder.

Bugliarello & Okazaki (2020), "Enhancing Machine Translation with Dependency-Aware Self-Attention", ACL.

In chosen heads of one or more layers, the logits of token t are scaled by how close each key j is to the position p_t
of t's dependency parent, with a Gaussian of variance σ² (equations 2 to 4):

    N = (Q Kᵀ / √c) ⊙ D,   D[t, j] = exp(−(j − p_t)² / 2σ²) / √(2πσ²)

All subwords of a word share a parent position: the middle of the parent's subwords. The root is its own parent. Parent
ignoring, here `dropout`: in training, each row of D is left out with probability q, drawn per sentence, layer and head.

Two values of `weighting` differ from the paper's formula. `add-log-density` adds log D to the logits, because the
product turns a negative logit at the parent into the smallest weight. `parent-only` scales by the indicator |j − p_t| <
1, as in the paper's ablation. The paper's code scaled the wrong heads in batches of several sentences; here, heads have
their own axis. Tokens that are no words, such as node labels with `mask`, keep their attention.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from synmt.components.contract import (
    SOME_HEADS,
    EncoderComponent,
    Field,
    Heads,
    Layout,
    ParseRecord,
    Preset,
    TransformerConfig,
    in_heads,
    parents_of_words,
    rate,
    setting,
    spans_of_words,
)

if TYPE_CHECKING:
    from torch import Tensor

    from synmt.nn.hooks import SideRun, Value

Weighting = Literal["multiply", "add-log-density", "parent-only"]
MOST_LAYERS, MOST_HEADS = 256, 2**16


# The six tasks of Bugliarello & Okazaki (2020), with the settings that their grid search chose for `pascal` and for the
# systems that they compare with it.
SYSTEMS = ("pascal", "lisa", "multitask", "label-features")
SHARED: dict[str, Any] = dict(
    norm="post", attention_dropout=0.0, activation_dropout=0.0,
    batch_tokens=2048, accumulate=16,  # 16 GPUs with 2,048 tokens each: 16 batches per update
    max_length=1024, learning_rate=1e-3, schedule="inverse-sqrt", warmup=8000, adam_beta2=0.997, clip=0.0,
    word_dropout=0.0, epochs=10_000,
)  # fmt: skip


def _task(merges: int, updates: int, dropout: float, pascal: tuple[int, float], *tuned: tuple[float, float]) -> Preset:
    """Return a preset. pascal: its heads, and q; tuned: the learning rate and Adam's second beta of each of SYSTEMS."""
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


@dataclass(frozen=True)
class Pascal(EncoderComponent):
    """Fields: `parent_positions`, twice the position of each token's parent. It is -1 for tokens that are no words,
    and for words without a known head, which keep their attention."""

    cites: ClassVar[tuple[str, ...]] = ("bugliarello2020enhancing",)
    presets: ClassVar[Mapping[str, Preset]] = PRESETS

    layer: int = setting(1, "encoder layer whose attention is scaled", 1, unless="layers", most=MOST_LAYERS)
    heads: int = setting(2, "number of scaled heads", 1, most=MOST_HEADS)
    layers: str = setting(
        "", "several layers instead of one, such as 1:2+3:1 with 2 and 1 heads; without a number: --pascal-heads"
    )
    variance: float = setting(
        1.0, "variance of the Gaussian around the parent, in squared tokens", 1e-3, unless="weighting parent-only"
    )
    dropout: float = rate(0.0, "share of rows that are plain in training: the paper's q")
    weighting: Literal["multiply", "add-log-density", "parent-only"] = setting(
        "multiply", "how the Gaussian changes the logits"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        parts = [part.partition(":") for part in self.layers.split("+")] if self.layers else []
        numbers = [number for layer, colon, heads in parts for number in (layer, heads if colon else "1")]
        if not all(each.isascii() and each.isdigit() and int(each) > 0 for each in numbers):
            raise ValueError(f"layers cannot be {self.layers!r}")
        if any(layer > MOST_LAYERS or heads > MOST_HEADS for layer, heads in self._heads_of_layers().items()):
            raise ValueError(
                f"layers cannot be {self.layers!r:.40}: more than {MOST_LAYERS} layers or {MOST_HEADS} heads"
            )
        if len({int(layer) for layer, _, _ in parts}) < len(parts):
            raise ValueError(f"layers cannot be {self.layers!r}: a layer occurs more than once")

    def _heads_of_layers(self) -> dict[int, int]:
        """Return how many heads are scaled in each scaled layer."""
        parts = (part.partition(":") for part in self.layers.split("+") if part)
        return {int(layer): int(heads or self.heads) for layer, _, heads in parts} or {self.layer: self.heads}

    def needs(self, training: bool) -> frozenset[str]:
        return frozenset({SOME_HEADS})

    def reads(self) -> Mapping[str, Field]:
        return {"parent_positions": Field(pad=-1)}

    def read(self, record: ParseRecord, layout: Layout) -> Mapping[str, Any]:
        first, last = spans_of_words(layout, len(record.tokens))
        doubled = [first[parent] + last[parent] if parent >= 0 else -1 for parent in parents_of_words(record)]
        return {"parent_positions": layout.of_words(doubled, -1)}

    def owned_heads(self, config: TransformerConfig) -> Heads:
        return {layer: tuple(range(config.heads - k, config.heads)) for layer, k in self._heads_of_layers().items()}

    @property
    def hooks(self) -> frozenset[str]:
        return frozenset({"bias"} if self.weighting == "add-log-density" else {"scale"})

    def scale(self, run: "SideRun") -> "Value":
        return self._of_layers(run, 1.0)

    def bias(self, run: "SideRun") -> "Value":
        return self._of_layers(run, 0.0)

    def _of_layers(self, run: "SideRun", plain: float) -> "dict[int, Tensor]":
        """Return the factors of each layer, `plain` for other heads and in rows that keep their attention."""
        doubled = run.fields["parent_positions"]
        factors = parent_factors(doubled / 2, self.variance, self.weighting).unsqueeze(1)
        found = {}
        for layer, heads in run.own.heads.items():
            of_layer = factors.masked_fill(self._plain_rows(run, len(heads)), plain)
            found[layer] = in_heads(of_layer, heads, run.own.config.heads, plain)
        return found

    def _plain_rows(self, run: "SideRun", heads: int) -> "Tensor":
        """Return the rows whose attention is not scaled, [B,k,n,1]."""
        import torch

        plain = (run.fields["parent_positions"] < 0)[:, None, :, None].expand(-1, heads, -1, -1)
        if run.own.training and self.dropout:
            return plain | (torch.rand(plain.shape, device=plain.device) < self.dropout)
        return plain


def parent_factors(positions: "Tensor", variance: float, weighting: Weighting = "multiply") -> "Tensor":
    """Return D[b,t,j] for parents at `positions` [B,n], or log D with add-log-density: [B,n,n]"""
    import torch

    keys = torch.arange(positions.shape[1], device=positions.device)
    distance = keys - positions.unsqueeze(2)
    if weighting == "parent-only":
        return (distance.abs() < 1).to(positions.dtype)
    log_density = -(distance**2) / (2 * variance) - 0.5 * math.log(2 * math.pi * variance)
    return log_density if weighting == "add-log-density" else log_density.exp()
